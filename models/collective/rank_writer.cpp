// Round by round; what the last round requires is required of the next one.
#include "models/collective/rank_writer.h"

namespace sgdsim {
namespace {

RankOperation message(RankVerb verb, double size_B, uint32_t peer, uint32_t tag) {
  return {.amount = Bytes::nearest(size_B).count(),
          .peer = peer,
          .tag = tag,
          .processor = RankWriter::exchanges,
          .verb = verb};
}

}  // namespace

std::optional<uint32_t> rounds_of(const Program& program) {
  uint32_t rounds = 0;
  for (const Stage& stage : program.stages) {
    if (std::holds_alternative<Launch>(stage)) continue;
    const auto* phase = std::get_if<Phase>(&stage);
    if (phase == nullptr) return std::nullopt;
    rounds += static_cast<uint32_t>(phase->rounds);
  }
  return rounds;
}

uint32_t RankWriter::add(RankOperation one) {
  one.line = line_;
  work_.operations.push_back(one);
  return work_.before + static_cast<uint32_t>(work_.operations.size() - 1);
}

void RankWriter::play(const Program& program, const Wires* wires, const Member& member,
                      uint32_t tag, std::vector<uint32_t>& last) {
  for (const Stage& stage : program.stages) {
    if (const auto* launch = std::get_if<Launch>(&stage)) {
      const uint32_t launched = calc(exchanges, launch->length);
      require(launched, last);
      last = {launched};
      continue;
    }
    const auto& phase = std::get<Phase>(stage);
    const auto rounds = static_cast<uint32_t>(phase.rounds);
    if (phase.team.takes_part(member.number)) play(phase, wires, member, tag, last);
    tag += rounds;
  }
}

void RankWriter::play(const Phase& phase, const Wires* wires, const Member& member, uint32_t tag,
                      std::vector<uint32_t>& last) {
  const int v = phase.team.relative(member.number);
  const int lane = phase.team.lane(member.number);
  const auto rank = static_cast<int>(member.rank(member.number));
  const std::vector<uint32_t> before = last;
  std::vector<uint32_t> all;
  // Who has buffers for all of them takes a message while it adds up the one before.
  const bool is_eager = phase.handshake == Handshake::eager;
  std::vector<uint32_t> received;
  for (int round = 0; round < phase.rounds; ++round, ++tag) {
    const int to = phase.receiver(round, v);
    const int from = phase.sender(round, v);
    std::vector<uint32_t> now;
    const std::vector<uint32_t>& required = phase.at_once ? before : last;
    if (to >= 0) {
      now.push_back(add(message(RankVerb::send, phase.sent_B(round, v, lane),
                                member.rank(phase.team.colleague(member.number, v, to)), tag)));
      require(now.back(), required);
    }
    if (from >= 0) {
      const uint32_t sender = member.rank(phase.team.colleague(member.number, v, from));
      const double size_B = phase.sent_B(round, from, lane);
      now.push_back(add(message(RankVerb::receive, size_B, sender, tag)));
      require(now.back(), is_eager && !received.empty() ? received : required);
      received = {now.back()};
      const Duration fold =
          wires == nullptr ? Duration()
                           : wires->leg(static_cast<int>(sender), rank, size_B, phase.folds).fold;
      if (fold > Duration()) {
        const uint32_t folded = calc(exchanges, fold);
        require(folded, now);  // and the sender's port is free
        if (is_eager) require(folded, last);
        now = {folded};
      }
    }
    if (now.empty()) continue;
    last = now;
    all.insert(all.end(), now.begin(), now.end());
  }
  if (phase.at_once && !all.empty()) last = all;
}

}  // namespace sgdsim
