// Times are kept for every replica; exchanges are where replicas meet.
#include "models/training/pipeline_play.h"

#include <algorithm>
#include <cassert>

#include "sim/core/cast.h"
#include "sim/core/error.h"
#include "sim/core/scaled.h"

namespace sgdsim {
namespace {

Duration slowed(const PassWork& work, double factor) {
  return scaled(work.compute, factor) + work.rest;
}

struct RankState {
  std::vector<PassSlot> slots;
  std::size_t next = 0;
  std::vector<Time> free;      // of each replica
  std::vector<Duration> busy;  // likewise
  std::vector<Duration> waited;
  std::vector<Duration> exchanged;
  std::vector<Time> sent_forward;  // until when the way out is taken
  std::vector<Time> sent_backward;
  Time stream;  // of exchanges between replicas
  // Layers of zero2 and zero3: when the gradients of the last two were gone, and when the weights
  // of the next layer are there.
  Time reduced;
  Time reduced_before;
  Time fetched;
  std::vector<std::vector<Time>> gathered;  // of the pieces of each chunk, before the first pass
  std::vector<int64_t> gradients_of;        // of each chunk: micro-batches that are done
  std::size_t last_fetch = 0;               // the last pass that needs weights
  int64_t in_flight = 0;
  int64_t most_in_flight = 0;
};

class Player {
 public:
  Player(const PipelineWork& work, std::vector<PassSlice>* slices)
      : work_(work),
        layout_(work.layout),
        replicas_(at(work.replicas)),
        slices_(slices),
        ranks_(at(layout_.pipeline)) {
    const int64_t places = ways_of(layout_) * way_length(layout_) * micro_batches_of_way(layout_);
    forward_ready_.assign(at(places) * replicas_, Time::last());
    backward_ready_ = forward_ready_;
    for (int64_t r = 0; r < layout_.pipeline; ++r) start(r);
    for (int64_t way = 0; way < ways_of(layout_); ++way)
      for (int64_t m = 0; m < micro_batches_of_way(layout_); ++m)
        for (std::size_t d = 0; d < replicas_; ++d) forward_ready_[place({way, 0}, m) + d] = Time();
  }

  PipelinePlayed play(Stopper* stopper) {
    std::vector<int64_t> can_go_on;
    for (int64_t r = layout_.pipeline; r-- > 0;) can_go_on.push_back(r);
    while (!can_go_on.empty()) {
      const int64_t r = can_go_on.back();
      can_go_on.pop_back();
      while (is_ready(r)) {
        const PassSlot slot = ranks_[at(r)].slots[ranks_[at(r)].next++];
        play_slot(r, slot);
        for (const bool is_backward : {false, true})
          if (is_backward ? slot.has_backward() : slot.has_forward())
            if (const int64_t woken = neighbour(r, slot, is_backward); woken >= 0 && woken != r)
              can_go_on.push_back(woken);
        ++passes_;
        if (stopper != nullptr) stopper->count(latest(ranks_[at(r)].free));
      }
    }
    for ([[maybe_unused]] const RankState& rank : ranks_) assert(rank.next == rank.slots.size());
    return finish();
  }

 private:
  void start(int64_t r) {
    RankState& rank = ranks_[at(r)];
    rank.slots = pass_order(layout_, r);
    for (std::size_t i = 0; i < rank.slots.size(); ++i)
      if (rank.slots[i].fetches(layout_.keeps_weights) > 0) rank.last_fetch = i;
    rank.free.resize(replicas_);
    rank.busy.resize(replicas_);
    rank.waited.resize(replicas_);
    rank.exchanged.resize(replicas_);
    rank.sent_forward.resize(replicas_);
    rank.sent_backward.resize(replicas_);
    rank.gathered.resize(at(chunks_of_rank(layout_)));
    rank.gradients_of.resize(at(chunks_of_rank(layout_)));
    if (layout_.zero == 1 || layout_.zero == 2) gather_all(r);
  }
  // Weights of all chunks, in the order in which they are needed.
  void gather_all(int64_t r) {
    RankState& rank = ranks_[at(r)];
    for (const PassSlot& slot : rank.slots) {
      if (!slot.has_forward() || slot.micro_batch > 0) continue;
      const ChunkExchange& exchange = work_.exchanges[at(r)];
      if (exchange.gather == Duration()) continue;
      for (int64_t piece = 0; piece < exchange.pieces; ++piece)
        rank.gathered[at(slot.chunk)].push_back(
            on_stream(r, slot, PassSlice::Kind::gather, Time(), exchange.gather));
    }
    if (layout_.overlaps) return;
    for (auto& pieces : rank.gathered)
      for (Time& piece : pieces) piece = rank.stream;
  }

  // ---- where what a pass waits for is kept

  std::size_t place(WayPosition where, int64_t micro_batch) const {
    const int64_t column = where.way * way_length(layout_) + where.position;
    return at(column * micro_batches_of_way(layout_) + micro_batch) * replicas_;
  }
  std::size_t forward_place(int64_t r, const PassSlot& slot) const {
    return place(position_of(layout_, {r, slot.chunk}), slot.micro_batch);
  }
  std::size_t backward_place(int64_t r, const PassSlot& slot) const {
    return slot.pass == Pass::both
               ? place(position_of(layout_, {r, slot.backward_chunk}), slot.backward_micro_batch)
               : forward_place(r, slot);
  }
  Duration send_between(int64_t r, int64_t other) const {
    return work_.sends.empty() ? Duration()
                               : work_.sends[boundary_between(r, other, work_.sends.size())];
  }
  bool is_ready(int64_t r) const {
    const RankState& rank = ranks_[at(r)];
    if (rank.next == rank.slots.size()) return false;
    const PassSlot& slot = rank.slots[rank.next];
    if (slot.has_forward() && forward_ready_[forward_place(r, slot)] == Time::last()) return false;
    return !slot.has_backward() || backward_ready_[backward_place(r, slot)] != Time::last();
  }
  // The rank that waits for what a pass gives away; -1: none.
  int64_t neighbour(int64_t r, const PassSlot& slot, bool is_backward) const {
    const bool is_other = is_backward && slot.pass == Pass::both;
    const WayPosition here = position_of(layout_, {r, is_other ? slot.backward_chunk : slot.chunk});
    const int64_t next = here.position + (is_backward ? -1 : 1);
    if (next < 0 || next >= way_length(layout_)) return -1;
    return place_on_way(layout_, here.way, next).rank;
  }

  // ---- passes

  const ChunkWork& work_of(int64_t r, int64_t chunk) const {
    return work_.chunks[at(r * chunks_of_rank(layout_) + chunk)];
  }
  Duration length_of(int64_t r, const PassSlot& slot, double factor) const {
    const ChunkWork& work = work_of(r, slot.chunk);
    const auto backward = [&](const ChunkWork& of) {
      return slowed(of.inputs, factor) + slowed(of.weights, factor);
    };
    switch (slot.pass) {
      case Pass::forward:
        return slowed(work.forward, factor);
      case Pass::backward:
        return backward(work);
      case Pass::inputs:
        return slowed(work.inputs, factor);
      case Pass::weights:
        return slowed(work.weights, factor);
      case Pass::both:
        break;
    }
    const ChunkWork& other = work_of(r, slot.backward_chunk);
    // Exchanges of experts of one lie under the computing of the other.
    const Duration there = slowed(work.forward, factor);
    const Duration back = backward(other);
    const Duration back_expert = other.inputs.expert + other.weights.expert;
    return there + back -
           std::min(work.forward.expert, back - other.inputs.rest - other.weights.rest) -
           std::min(back_expert, there - work.forward.rest);
  }
  double factor_of(int64_t r, std::size_t replica) const {
    return work_.slowness ? work_.slowness(r, static_cast<int64_t>(replica)) : 1;
  }

  void play_slot(int64_t r, const PassSlot& slot) {
    RankState& rank = ranks_[at(r)];
    std::vector<Time>& starts = starts_;
    std::vector<Duration>& lengths = lengths_;
    starts.assign(replicas_, Time());
    lengths.assign(replicas_, Duration());
    for (std::size_t d = 0; d < replicas_; ++d) {
      Time ready = rank.free[d];
      if (slot.has_forward()) ready = std::max(ready, forward_ready_[forward_place(r, slot) + d]);
      if (slot.has_backward())
        ready = std::max(ready, backward_ready_[backward_place(r, slot) + d]);
      rank.waited[d] += ready - rank.free[d];
      starts[d] = ready;
      lengths[d] = length_of(r, slot, factor_of(r, d));
    }
    if (layout_.zero >= 2)
      play_by_layers(r, slot);
    else
      play_at_once(r, slot);
    if (slot.has_forward()) rank.most_in_flight = std::max(rank.most_in_flight, ++rank.in_flight);
    if (slot.has_weights()) --rank.in_flight;
    for (std::size_t d = 0; d < replicas_; ++d) hand_on(r, slot, d);
  }

  // With zero0 and zero1. What is exchanged before the first and after the last pass of a chunk
  // is exchanged in pieces.
  void play_at_once(int64_t r, const PassSlot& slot) {
    RankState& rank = ranks_[at(r)];
    std::vector<Time>& gathered = rank.gathered[at(slot.chunk)];
    for (std::size_t d = 0; d < replicas_; ++d) {
      Time end = starts_[d] + lengths_[d];
      if (slot.has_forward() && slot.micro_batch == 0)
        end = std::max(end, end_with(gathered, starts_[d], lengths_[d]));
      end_pass(r, slot, d, starts_[d], end);
    }
    if (slot.has_weights()) count_gradients(r, slot);
  }
  // The end of a pass whose k-th part needs the k-th piece.
  static Time end_with(const std::vector<Time>& pieces, Time start, Duration length) {
    Time end = start;
    const auto count = static_cast<int64_t>(pieces.size());
    for (int64_t k = 0; k < count; ++k) end = std::max(end, pieces[at(k)]) + part(length, k, count);
    return count == 0 ? start + length : end;
  }
  // The k-th of so many equal parts, which add up to the whole.
  static Duration part(Duration whole, int64_t k, int64_t count) {
    return Duration::ps(whole.ps() / count + (k < whole.ps() % count ? 1 : 0));
  }
  void end_pass(int64_t r, const PassSlot& slot, std::size_t d, Time start, Time end) {
    RankState& rank = ranks_[at(r)];
    rank.busy[d] += lengths_[d];
    rank.exchanged[d] += (end - start) - lengths_[d];
    rank.free[d] = end;
    if (slices_ != nullptr)
      slices_->push_back({PassSlice::Kind::pass, slot.pass, r, static_cast<int64_t>(d), slot.chunk,
                          slot.micro_batch, start, end});
  }
  // After the last micro-batch of a chunk its gradients go out, piece by piece.
  void count_gradients(int64_t r, const PassSlot& slot) {
    RankState& rank = ranks_[at(r)];
    const int64_t chunk = slot.pass == Pass::both ? slot.backward_chunk : slot.chunk;
    if (++rank.gradients_of[at(chunk)] < micro_batches_of_way(layout_)) return;
    const ChunkExchange& exchange = work_.exchanges[at(r)];
    if (exchange.reduce == Duration() || !layout_.overlaps) return;
    for (int64_t k = 1; k <= exchange.pieces; ++k) {
      Time ready;
      for (std::size_t d = 0; d < replicas_; ++d) {
        const double done =
            static_cast<double>(exchange.pieces - k) / static_cast<double>(exchange.pieces);
        ready = std::max(ready, rank.free[d] - scaled(lengths_[d], done));
      }
      on_stream(r, slot, PassSlice::Kind::reduce, ready, exchange.reduce);
    }
  }

  // With zero2 and zero3, where every pass of every layer has its exchanges.
  void play_by_layers(int64_t r, const PassSlot& slot) {
    RankState& rank = ranks_[at(r)];
    const ChunkExchange& exchange = work_.exchanges[at(r)];
    const int64_t ways = slot.fetches(layout_.keeps_weights);
    const bool fetches = layout_.zero == 3 && ways > 0 && exchange.gather > Duration();
    const bool reduces = slot.has_weights() && exchange.reduce > Duration();
    const std::vector<Time>* gathered =
        layout_.zero == 2 && slot.has_forward() && slot.micro_batch == 0
            ? &rank.gathered[at(slot.chunk)]
            : nullptr;
    clocks_ = starts_;
    if (fetches && rank.fetched == Time())
      rank.fetched =
          on_stream(r, slot, PassSlice::Kind::gather, latest(clocks_), exchange.gather * ways);
    for (int64_t k = 0; k < exchange.pieces; ++k) {
      Time ready;
      if (fetches) ready = rank.fetched;
      if (gathered != nullptr && !gathered->empty()) ready = (*gathered)[at(k)];
      if (reduces) ready = std::max(ready, rank.reduced_before);
      for (Time& clock : clocks_) clock = std::max(clock, ready);
      const bool is_last = k + 1 == exchange.pieces && rank.next > rank.last_fetch;
      if (fetches && !is_last)
        rank.fetched =
            on_stream(r, slot, PassSlice::Kind::gather, latest(clocks_), exchange.gather * ways);
      for (std::size_t d = 0; d < replicas_; ++d)
        clocks_[d] += part(lengths_[d], k, exchange.pieces);
      if (!reduces) continue;
      rank.reduced_before = rank.reduced;
      rank.reduced = on_stream(r, slot, PassSlice::Kind::reduce, latest(clocks_), exchange.reduce);
    }
    for (std::size_t d = 0; d < replicas_; ++d) end_pass(r, slot, d, starts_[d], clocks_[d]);
  }
  static Time latest(const std::vector<Time>& clocks) {
    return *std::max_element(clocks.begin(), clocks.end());
  }
  Time on_stream(int64_t r, const PassSlot& slot, PassSlice::Kind kind, Time ready,
                 Duration length) {
    RankState& rank = ranks_[at(r)];
    const Time start = std::max(rank.stream, ready);
    rank.stream = start + length;
    if (slices_ != nullptr)
      slices_->push_back({kind, slot.pass, r, 0, slot.chunk, slot.micro_batch, start, rank.stream});
    return rank.stream;
  }

  // ---- what goes to the next rank

  void hand_on(int64_t r, const PassSlot& slot, std::size_t d) {
    RankState& rank = ranks_[at(r)];
    const Time end = rank.free[d];
    for (const bool is_backward : {false, true}) {
      if (is_backward ? !slot.has_backward() : !slot.has_forward()) continue;
      const bool is_other = is_backward && slot.pass == Pass::both;
      const int64_t chunk = is_other ? slot.backward_chunk : slot.chunk;
      const int64_t micro_batch = is_other ? slot.backward_micro_batch : slot.micro_batch;
      const WayPosition here = position_of(layout_, {r, chunk});
      const int64_t next = here.position + (is_backward ? -1 : 1);
      if (next < 0) continue;
      if (next == way_length(layout_)) {  // the loss: the backward pass can begin
        backward_ready_[place(here, micro_batch) + d] = end;
        continue;
      }
      const int64_t to = place_on_way(layout_, here.way, next).rank;
      if (to == r) {
        auto& own = is_backward ? backward_ready_ : forward_ready_;
        own[place({here.way, next}, micro_batch) + d] = end;
        continue;
      }
      Time& way = (is_backward ? rank.sent_backward : rank.sent_forward)[d];
      const Time start = std::max(way, end);
      const Duration send = send_between(r, to);
      way = start + send;
      if (work_.sends_keep_rank) rank.free[d] = std::max(rank.free[d], way);
      auto& ready = is_backward ? backward_ready_ : forward_ready_;
      ready[place({here.way, next}, micro_batch) + d] = way;
      if (slices_ != nullptr && send > Duration())
        slices_->push_back({PassSlice::Kind::send, is_backward ? Pass::backward : Pass::forward, r,
                            static_cast<int64_t>(d), chunk, micro_batch, start, way});
    }
    rank.waited[d] += rank.free[d] - end;
  }

  // ---- after the last pass

  PipelinePlayed finish() {
    PipelinePlayed played;
    played.passes = passes_;
    std::vector<Time> ends;
    for (int64_t r = 0; r < layout_.pipeline; ++r) ends.push_back(end_of_exchanges(r));
    if (work_.tied > Duration())
      ends.front() = ends.back() = std::max(ends.front(), ends.back()) + work_.tied;
    Time end;
    for (int64_t r = 0; r < layout_.pipeline; ++r) {
      const int64_t other = layout_.pipeline - 1 - r;
      Time all = ends[at(r)];
      if (work_.copies[at(r)] > Duration())
        all = std::max(all, ends[at(other)]) + work_.copies[at(r)];
      if (slices_ != nullptr && work_.optimizer[at(r)] > Duration())
        slices_->push_back({PassSlice::Kind::optimizer, Pass::forward, r, 0, 0, 0, all,
                            all + work_.optimizer[at(r)]});
      add_rank(played, r, all);
      end = std::max(end, played.ranks.back().end);
    }
    for (RankPlayed& rank : played.ranks) rank.waiting += end - rank.end;
    played.time = end.since_start();
    return played;
  }
  // Without overlapping, gradients go out after the last pass of all.
  Time end_of_exchanges(int64_t r) {
    const RankState& rank = ranks_[at(r)];
    const Time end = latest(rank.free);
    const ChunkExchange& exchange = work_.exchanges[at(r)];
    const int64_t pieces = exchange.pieces * chunks_of_rank(layout_);
    if (!layout_.overlaps && exchange.reduce > Duration())
      for (int64_t k = 0; k < pieces; ++k)
        on_stream(r, rank.slots.back(), PassSlice::Kind::reduce, end, exchange.reduce);
    return std::max(end, rank.stream);
  }
  void add_rank(PipelinePlayed& played, int64_t r, Time exchanged) {
    const RankState& rank = ranks_[at(r)];
    const auto last = static_cast<std::size_t>(
        std::max_element(rank.free.begin(), rank.free.end()) - rank.free.begin());
    const RankPlayed one{.busy = rank.busy[last],
                         .waiting = rank.waited[last],
                         .exchange = rank.exchanged[last] + (exchanged - rank.free[last]),
                         .optimizer = work_.optimizer[at(r)],
                         .most_in_flight = rank.most_in_flight,
                         .passes_end = rank.free[last],
                         .end = exchanged + work_.optimizer[at(r)]};
    played.ranks.push_back(one);
  }

  const PipelineWork& work_;
  const Layout& layout_;
  std::size_t replicas_;
  std::vector<PassSlice>* slices_;
  std::vector<RankState> ranks_;
  // When passes can begin, by way, position, micro-batch and replica; last(): not known yet.
  std::vector<Time> forward_ready_;
  std::vector<Time> backward_ready_;
  std::vector<Time> starts_;  // of the present pass, by replica
  std::vector<Duration> lengths_;
  std::vector<Time> clocks_;
  uint64_t passes_ = 0;
};

}  // namespace

PipelinePlayed play(const PipelineWork& work, std::vector<PassSlice>* slices, Stopper* stopper) {
  const Layout& layout = work.layout;
  const double passes = 2.0 * static_cast<double>(layout.micro_batches) *
                        static_cast<double>(layout.chunks_in_all()) *
                        static_cast<double>(work.replicas);
  const int64_t most = slices ? most_shown_passes : most_passes;
  if (passes > static_cast<double>(most))
    throw InputError("layout", "it has " + std::to_string(static_cast<int64_t>(passes)) +
                                   " passes, and at most " + std::to_string(most) + " are " +
                                   (slices ? "shown" : "simulated") +
                                   "; fewer micro-batches or replicas would fit");
  return Player(work, slices).play(stopper);
}

}  // namespace sgdsim
