// The representative worker walks through the rounds with the pair cost that everybody pays.
#include "sim/play/symmetric.h"

#include <algorithm>
#include <cmath>

namespace sgdsim {
namespace {

// All phases are shifts by one and the same distance, chunk by chunk, in one team of everybody.
bool is_ring_program(const Program& program) {
  return std::all_of(program.stages.begin(), program.stages.end(), [](const Stage& stage) {
    if (std::holds_alternative<Launch>(stage)) return true;
    const auto* phase = std::get_if<Phase>(&stage);
    return phase != nullptr && phase->talk == Talk::shift && phase->load == Load::chunk &&
           phase->chunk_slope == -1 && phase->distance == 1 && phase->distance_step == 0 &&
           !phase->doubles && !phase->at_once && phase->team.stride == 1 &&
           phase->share.split.empty();
  });
}

// The largest chunk goes on travelling where the phase before left it: ring all-reduce does so.
bool ring_chunks_continue(const Program& program) {
  int64_t rounds = 0;
  const Phase* first = nullptr;
  for (const Stage& stage : program.stages) {
    const auto* phase = std::get_if<Phase>(&stage);
    if (phase == nullptr) continue;
    if (first == nullptr) first = phase;
    const int64_t size = phase->team.size;
    // Chunk 0 is sent in round k by worker k - offset; it has moved `rounds` places by then.
    if (((rounds + phase->chunk_offset - first->chunk_offset) % size + size) % size != 0)
      return false;
    rounds += phase->rounds;
  }
  return true;
}

// Shifts by 1, 2, 3, ... in one team of everybody. In every round a worker gets the chunk that
// belongs to it, or sends it.
bool is_direct_program(const Program& program) {
  return std::all_of(program.stages.begin(), program.stages.end(), [](const Stage& stage) {
    if (std::holds_alternative<Launch>(stage)) return true;
    const auto* phase = std::get_if<Phase>(&stage);
    if (phase == nullptr) return false;
    const bool gets_own = phase->chunk_offset == 1 && phase->chunk_slope == 1;
    const bool sends_own = phase->chunk_offset == 0 && phase->chunk_slope == 0 && !phase->folds;
    return phase->talk == Talk::shift && phase->load == Load::chunk && phase->distance == 1 &&
           phase->distance_step == 1 && phase->rounds < phase->team.size && !phase->doubles &&
           !phase->at_once && phase->handshake == Handshake::buffered && phase->team.stride == 1 &&
           phase->share.split.empty() && (gets_own || sends_own);
  });
}

bool all_alike(const Phase& phase, int workers) {
  if (phase.team.only_lane >= 0 || workers % (phase.team.size * phase.team.stride) != 0)
    return false;
  if (phase.talk == Talk::shift) return phase.padded_chunks || phase.share.even(phase.team.size);
  if (phase.talk == Talk::exchange)
    return phase.extra() == 0 && (phase.load == Load::whole || phase.share.even(phase.core()));
  return (phase.talk == Talk::fold || phase.talk == Talk::unfold) && phase.extra() == 0;
}

// Those that a buffer holds come one after the other, and are folded as they come; others flow
// together, and are there together.
Duration at_once_time(const Phase& phase, const Wires& wires, double send_buffer_B) {
  const double size_B = phase.sent_B(0, 0, 0);
  const Leg leg = wires.leg(0, 0, size_B, phase.folds, phase.goes_both_ways()).bytes_only();
  const Duration first = leg.flight + leg.agreed + leg.transit + leg.fold;
  const bool are_buffered = size_B <= send_buffer_B && leg.agreed == Duration();
  const Duration next = are_buffered ? std::max(leg.transit, leg.fold) : leg.transit + leg.fold;
  return first + next * (phase.rounds - 1);
}

Time play_phase(const Phase& phase, const Wires& wires, Time clock, double send_buffer_B) {
  if (phase.talk == Talk::fold || phase.talk == Talk::unfold) return clock;
  auto step = [&](int round) {
    const double size_B =
        phase.load == Load::chunk
            ? ChunkRange{0, 1, phase.team.size}.bytes(phase.share.bytes(0), phase.share.fractional)
            : phase.sent_B(round, 0, 0);
    const Leg leg = wires.leg(0, 0, size_B, phase.folds, phase.goes_both_ways());
    return std::max(leg.out_busy, leg.flight + leg.transit) + leg.fold;
  };
  if (phase.at_once)
    return phase.rounds > 0 ? clock + at_once_time(phase, wires, send_buffer_B) : clock;
  if (phase.load == Load::chunk) return clock + step(0) * phase.rounds;
  for (int round = 0; round < phase.rounds; ++round) clock += step(round);
  return clock;
}

}  // namespace

bool goes_in_step(const Program& program, const Network& network) {
  return play_symmetric(program, Wires(network, AlphaRule::port), Time(), {.shares_ports = true})
      .has_value();
}

std::optional<Time> play_symmetric(const Program& program, const Wires& wires, Time start,
                                   const InStep& how) {
  if (!wires.network().is_uniform()) return std::nullopt;
  // Where cost falls as size grows, the largest chunk is not the one that everybody waits for.
  // Where ports are shared, a smaller chunk may come while a larger one still does.
  const bool ring = !how.shares_ports && is_ring_program(program) &&
                    ring_chunks_continue(program) && !wires.network().has_bands();
  const bool direct = how.last_only && !how.shares_ports && wires.alpha() == AlphaRule::port &&
                      is_direct_program(program) && !wires.network().has_bands();
  Time clock = start;
  for (const Stage& stage : program.stages) {
    if (std::holds_alternative<Barrier>(stage)) continue;
    if (const auto* launch = std::get_if<Launch>(&stage)) {
      clock += launch->length;
      continue;
    }
    const auto* phase = std::get_if<Phase>(&stage);
    if (phase == nullptr) return std::nullopt;
    if (!ring && !direct && !all_alike(*phase, wires.network().workers())) return std::nullopt;
    clock = play_phase(*phase, wires, clock, how.send_buffer_B);
  }
  return clock;
}

}  // namespace sgdsim
