// Counts round by round; where rounds or teams are alike, one of them.
#include "sim/work/program_traffic.h"

#include <algorithm>

namespace sgdsim {
namespace {

// The sum over one team of what is sent in a round. Exchanges and chunk shifts are known in closed
// form (each window is held by as many workers as it is narrow); the rest is few messages.
Traffic traffic_of_round(const Phase& phase, int round, int lane) {
  const int size = phase.team.size;
  const double total_B = phase.share.bytes(lane);
  if (phase.talk == Talk::shift && !phase.padded_chunks) {
    const int count = phase.load == Load::chunk ? 1 : phase.range(round, 0).count;
    return {size, total_B * (phase.load == Load::whole ? size : count)};
  }
  if (phase.talk == Talk::exchange) {
    const double copies = phase.load == Load::whole  ? phase.core()
                          : phase.load == Load::half ? phase.core() >> (round + 1)
                                                     : 1 << round;
    return {phase.core(), total_B * copies};
  }
  Traffic traffic;
  auto count = [&](int v) {
    ++traffic.messages;
    traffic.wire_B += phase.load == Load::whole ? total_B : phase.sent_B(round, v, lane);
  };
  if (phase.talk == Talk::shift)
    for (int v = 0; v < size; ++v) count(v);
  else
    phase.for_each_one_way(round, [&](int v, int) { count(v); });
  return traffic;
}

Traffic traffic_of_team(const Phase& phase, int lane) {
  Traffic sum;
  if (phase.talk == Talk::star_in || phase.talk == Talk::star_out)
    return {phase.rounds, phase.rounds * phase.share.bytes(lane)};
  const bool rounds_alike = phase.talk == Talk::shift && phase.load == Load::chunk;
  const int different = rounds_alike ? std::min(1, phase.rounds) : phase.rounds;
  for (int round = 0; round < different; ++round) {
    const Traffic one = traffic_of_round(phase, round, lane);
    sum.messages += one.messages;
    sum.wire_B += one.wire_B;
  }
  if (rounds_alike) sum = {sum.messages * phase.rounds, sum.wire_B * phase.rounds};
  return sum;
}

}  // namespace

Traffic traffic_of(const Program& program, int workers) {
  Traffic sum;
  auto add = [&](const Traffic& traffic, int64_t teams) {
    sum.messages += traffic.messages * teams;
    sum.wire_B += traffic.wire_B * static_cast<double>(teams);
  };
  for (const Stage& stage : program.stages) {
    if (const auto* phase = std::get_if<Phase>(&stage)) {
      if (phase->share.even() && phase->team.only_lane < 0)
        add(traffic_of_team(*phase, 0), workers / phase->team.size);
      else
        for_each_lane(phase->team, workers,
                      [&](int base) { add(traffic_of_team(*phase, phase->team.lane(base)), 1); });
    } else if (const auto* pipeline = std::get_if<TreePipeline>(&stage)) {
      const int64_t lanes = pipeline->team.only_lane < 0 ? pipeline->team.stride : 1;
      const int64_t teams = workers / pipeline->team.size / pipeline->team.stride * lanes;
      for (const TreeFlow& flow : pipeline->flows)
        for (const BlockRun& run : flow.blocks) {
          const int64_t messages = run.count * (pipeline->team.size - 1);
          add({messages, run.size_B * static_cast<double>(messages)}, teams);
        }
    }
  }
  return sum;
}

void MessageRange::add(double size_B) {
  least_B = any ? std::min(least_B, size_B) : size_B;
  most_B = std::max(most_B, size_B);
  any = true;
}

MessageRange message_range(const Program& program) {
  MessageRange range;
  for (const Stage& stage : program.stages) {
    if (const auto* phase = std::get_if<Phase>(&stage)) {
      const bool chunks = phase->load == Load::chunk || phase->load == Load::whole;
      const int different = chunks ? std::min(1, phase->rounds) : phase->rounds;
      for (int round = 0; round < different; ++round) {
        if (phase->talk == Talk::shift)
          range.add(phase->sent_B(round, 0, 0));
        else if (phase->talk == Talk::exchange)
          range.add(phase->sent_B(round, phase->core_member(0), 0));
        else
          phase->for_each_one_way(round,
                                  [&](int v, int) { range.add(phase->sent_B(round, v, 0)); });
      }
    } else if (const auto* pipeline = std::get_if<TreePipeline>(&stage)) {
      for (const TreeFlow& flow : pipeline->flows)
        for (const BlockRun& run : flow.blocks) range.add(run.size_B);
    }
  }
  return range;
}

}  // namespace sgdsim
