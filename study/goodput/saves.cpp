// Times that were given, or those that bytes and rates give.
#include "study/goodput/saves.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "study/goodput/spans.h"

namespace sgdsim {
namespace {

// Near saves in memory, and every so many of them in the store.
void read_store(Object& save, goodput::Plan& plan) {
  const auto store = save.find("store");
  const auto copies = save.find("copies");
  if (!store) {
    if (copies)
      copies->fail(
          "is for saves in memory: say `store`, as {\"every\": 10, \"stall\": \"10 s\", "
          "\"durable\": \"5 min\"}");
    return;
  }
  Object fields(*store);
  plan.store_every = fields.at("every").whole(1, goodput::most_steps);
  plan.store_stall_s = span_of(fields.at("stall"));
  if (const auto durable = fields.find("durable")) plan.store_durable_s = span_of(*durable);
  if (const auto restart = fields.find("restart")) plan.store_restart_s = span_of(*restart);
  fields.done();
  plan.copy_group = 2;
  if (copies) plan.copy_group = copies->whole(1, 1000);
}

// What a GPU saves goes to the memory of its host, and from there to where it is safe. Where a GPU
// has room for a copy of its own the job stands no longer than that takes, and the rest is done
// beside it (CheckFreq, FAST 2021).
void read_copy(const Value& value, goodput::Plan& plan) {
  Object copy(value);
  const auto bytes = copy.find("bytes");
  if (!bytes) value.fail("needs `bytes`, what a GPU saves, as \"12 GB\"");
  const auto size = static_cast<double>(bytes->bytes().count());
  const double to_host_s = size / copy.at("to_host").bandwidth().Bps();
  const double write_s = size / copy.at("write").bandwidth().Bps();
  const auto on_gpu = copy.find("on_gpu");
  const auto free = copy.find("free");
  if (on_gpu && !free) on_gpu->fail("needs `free`, how much memory a GPU has left, as \"10 GB\"");
  if (free && !on_gpu)
    free->fail("is for copies on the GPU: say `on_gpu`, how fast they are, as \"1.3 TB/s\"");
  const bool has_room = free && free->bytes() >= bytes->bytes();
  plan.stall_s = has_room ? size / on_gpu->bandwidth().Bps() : to_host_s;
  plan.durable_s = (has_room ? to_host_s : 0) + write_s;
  copy.done();
  if (plan.stall_s + plan.durable_s > longest_span_s)
    value.fail("a save would take longer than 300,000 years");
}

void read_times(Object& save, GoodputQuestion& question) {
  goodput::Plan& plan = question.plan;
  const auto copy = save.find("copy");
  const auto stall = save.find("stall");
  const auto durable = save.find("durable");
  if (copy && (stall || durable))
    copy->fail("gives how long a save takes: leave out `stall` and `durable`");
  question.saves_by_copy = copy.has_value();
  if (copy) return read_copy(*copy, plan);
  if (!stall)
    save.value().fail(
        "needs `stall`, as \"10 s\", or `copy`, from which it follows, as {\"bytes\": \"12 GB\", "
        "\"to_host\": \"50 GB/s\", \"write\": \"1 GB/s\"}");
  plan.stall_s = span_of(*stall);
  if (durable) plan.durable_s = span_of(*durable);
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

double between_saves_s(const goodput::Plan& plan) {
  return static_cast<double>(plan.interval) * plan.step_s + plan.stall_s;
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

void read_save(Object& fields, GoodputQuestion& question) {
  goodput::Plan& plan = question.plan;
  const auto value = fields.find("save");
  if (!value)
    fields.value().fail(
        "needs `save`, as {\"stall\": \"10 s\", \"durable\": \"1 min\"}: for how long a save stops "
        "the job, and how "
        "long it takes then until it is safe");
  Object save(*value);
  read_times(save, question);
  if (const auto keep = save.find("keep")) plan.keep = keep->whole(1, goodput::most_steps);
  read_store(save, plan);
  const auto interval = save.find("interval");
  const auto every = save.find("every_steps");
  if (interval && every) every->fail("give `interval` or `every_steps`, not both");
  question.wants_best_interval = !every && (!interval || interval->text() == "best");
  if (every) plan.interval = std::min(plan.steps, every->whole(1, goodput::most_steps));
  // A save is at the end of a step: the interval in whole steps, and not a shorter one.
  if (interval && !question.wants_best_interval)
    plan.interval = static_cast<int64_t>(std::clamp(
        std::ceil(span_of(*interval) / plan.step_s - 1e-9), 1., static_cast<double>(plan.steps)));
  save.done();
}

}  // namespace sgdsim
