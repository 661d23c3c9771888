// The fields of one event of a Chrome trace, as far as training steps need them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "traces/kineto/events.h"
#include "traces/kineto/json_stream.h"

namespace sgdsim::profiler {

// Microseconds as they are written, as whole nanoseconds; nothing if that is no number, or beyond
// 64 bits.
std::optional<int64_t> nanoseconds(const std::string& microseconds);
std::optional<int64_t> whole_number(const std::string& text);

// Reused for every event of a file, so that it allocates nothing.
struct EventFields {
  std::string phase;
  std::string category;
  std::string name;
  std::string process;
  std::string thread;
  std::string start;
  std::string length;
  // Of "args".
  std::string correlation;
  std::string external_id;
  std::string function_id;
  std::string stream;
  std::string device;
  std::string collective;
  std::string type;
  std::string elements;
  std::string elements_out;
  std::string group_size;
  std::string group_name;
  std::string group_ranks;
  std::string shapes;  // of inputs, as they are written: "[[64, 3], []]"
  std::string types;   // of inputs
  bool repeats_a_field = false;
};

// Reads one event object.
class EventReader {
 public:
  void read(JsonStream& stream, EventFields& fields);

 private:
  void read_arguments(JsonStream& stream, EventFields& fields);
  void take(JsonStream& stream, EventFields& fields, std::string EventFields::*field, uint32_t bit);

  std::string key_;
  std::string arguments_key_;
  uint32_t seen_ = 0;
};

CommunicationFacts communication_facts(const EventFields& fields);

// All elements of tensors with these shapes; -1 if that cannot be read. A tensor without dimensions
// counts as nothing.
int64_t elements_in_shapes(std::string_view shapes);
// The first type of a list whose size is known; empty: none is.
std::string first_known_type(std::string_view types);

}  // namespace sgdsim::profiler
