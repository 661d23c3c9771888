// Rounds and trees on sets.
#include "tests/collective_oracle.h"

#include <cmath>
#include <doctest/doctest.h>

namespace sgdsim {
namespace {

Interval share_of(int64_t n, const std::vector<int>& split, int lane) {
  Interval share{0, n};
  for (const int parts : split) {
    share = chunk_of(share, parts, lane % parts);
    lane /= parts;
  }
  return share;
}

// A pipeline of every lane works on the lane's shard, one of a single lane on the whole message.
std::vector<int> split_of(const Team& team) {
  return team.only_lane < 0 && team.stride > 1 ? std::vector{team.stride} : std::vector<int>{};
}

}  // namespace

Interval chunk_of(Interval whole, int64_t parts, int64_t chunk) {
  const int64_t base = whole.length() / parts;
  const int64_t larger = whole.length() % parts;
  const int64_t begin = whole.begin + base * chunk + std::min(chunk, larger);
  return {begin, begin + base + (chunk < larger ? 1 : 0)};
}

void Oracle::play(const Program& program) {
  find_cuts(program);
  copies_.assign(static_cast<std::size_t>(workers_) * pieces() * contributors(), 0);
  for (int w = 0; w < workers_; ++w)
    for (std::size_t s = 0; s < pieces(); ++s)
      if (starts_with(w)) count(w, s, w) = 1;
  for (const Stage& stage : program.stages) {
    if (const auto* phase = std::get_if<Phase>(&stage))
      for (int round = 0; round < phase->rounds; ++round) play_round(*phase, round);
    if (const auto* pipeline = std::get_if<TreePipeline>(&stage)) play_pipeline(*pipeline);
  }
}

int Oracle::root() const {
  if (one_.root) return *one_.root;
  if (one_.algorithm->name == "lp" && !is_chosen(one_.options, "lp_root")) return workers_ - 1;
  return 0;
}

void Oracle::find_cuts(const Program& program) {
  cuts_ = {0, n_};
  auto add = [&](const std::vector<int>& split, int parts) {
    for (int w = 0; w < workers_; ++w)
      for (int c = 0; c < parts; ++c)
        cuts_.push_back(chunk_of(share_of(n_, split, w), parts, c).begin);
  };
  for (const Stage& stage : program.stages) {
    if (const auto* phase = std::get_if<Phase>(&stage)) {
      add(phase->share.split, phase->team.size);
      add(phase->share.split, phase->core());
    } else if (const auto* pipeline = std::get_if<TreePipeline>(&stage)) {
      // Two trees cut their share in the middle, the first half being the larger one.
      const std::vector<int> split = split_of(pipeline->team);
      const int64_t first = share_of(n_, split, 0).length();
      for (int w = 0; w < workers_; ++w) {
        const Interval share = share_of(n_, split, w % pipeline->team.stride);
        cuts_.push_back(share.begin);
        cuts_.push_back(std::min(share.end, share.begin + (first + 1) / 2));
      }
    }
  }
  std::sort(cuts_.begin(), cuts_.end());
  cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
  claims_.assign(pieces(), -1);
}

// The reverse of `receiver` is `sender`, and one-way rounds list the same messages.
void Oracle::check_partners(const Phase& phase, int round) const {
  std::vector<int> from_whom(static_cast<std::size_t>(phase.team.size), -1);
  for (int v = 0; v < phase.team.size; ++v) {
    const int to = phase.receiver(round, v);
    if (to < 0) continue;
    REQUIRE(to < phase.team.size);
    CHECK(to != v);
    CHECK(from_whom[static_cast<std::size_t>(to)] == -1);
    from_whom[static_cast<std::size_t>(to)] = v;
  }
  for (int v = 0; v < phase.team.size; ++v)
    CHECK(phase.sender(round, v) == from_whom[static_cast<std::size_t>(v)]);
  if (phase.talk == Talk::shift || phase.talk == Talk::exchange) return;
  phase.for_each_one_way(round, [&](int v, int to) {
    CHECK(from_whom[static_cast<std::size_t>(to)] == v);
    from_whom[static_cast<std::size_t>(to)] = -1;
  });
  CHECK(std::all_of(from_whom.begin(), from_whom.end(), [](int from) { return from < 0; }));
}

// What a worker sends, and that the bytes it is charged for are these, or these padded.
std::vector<Interval> Oracle::pieces_of(const Phase& phase, int round, int worker) {
  const int v = phase.team.relative(worker);
  const int lane = phase.team.lane(worker);
  const ChunkRange range = phase.range(round, v);
  const Interval share = share_of(n_, phase.share.split, lane);
  std::vector<Interval> sent;
  for (int c = 0; c < range.count; ++c)
    sent.push_back(chunk_of(share, range.parts, (range.first + c) % range.parts));
  int64_t sum = 0;
  for (const Interval& one : sent) sum += one.length();
  const double charged_B = phase.sent_B(round, v, lane);
  if (phase.share.fractional) {
    double share_B = static_cast<double>(n_);
    for (const int parts : phase.share.split) share_B /= parts;
    CHECK(charged_B == doctest::Approx(share_B * range.count / range.parts));
  } else if (phase.padded_chunks) {
    CHECK(charged_B ==
          static_cast<double>((share.length() + range.parts - 1) / range.parts * range.count));
  } else {
    CHECK(charged_B == static_cast<double>(sum));
  }
  return sent;
}

void Oracle::play_round(const Phase& phase, int round) {
  check_partners(phase, round);
  std::vector<Sent> messages;
  for (int worker = 0; worker < workers_; ++worker) {
    if (!phase.team.takes_part(worker)) continue;
    const int v = phase.team.relative(worker);
    const int to = phase.receiver(round, v);
    if (to < 0) continue;
    messages.push_back({worker, phase.team.colleague(worker, to), pieces_of(phase, round, worker)});
    const double sent_B = phase.sent_B(round, v, phase.team.lane(worker));
    received_B_[static_cast<std::size_t>(messages.back().to)] += sent_B;
    traffic_.messages += 1;
    traffic_.wire_B += sent_B;
  }
  if (one_.operation != Operation::alltoall) deliver(messages, phase.folds);
}

void Oracle::claim(const Sent& message) {
  for (const Interval& interval : message.pieces) {
    const auto [first, last] = indices(interval);
    for (std::size_t s = first; s < last; ++s) {
      if (claims_[s] >= 0) continue;
      claims_[s] = message.from;
      count(message.from, s, message.from) = 1;
    }
  }
}

// All messages of a round leave before any arrives.
void Oracle::deliver(const std::vector<Sent>& messages, bool folds) {
  if (one_.operation == Operation::allgather)
    for (const Sent& message : messages) claim(message);
  const std::vector<uint8_t> before = copies_;
  for (const Sent& message : messages)
    for (const Interval& interval : message.pieces) {
      const auto [first, last] = indices(interval);
      const std::size_t from = (static_cast<std::size_t>(message.from) * pieces() + first);
      const std::size_t to = (static_cast<std::size_t>(message.to) * pieces() + first);
      for (std::size_t i = 0; i < (last - first) * contributors(); ++i) {
        uint8_t& there = copies_[to * contributors() + i];
        const uint8_t sent = before[from * contributors() + i];
        there = folds ? static_cast<uint8_t>(there + sent) : sent;
      }
    }
}

void Oracle::play_pipeline(const TreePipeline& pipeline) {
  double up_B = 0;
  double down_B = 0;
  for (std::size_t f = 0; f < pipeline.flows.size(); ++f) {
    const TreeFlow& flow = pipeline.flows[f];
    double size_B = 0;
    for (const BlockRun& run : flow.blocks) size_B += run.size_B * static_cast<double>(run.count);
    play_flow(pipeline, f, flow.to_root ? up_B : down_B);
    (flow.to_root ? up_B : down_B) += size_B;
    // What comes back may leave when it is complete: the flow that completes it has the same part.
    const bool returns = !flow.to_root && pipeline.flows.front().to_root;
    CHECK(returns == (flow.released_by >= 0));
    if (returns) {
      const TreeFlow& release = pipeline.flows[static_cast<std::size_t>(flow.released_by)];
      CHECK(release.to_root);
      CHECK(release.block_count() == flow.block_count());
    }
  }
  const double share_B = static_cast<double>(share_of(n_, split_of(pipeline.team), 0).length());
  for (const double sum_B : {up_B, down_B})
    if (sum_B > 0 && !one_.options.fractional_chunks) CHECK(sum_B == share_B);
}

void Oracle::play_flow(const TreePipeline& pipeline, std::size_t f, double begin_B) {
  const TreeFlow& flow = pipeline.flows[f];
  const Team& team = pipeline.team;
  double size_B = 0;
  int64_t blocks = 0;
  for (const BlockRun& run : flow.blocks) {
    size_B += run.size_B * static_cast<double>(run.count);
    blocks += run.count;
  }
  // Members by depth; a parent that is not yet there would be a circle.
  std::vector<int> order;
  std::vector<bool> is_there(flow.parents.size());
  REQUIRE(flow.parents.size() == static_cast<std::size_t>(team.size));
  while (order.size() < flow.parents.size()) {
    const std::size_t before = order.size();
    for (int v = 0; v < team.size; ++v) {
      const int parent = flow.parents[static_cast<std::size_t>(v)];
      if (is_there[static_cast<std::size_t>(v)]) continue;
      if (parent >= 0 && !is_there[static_cast<std::size_t>(parent)]) continue;
      if (parent < 0) CHECK(v == 0);
      is_there[static_cast<std::size_t>(v)] = true;
      order.push_back(v);
    }
    REQUIRE(order.size() > before);
  }
  if (flow.to_root) std::reverse(order.begin(), order.end());
  for (const int v : order) {
    const int parent = flow.parents[static_cast<std::size_t>(v)];
    if (parent < 0) continue;
    for (int worker = 0; worker < workers_; ++worker) {
      if (!team.takes_part(worker) || team.relative(worker) != v) continue;
      const Interval share = share_of(n_, split_of(pipeline.team), team.lane(worker));
      auto cut = [&](double at_B) {
        return std::min(share.end, share.begin + static_cast<int64_t>(std::ceil(at_B)));
      };
      const int from = flow.to_root ? worker : team.colleague(worker, parent);
      const int to = flow.to_root ? team.colleague(worker, parent) : worker;
      deliver({{from, to, {{cut(begin_B), cut(begin_B + size_B)}}}}, flow.to_root);
      received_B_[static_cast<std::size_t>(to)] += size_B;
      traffic_.messages += blocks;
      traffic_.wire_B += size_B;
    }
  }
}

}  // namespace sgdsim
