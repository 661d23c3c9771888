// Chooses the path, stage by stage, and counts what went over the wire.
#include "sim/play/play.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include "sim/core/cases.h"
#include "sim/core/error.h"
#include "sim/play/pipeline_engine.h"
#include "sim/play/play_in_time.h"
#include "sim/play/quiet.h"
#include "sim/play/round_engine.h"
#include "sim/play/sharing.h"
#include "sim/play/symmetric.h"

namespace sgdsim {
namespace {

template <class F>
void for_each_lane(const Team& team, int workers, const F& f) {
  for (int block = 0; block < workers; block += team.size * team.stride)
    for (int lane = 0; lane < team.stride; ++lane)
      if (team.takes_part(lane)) f(block + lane);
}

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

void wait_for_all(const Team& team, std::vector<Time>& clocks) {
  for_each_lane(team, static_cast<int>(clocks.size()), [&](int base) {
    Time last;
    for (int v = 0; v < team.size; ++v)
      last = std::max(last, clocks[static_cast<std::size_t>(team.colleague(base, v))]);
    for (int v = 0; v < team.size; ++v)
      clocks[static_cast<std::size_t>(team.colleague(base, v))] = last;
  });
}

// A list schedule knows when everybody comes; and eager children's messages take turns at a port
// of their own. Neither is played in time.
bool is_played_whole(const Stage& stage) {
  const auto* phase = std::get_if<Phase>(&stage);
  return std::holds_alternative<TreePipeline>(stage) ||
         (phase != nullptr && phase->handshake == Handshake::eager);
}

bool has_list_schedule(const Program& program) {
  return std::any_of(program.stages.begin(), program.stages.end(), [](const Stage& stage) {
    const auto* pipeline = std::get_if<TreePipeline>(&stage);
    return pipeline != nullptr && !is_plain_chain(*pipeline);
  });
}

}  // namespace

double MessageJitter::factor(uint64_t stage, uint64_t round, uint64_t sender) const {
  Random draw = Random(seed).stream(stage).stream(round).stream(sender);
  return draw.lognormal(-sigma * sigma / 2, sigma);
}

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

namespace {

// So many take some minutes; a message of a petabyte in blocks of a page would take years.
constexpr double most_transfers = 1e10;

void check_length(const TreePipeline& pipeline) {
  double transfers = 0;
  for (const TreeFlow& flow : pipeline.flows)
    transfers += static_cast<double>(flow.block_count()) * (pipeline.team.size - 1);
  if (transfers > most_transfers)
    throw InputError("", "a pipeline of " + std::to_string(pipeline.flows.front().block_count()) +
                             " blocks among " + std::to_string(pipeline.team.size) +
                             " is too long to simulate; larger blocks or the closed form are not");
}

// Of a ring the rounds are alike, and take a fiftieth.
void check_length(const Phase& phase, int workers) {
  constexpr double most_messages = 2e9;
  const double messages = static_cast<double>(phase.rounds) * workers;
  if (phase.talk == Talk::shift && phase.distance_step != 0 && messages > most_messages)
    throw InputError("",
                     std::to_string(phase.rounds) + " rounds among " + std::to_string(workers) +
                         " workers are too long to simulate message by message; fewer workers are "
                         "not, nor is option chunks=fractional where all workers are alike");
}

// In order of dependence: a stage as a whole, after the one before.
void play_stages(const Program& program, const Wires& wires, const PlayOptions& options,
                 Played& played) {
  const auto messages = static_cast<uint64_t>(played.traffic.messages);
  if (options.stopper != nullptr) options.stopper->expect(messages);
  const bool events = options.path == PathChoice::events;
  uint64_t number = 0;
  for (const Stage& stage : program.stages) {
    ++number;
    std::visit(
        Cases{[&](const Phase& phase) {
                check_length(phase, wires.network().workers());
                play_in_rounds(phase, number, wires, options.jitter, played.ends, options.log);
              },
              [&](const TreePipeline& pipeline) {
                check_length(pipeline);
                const WayLoads loads = loads_of(wires.network(), pipeline);
                const Wires shared = loads.empty() ? wires : wires.sharing(loads);
                if (events || options.log != nullptr || !is_plain_chain(pipeline))
                  play_trees(pipeline, number, shared, options.jitter, played.ends, options.log);
                else
                  play_chain(pipeline, number, shared, options.jitter, played.ends);
              },
              [&](const Barrier& barrier) { wait_for_all(barrier.team, played.ends); },
              [&](const Launch& launch) {
                for (Time& end : played.ends) end += launch.length;
              }},
        stage);
    count(options.stopper, played.last_end(), 0);
  }
  count(options.stopper, played.last_end(), messages);
  played.path = has_list_schedule(program) ? PathTaken::events : PathTaken::rounds;
}

// Message by message.
Played play_messages(const Program& program, const Network& network, const PlayOptions& options,
                     std::vector<Time> starts, bool shares_nothing = false) {
  Played played{.ends = {}, .traffic = traffic_of(program, network.workers())};
  const Call call{&program, &network, std::move(starts), {}};
  const bool asks_carrier = options.carrier || options.meanwhile.any();
  played.ends = play_in_time({&call, 1}, {.alpha = options.alpha,
                                          .shares_nothing = shares_nothing,
                                          .resources = options.resources,
                                          .carrier = options.carrier,
                                          .meanwhile = options.meanwhile,
                                          .carried_B = asks_carrier ? &played.carried_B : nullptr,
                                          .until = &played.until,
                                          .log = options.log,
                                          .jitter = options.jitter,
                                          .send_buffer_B = options.send_buffer_B,
                                          .stopper = options.stopper})
                    .front()
                    .ends;
  played.path = PathTaken::events;
  return played;
}

}  // namespace

Time Played::last_end() const { return *std::max_element(ends.begin(), ends.end()); }

Played play(const Program& program, const Network& network, const PlayOptions& options,
            std::vector<Time> starts) {
  const Wires wires(network, options.alpha);
  Played played;
  played.traffic = traffic_of(program, network.workers());
  const auto counted = [&](Played&& whole) {
    count(options.stopper, whole.last_end(), static_cast<uint64_t>(whole.traffic.messages));
    return std::move(whole);
  };
  const bool together = std::all_of(starts.begin(), starts.end(),
                                    [&](Time start) { return start == starts.front(); });
  const bool may_choose = options.path == PathChoice::fastest && !options.jitter.on() &&
                          !options.carrier && options.log == nullptr && !options.meanwhile.any();
  if (may_choose && together) {
    const Time start = starts.empty() ? Time() : starts.front();
    const bool as_it_comes = options.shares_ports || options.resources != nullptr;
    const auto end = play_symmetric(program, wires, start, as_it_comes, options.last_only);
    if (end &&
        (options.resources == nullptr || is_quiet_in_step(program, network, *options.resources))) {
      played.ends = {*end};
      played.path = program.stages.empty() ? PathTaken::none : PathTaken::symmetric;
      return counted(std::move(played));
    }
  }
  if (may_choose && together && options.last_only && !options.shares_ports &&
      options.resources == nullptr) {
    if (const auto end =
            play_long_chain(program, wires, starts.empty() ? Time() : starts.front())) {
      played.ends = {*end};
      played.path = PathTaken::events;
      return counted(std::move(played));
    }
  }
  starts.resize(static_cast<std::size_t>(network.workers()));
  if (may_choose && options.resources != nullptr) {
    auto ends = play_same_pairs(program, network, *options.resources, options.alpha, starts);
    if (ends) {
      played.ends = std::move(*ends);
      played.path = PathTaken::rounds;
      return counted(std::move(played));
    }
  }
  if (options.shares_ports || options.resources != nullptr || has_phase_at_once(program)) {
    if (options.path == PathChoice::rounds)
      throw InputError("", "messages that share ports are not simulated in rounds");
    return play_messages(program, network, options, std::move(starts));
  }
  if (options.path == PathChoice::events && options.log == nullptr &&
      std::none_of(program.stages.begin(), program.stages.end(), is_played_whole))
    return play_messages(program, network, options, std::move(starts), true);
  played.ends = std::move(starts);
  play_stages(program, wires, options, played);
  return played;
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

std::string_view name_of(PathTaken path) {
  switch (path) {
    case PathTaken::none:
      return "formula";
    case PathTaken::symmetric:
      return "symmetric";
    case PathTaken::rounds:
      return "rounds";
    case PathTaken::events:
      return "events";
  }
  return "";
}

}  // namespace sgdsim
