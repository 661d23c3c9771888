// Times that were given, or those that bytes and rates give.
#include "study/goodput/saves.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "study/goodput/spans.h"

namespace sgdsim {
namespace {

// Near saves in memory, and every so many of them in the store.
void take_store(const SaveFields& given, const Value& value, goodput::Plan& plan) {
  if (!given.store) {
    if (given.copies)
      value.child("copies").fail(
          "is for saves in memory: say `store`, as {\"every\": 10, \"stall\": \"10 s\", "
          "\"durable\": \"5 min\"}");
    if (given.copies_in_leaf)
      value.child("copies_in_leaf").fail("is for saves in memory: say `store`");
    return;
  }
  plan.store_every = given.store->every;
  plan.store_stall_s = given.store->stall.s;
  plan.store_durable_s = given.store->durable.s;
  plan.store_restart_s = given.store->restart.s;
  plan.copy_group = given.copies.value_or(2);
}

// What a GPU saves goes to the memory of its host, and from there to where it is safe. Where a GPU
// has room for a copy of its own the job stands no longer than that takes, and the rest is done
// beside it (CheckFreq, FAST 2021).
void take_copy(const CopyFields& copy, const Value& value, goodput::Plan& plan) {
  if (!copy.bytes) value.fail("needs `bytes`, what a GPU saves, as \"12 GB\"");
  if (copy.on_gpu && !copy.free)
    value.child("on_gpu").fail("needs `free`, how much memory a GPU has left, as \"10 GB\"");
  if (copy.free && !copy.on_gpu)
    value.child("free").fail(
        "is for copies on the GPU: say `on_gpu`, how fast they are, as \"1.3 TB/s\"");
  const auto size = static_cast<double>(copy.bytes->count());
  const double to_host_s = size / copy.to_host.Bps();
  const bool has_room = copy.free && *copy.free >= *copy.bytes;
  plan.stall_s = has_room ? size / copy.on_gpu->Bps() : to_host_s;
  plan.durable_s = (has_room ? to_host_s : 0) + size / copy.write.Bps();
  if (plan.stall_s + plan.durable_s > longest_span_s)
    value.fail("a save would take longer than 300,000 years");
}

void take_times(const SaveFields& given, const Value& value, GoodputQuestion& question) {
  question.saves_by_copy = given.copy.has_value();
  if (given.copy && (given.stall || given.durable))
    value.child("copy").fail("gives how long a save takes: leave out `stall` and `durable`");
  if (given.copy) return take_copy(*given.copy, value.child("copy"), question.plan);
  if (!given.stall)
    value.fail(
        "needs `stall`, as \"10 s\", or `copy`, from which it follows, as {\"bytes\": \"12 GB\", "
        "\"to_host\": \"50 GB/s\", \"write\": \"1 GB/s\"}");
  question.plan.stall_s = given.stall->s;
  if (given.durable) question.plan.durable_s = given.durable->s;
}

double between_stores_s(const goodput::Plan& plan) {
  return static_cast<double>(plan.store_every) * between_saves_s(plan) + plan.store_stall_s;
}
bool is_durable_in_time(const goodput::Plan& plan) {
  return plan.steps <= plan.interval || plan.durable_s <= between_saves_s(plan);
}
bool is_stored_in_time(const goodput::Plan& plan) {
  return plan.store_every == 0 || plan.store_durable_s <= between_stores_s(plan);
}

}  // namespace

double between_saves_s(const goodput::Plan& plan) { return plan.interval_s() + plan.stall_s; }

double least_interval_s(const goodput::Plan& plan) {
  const double in_memory = plan.durable_s - plan.stall_s;
  if (plan.store_every == 0) return in_memory;
  return std::max(in_memory, (plan.store_durable_s - plan.store_stall_s) /
                                     static_cast<double>(plan.store_every) -
                                 plan.stall_s);
}

bool are_safe_in_time(const goodput::Plan& plan) {
  return is_durable_in_time(plan) && is_stored_in_time(plan);
}

void check_saves(const Value& value, const goodput::Plan& plan) {
  if (!is_durable_in_time(plan))
    value.child("save").fail("a save is durable after " + span_text(plan.durable_s) +
                             ", and the next one comes after " + span_text(between_saves_s(plan)) +
                             ": let `interval` be at least " +
                             std::to_string(static_cast<int64_t>(
                                 std::ceil((plan.durable_s - plan.stall_s) / plan.step_s))) +
                             " steps");
  if (!is_stored_in_time(plan))
    value.child("save").fail("a save is in the store after " + span_text(plan.store_durable_s) +
                             ", and the next one goes there after " +
                             span_text(between_stores_s(plan)) + ": let `store.every` be larger");
}

Fields fields_of(CopyFields& o) {
  return {
      {"bytes", o.bytes, "what a GPU saves; what `sgdsim layout` asks leaves it out"},
      Field("to_host", o.to_host, "how fast each GPU copies to its host, as \"50 GB/s\"").needed(),
      Field("write", o.write,
            "how fast what a GPU saves is made safe, beside the work: its part of what the "
            "store or a partner's memory takes")
          .needed(),
      {"on_gpu", o.on_gpu,
       "how fast a GPU copies within its own memory, as \"1.3 TB/s\": where `bytes` fit into "
       "`free`, the job stands for no longer than that"},
      {"free", o.free,
       "with `on_gpu`: memory that the fullest GPU has left; what `sgdsim layout` asks leaves "
       "it out"}};
}

Fields fields_of(StoreFields& o) {
  return {
      Field("every", o.every, "after how many saves").needed().from(1, goodput::most_steps),
      Field("stall", o.stall, "for how much longer such a save stops the job").needed(),
      Field("durable", o.durable, "until it is in the store").otherwise("0 s"),
      Field("restart", o.restart, "how much longer a restart from there takes").otherwise("0 s")};
}

Fields fields_of(SaveFields& o) {
  return Fields{
      {"interval", o.interval, "between saves, in whole steps and not less; or the best one"},
      Field("every_steps", o.every_steps, "the same in steps").from(1, goodput::most_steps),
      {"copy", o.copy,
       "in place of `stall` and `durable`: what a GPU saves goes to the memory of its host, and "
       "from there to where it is safe"},
      {"stall", o.stall, "for how long a save stops the job; needed where `copy` does not give it"},
      Field("durable", o.durable,
            "how long it takes then until the save is safe, unless it is synchronous")
          .otherwise("0 s"),
      Field("keep", o.keep, "how many saves are kept, for corruption that is detected late")
          .from(1, goodput::most_steps)
          .otherwise("as many as it takes"),
      Field("copies", o.copies, "with `store`: nodes that hold copies of each other's memory")
          .from(1, 1000)
          .otherwise("2"),
      {"copies_in_leaf", o.copies_in_leaf,
       "whether such nodes are neighbours, which a failure of their leaf switch takes along "
       "together; if not, they are anywhere"},
      {"store", o.store, "saves are in memory, and some of them go to a store"}}
      .at_most_one({"interval", "every_steps"}, "give `interval` or `every_steps`, not both");
}

void take_save(const SaveFields& given, const Value& value, GoodputQuestion& question) {
  goodput::Plan& plan = question.plan;
  take_times(given, value, question);
  plan.keep = given.keep.value_or(0);
  take_store(given, value, plan);
  if (given.every_steps) plan.interval = std::min(plan.steps, *given.every_steps);
  question.wants_best_interval = !given.every_steps && given.interval == "best";
  if (given.every_steps || question.wants_best_interval) return;
  // A save is at the end of a step: the interval in whole steps, and not a shorter one.
  const double s = parse_span(given.interval, value.child("interval").where());
  plan.interval = static_cast<int64_t>(
      std::clamp(std::ceil(s / plan.step_s - 1e-9), 1., static_cast<double>(plan.steps)));
}

}  // namespace sgdsim
