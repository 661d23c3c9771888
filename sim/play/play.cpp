// Chooses the path, stage by stage.
#include "sim/play/play.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include "sim/core/cases.h"
#include "sim/core/error.h"
#include "sim/net/port_resources.h"
#include "sim/play/pipeline_engine.h"
#include "sim/play/play_in_time.h"
#include "sim/play/quiet.h"
#include "sim/play/round_engine.h"
#include "sim/play/rounds_at_ports.h"
#include "sim/play/sharing.h"
#include "sim/play/symmetric.h"

namespace sgdsim {
namespace {

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
  Random draw = Random::of(seed, {stage, round, sender});
  return draw.lognormal(-sigma * sigma / 2, sigma);
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
    std::visit(Cases{[&](const Phase& phase) {
                       check_length(phase, wires.network().workers());
                       play_in_rounds(phase, number, wires, options.jitter, played.ends,
                                      options.log, options.stopper);
                     },
                     [&](const TreePipeline& pipeline) {
                       check_length(pipeline);
                       TreeLoads loads(wires.network(), pipeline);
                       EdgeWires edges(wires, loads);
                       if (pipeline.members_wait)
                         play_chain(pipeline, number, edges, options.jitter, played.ends,
                                    options.log, options.stopper);
                       else if (events || options.log != nullptr || !is_plain_chain(pipeline))
                         play_trees(pipeline, number, edges, options.jitter, played.ends,
                                    options.log, options.stopper);
                       else
                         play_chain(pipeline, number, edges, options.jitter, played.ends, nullptr,
                                    options.stopper);
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

// From how many messages on chunks are padded: so many of workers that are unlike take a second,
// and a byte is little of a large chunk; or some ten seconds.
double least_padded(const Program& program) {
  const bool are_large =
      std::all_of(program.stages.begin(), program.stages.end(), [](const Stage& stage) {
        const auto* phase = std::get_if<Phase>(&stage);
        constexpr double large_B = 1000;
        return phase == nullptr || phase->share.bytes(0) >= large_B * phase->team.size;
      });
  return are_large ? 2e5 : 2e6;
}

// Message by message.
Played play_messages(const Program& program, const Network& network, const PlayOptions& options,
                     std::vector<Time> starts, bool shares_nothing = false) {
  Played played{.ends = {}, .traffic = traffic_of(program, network.workers())};
  const Call call{&program, &network, std::move(starts), {}};
  const bool asks_carrier = options.carrier || options.meanwhile.any();
  played.ends = play_in_time({&call, 1},
                             {.alpha = options.alpha,
                              .shares_nothing = shares_nothing,
                              .resources = options.resources,
                              .carrier = options.carrier,
                              .meanwhile = options.meanwhile,
                              .carried_B = &played.carried_B,
                              .asks_carried = asks_carrier,
                              .until = &played.until,
                              .log = options.log,
                              .jitter = options.jitter,
                              .send_buffer_B = options.send_buffer_B,
                              .reduction = options.path == PathChoice::fastest ? Reduction::fitting
                                                                               : Reduction::never,
                              .padded_chunks_from = least_padded(program),
                              .pads_chunks = &played.pads_chunks,
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
  const bool may_jitter = options.path == PathChoice::fastest && !options.carrier &&
                          options.log == nullptr && !options.meanwhile.any();
  const bool may_choose = may_jitter && !options.jitter.on();
  if (may_choose && together) {
    const Time start = starts.empty() ? Time() : starts.front();
    const bool as_it_comes = options.shares_ports || options.resources != nullptr;
    const InStep how{as_it_comes, options.last_only,
                     options.resources != nullptr ? 0 : options.send_buffer_B};
    const auto end = play_symmetric(program, wires, start, how);
    if (end && (options.resources == nullptr ||
                is_quiet_in_step(program, network, *options.resources, options.stopper))) {
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
  const bool has_wires = options.resources != nullptr;
  const bool has_ports = options.shares_ports && !has_wires && options.send_buffer_B == 0;
  if ((has_wires && may_choose) || (has_ports && may_jitter)) {
    PortResources ports(network);
    const RingPlay how{.network = network,
                       .alpha = options.alpha,
                       .of_legs = has_wires ? AlphaRule::wire : options.alpha,
                       .jitter = options.jitter,
                       .stopper = options.stopper};
    auto ends = play_same_pairs(program, how, has_wires ? *options.resources : ports, starts);
    if (ends) {
      played.ends = std::move(*ends);
      played.path = PathTaken::rounds;
      return counted(std::move(played));
    }
    // Where all are alike, one may stand for all.
    const bool are_unlike = !together || options.jitter.on() || !network.ports().empty();
    if (has_ports && are_unlike)
      if ((ends = play_rounds_at_ports(program, how, starts, options.stopper))) {
        played.ends = std::move(*ends);
        played.path = PathTaken::events;
        return played;
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
