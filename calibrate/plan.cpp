// Writing plans; steps without bytes are left out.
#include "calibrate/plan.h"

namespace sgdsim::calibrate {

int64_t Plan::moved_B() const {
  int64_t moved = 0;
  for (const Step& step : steps) {
    if (step.act == Act::copy) moved += 2 * step.bytes;
    if (step.act == Act::sum) moved += 3 * step.bytes;
  }
  return moved;
}

void PlanWriter::copy(int stream, const Place& to, const Place& from, int64_t bytes) {
  if (bytes > 0) add({.act = Act::copy, .stream = stream, .bytes = bytes, .to = to, .from = from});
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
  // 256 bytes is what a GPU wants its buffers aligned to.
  const int64_t at_B = plan_.scratch_B;
  plan_.scratch_B += (bytes + 255) / 256 * 256;
  return at_B;
}

}  // namespace sgdsim::calibrate
