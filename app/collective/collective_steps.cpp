// A message is a send at one rank and a receive at another one, which may add it up.
#include "app/collective/collective_steps.h"

#include <cmath>

#include "sim/core/error.h"
#include "study/trace_events.h"

namespace sgdsim {
namespace {

void add(const LoggedMessage& one, std::vector<RankSlice>& slices) {
  const auto from = static_cast<uint32_t>(one.from);
  const auto to = static_cast<uint32_t>(one.to);
  const int64_t bytes = std::llround(one.size_B);
  slices.push_back({from, RankVerb::send, to, bytes, one.number, one.sent, one.left});
  slices.push_back({to, RankVerb::receive, from, bytes, one.number, one.taking, one.taken});
  if (one.fold > Duration())
    slices.push_back({.rank = to,
                      .verb = RankVerb::compute,
                      .number = one.number,
                      .began = one.taken,
                      .ended = one.taken + one.fold});
}

}  // namespace

RankSlices steps_of(const CollectiveArguments& arguments, const CollectivePoint& point,
                    const char* option) {
  const std::string& algorithm = point.answer->algorithm;
  CollectiveArguments as_answered = arguments;
  if (point.stands_for_nccl) as_answered.options = point.stands_for_nccl->options;
  CollectiveQuestion question =
      question_of(arguments_for(as_answered, algorithm), algorithm, point.sizes);
  if (point.stands_for_nccl) question.latency = point.stands_for_nccl->latency;
  if (point.nccl || question.fidelity == Fidelity::closed_form)
    throw InputError(option, "a formula has no messages to show; use --fidelity message");
  MessageLog log;
  question.log = &log;
  question.most_logged = most_slices_shown / 2;
  Stopper stopper(arguments.watch, limits_of(arguments.limits));
  question.stopper = &stopper;
  const Cluster cluster = cluster_of(arguments, point.ranks);
  const TrafficFile traffic = put_on(cluster, arguments, question);
  question.meanwhile = traffic.meanwhile();
  const CollectiveAnswer played = simulate_collective(question, cluster, "collective");
  RankSlices all{.command = "collective",
                 .name = algorithm + " " + point.operation,
                 .computing = "add up",
                 .number_name = "round_or_block",
                 .ranks = static_cast<uint32_t>(point.ranks),
                 .end = Time() + played.time,
                 .slices = {}};
  for (const LoggedMessage& one : log) add(one, all.slices);
  return all;
}

}  // namespace sgdsim
