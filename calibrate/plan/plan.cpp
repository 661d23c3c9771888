// Writing plans; steps without bytes are left out.
#include "calibrate/plan/plan.h"

#include <algorithm>

namespace sgdsim::calibrate {

void Room::grow_to(const Room& other) {
  lanes = std::max(lanes, other.lanes);
  data_B = std::max(data_B, other.data_B);
  scratch_B = std::max(scratch_B, other.scratch_B);
  host_B = std::max(host_B, other.host_B);
  searched = std::max(searched, other.searched);
  sorted = std::max(sorted, other.sorted);
}

std::optional<int64_t> Plan::moved_B() const {
  int64_t moved = 0;
  for (const Step& step : steps) {
    if (step.act == Act::mark || step.act == Act::await || is_beside(step.stream)) continue;
    if (step.act != Act::copy && step.act != Act::sum) return std::nullopt;
    if (step.to.buffer == Buffer::host || step.from.buffer == Buffer::host) return std::nullopt;
    moved += (step.act == Act::copy ? 2 : 3) * step.bytes;
  }
  return moved;
}

double Plan::flop() const {
  double flop = 0;
  for (const Step& step : steps)
    if (step.act == Act::product && !is_beside(step.stream)) flop += step.shape.flop();
  return flop;
}

bool Plan::has_calls() const { return has_calls(false) || has_calls(true); }

bool Plan::has_calls(bool beside_it) const {
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
    return step.act == Act::library && is_beside(step.stream) == beside_it;
  });
}

bool Plan::has_copies_by_kernel() const {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.by_kernel; });
}

void PlanWriter::copy(int stream, const Place& to, const Place& from, int64_t bytes,
                      bool by_kernel) {
  if (bytes > 0)
    add({.act = Act::copy,
         .stream = stream,
         .bytes = bytes,
         .by_kernel = by_kernel,
         .to = to,
         .from = from});
}

void PlanWriter::sum(int stream, const Place& to, const Place& from, const Place& with,
                     int64_t bytes) {
  if (bytes == 0) return;
  add({.act = Act::sum, .stream = stream, .bytes = bytes, .to = to, .from = from, .with = with});
}

void PlanWriter::select(int stream, const Place& to, const Place& from, int64_t bytes,
                        int64_t count) {
  add({.act = Act::select,
       .stream = stream,
       .bytes = bytes,
       .count = count,
       .to = to,
       .from = from});
}

void PlanWriter::merge(int stream, const Place& to, const Place& from, int64_t count) {
  add({.act = Act::merge, .stream = stream, .count = count, .to = to, .from = from});
}

void PlanWriter::narrow(Act act, int stream, const Place& to, const Place& from, int64_t bytes) {
  add({.act = act, .stream = stream, .bytes = bytes, .to = to, .from = from});
}

void PlanWriter::product(int stream, const Place& to, const Place& from, const Place& with,
                         const ProductShape& shape) {
  add({.act = Act::product,
       .stream = stream,
       .shape = shape,
       .to = to,
       .from = from,
       .with = with});
}

void PlanWriter::call(LibraryCall call, int stream, const Place& to, int64_t bytes) {
  add({.act = Act::library, .stream = stream, .bytes = bytes, .call = call, .to = to});
}

void PlanWriter::nothing(int stream) { add({.act = Act::nothing, .stream = stream}); }

int PlanWriter::mark(int stream) {
  add({.act = Act::mark, .stream = stream, .event = plan_.events});
  return plan_.events++;
}

void PlanWriter::await(int stream, int event) {
  if (event >= 0) add({.act = Act::await, .stream = stream, .event = event});
}

void PlanWriter::barrier() {
  std::vector<int> events;
  for (int stream = 0; stream < plan_.streams(); ++stream) events.push_back(mark(stream));
  for (int stream = 0; stream < plan_.streams(); ++stream)
    for (int other = 0; other < plan_.streams(); ++other)
      if (other != stream) await(stream, events[static_cast<std::size_t>(other)]);
}

int64_t PlanWriter::reserve(int64_t bytes) {
  const int64_t at_B = plan_.room.scratch_B;
  plan_.room.scratch_B += aligned_B(bytes);
  return at_B;
}

int64_t PlanWriter::reserve_on_host(int64_t bytes) {
  const int64_t at_B = plan_.room.host_B;
  plan_.room.host_B += aligned_B(bytes);
  return at_B;
}

}  // namespace sgdsim::calibrate
