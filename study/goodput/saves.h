// How a training saves its state: how long that stops it, when a save is safe, and whether that is
// before the next one.
#pragma once

#include "study/goodput/goodput_question.h"
#include "study/goodput/spans.h"

namespace sgdsim {

// Where a save is made of bytes: they go to the memory of the host, and from there to where they
// are safe.
struct CopyFields {
  std::optional<Bytes> bytes;
  Bandwidth to_host;
  Bandwidth write;
  std::optional<Bandwidth> on_gpu;
  std::optional<Bytes> free;
};
Fields fields_of(CopyFields& o);

// Saves are in memory, and some of them in a store as well.
struct StoreFields {
  int64_t every = 1;
  Span stall;
  Span durable;
  Span restart;
};
Fields fields_of(StoreFields& o);

// The field `save` of a question.
struct SaveFields {
  std::string interval = "best";
  std::optional<int64_t> every_steps;
  std::optional<CopyFields> copy;
  std::optional<Span> stall;
  std::optional<Span> durable;
  std::optional<int64_t> keep;
  std::optional<int64_t> copies;
  bool copies_in_leaf = false;
  std::optional<StoreFields> store;
};
Fields fields_of(SaveFields& o);

// What they mean to a question whose step and number of steps are known.
void take_save(const SaveFields& given, const Value& value, GoodputQuestion& question);
// InputError where a save is not safe before the next one.
void check_saves(const Value& question, const goodput::Plan& plan);
bool are_safe_in_time(const goodput::Plan& plan);
// So that they are; below 0 any interval is.
double least_interval_s(const goodput::Plan& plan);
// From the end of one save to that of the next.
double between_saves_s(const goodput::Plan& plan);

}  // namespace sgdsim
