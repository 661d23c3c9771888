// Sets of spans, each without those before it.
#include "traces/kineto/parts.h"

#include <algorithm>

namespace sgdsim::profiler {

Activity::Activity(const ProfileRecords& records) : loading_(joined(records.loading)) {
  Spans computing;
  Spans copying;
  Spans communicating;
  for (const DeviceWork& work : records.work)
    (work.message != no_message ? communicating
     : work.is_copy             ? copying
                                : computing)
        .push_back({work.start_ns, work.end_ns});
  for (const HostWork& work : records.host) computing.push_back({work.start_ns, work.end_ns});
  communicating_ = joined(std::move(communicating));
  computing_ = joined(std::move(computing));
  copying_ = joined(std::move(copying));
  // On the CPU, what waits for a batch is an operator too.
  if (records.is_on_host) computing_ = minus(computing_, loading_);
}

// What other collectives alone do from the last gradient to the end of the last bucket.
Spans Activity::others_between(int64_t zero_ns, const ProfiledStep& step) const {
  const Span between{zero_ns + step.last_ready_ns(), zero_ns + step.communicated_ns()};
  Spans buckets;
  Spans others;
  for (const StepMessage& message : step.messages)
    (message.is_bucket ? buckets : others)
        .push_back({zero_ns + message.start_ns, zero_ns + message.end_ns});
  const Spans alone = minus(within(joined(std::move(others)), between), joined(std::move(buckets)));
  return minus(alone, within(computing_, between));
}

void Activity::divide(int64_t zero_ns, ProfiledStep& step) const {
  const Span window{zero_ns, zero_ns + step.iteration_ns};
  Spans left = {window};
  const auto take = [&](const Spans& some) {
    Spans rest = minus(left, some);
    const int64_t taken_ns = length_of(left) - length_of(rest);
    left = std::move(rest);
    return taken_ns;
  };
  StepParts& parts = step.parts;
  const Spans others = others_between(zero_ns, step);
  parts.others_between_ns = length_of(others);
  if (step.communicated_ns() > step.last_ready_ns())
    parts.exposed_ns =
        take(minus({{zero_ns + step.last_ready_ns(), zero_ns + step.communicated_ns()}}, others));
  const Spans computing = within(computing_, window);
  parts.computing_ns = take(computing);
  for (StepMessage& message : step.messages)
    if (!message.is_bucket)
      message.alone_ns = take({{zero_ns + message.start_ns, zero_ns + message.end_ns}});
  parts.copying_ns = take(within(copying_, window));
  parts.loading_ns = take(within(loading_, window));
  parts.idle_ns = length_of(left);
  parts.unhidden_ns = length_of(minus(within(communicating_, window), computing));
}

}  // namespace sgdsim::profiler
