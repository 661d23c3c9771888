// Counters say which micro-batch is next; the schedules only say what kind of pass.
#include "models/training/pass_order.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>

namespace sgdsim {
namespace {

bool is_two_way(const Layout& layout) { return layout.schedule == PipelineSchedule::dualpipe; }

// ---- one way, whose passes go in rounds of p micro-batches over the chunks

class OneWay {
 public:
  OneWay(const Layout& layout, std::vector<PassSlot>& slots) : layout_(layout), slots_(slots) {
    slots_.reserve(static_cast<std::size_t>(2 * all()));
  }
  int64_t all() const { return layout_.micro_batches * layout_.chunks; }
  void forward() { add(Pass::forward, forwards_++, false); }
  void backward() { add(Pass::backward, backwards_++, true); }
  void both() {
    add(Pass::backward, backwards_++, true);
    const PassSlot backward = slots_.back();
    slots_.pop_back();
    add(Pass::both, forwards_++, false);
    slots_.back().backward_chunk = backward.chunk;
    slots_.back().backward_micro_batch = backward.micro_batch;
  }
  void inputs() { add(Pass::inputs, backwards_++, true); }
  void weights() { add(Pass::weights, weights_++, true); }

 private:
  void add(Pass pass, int64_t count, bool is_backward) {
    const int64_t p = layout_.chunks == 1 ? 1 : layout_.pipeline;
    const int64_t v = layout_.chunks;
    const int64_t chunk = count % (p * v) / p;
    slots_.push_back({.pass = pass,
                      .chunk = static_cast<int32_t>(is_backward ? v - 1 - chunk : chunk),
                      .micro_batch = static_cast<int32_t>(count / (p * v) * p + count % p)});
  }
  const Layout& layout_;
  std::vector<PassSlot>& slots_;
  int64_t forwards_ = 0;
  int64_t backwards_ = 0;
  int64_t weights_ = 0;
};

// With gpipe all are ahead.
void add_one_f_one_b(const Layout& layout, int64_t rank, std::vector<PassSlot>& slots) {
  OneWay way(layout, slots);
  const int64_t ahead = forwards_ahead(layout, rank);
  for (int64_t i = 0; i < ahead; ++i) way.forward();
  for (int64_t i = ahead; i < way.all(); ++i) {
    if (layout.pairs_passes()) {
      way.both();
    } else {
      way.forward();
      way.backward();
    }
  }
  for (int64_t i = 0; i < ahead; ++i) way.backward();
}

// As 1F1B, but gradients of weights stay back by as many micro-batches as the rank's number: they
// fill the bubble at the end.
void add_zb1p(const Layout& layout, int64_t rank, std::vector<PassSlot>& slots) {
  OneWay way(layout, slots);
  const int64_t ahead = forwards_ahead(layout, rank);
  int64_t kept = 0;  // gradients of weights that are not made yet
  auto backward = [&] {
    way.inputs();
    if (++kept > rank) {
      way.weights();
      --kept;
    }
  };
  for (int64_t i = 0; i < ahead; ++i) way.forward();
  for (int64_t i = ahead; i < way.all(); ++i) {
    way.forward();
    backward();
  }
  for (int64_t i = 0; i < ahead; ++i) backward();
  for (; kept > 0; --kept) way.weights();
}

// ---- there and back: two chunks of a rank

class ThereAndBack {
 public:
  ThereAndBack(const Layout& layout, int64_t rank, std::vector<PassSlot>& slots)
      : rank_(rank),
        behind_(layout.pipeline - rank),
        all_(static_cast<int32_t>(layout.micro_batches)),
        slots_(slots) {
    slots_.reserve(static_cast<std::size_t>(6 * all_));
  }

  // In the middle each forward pass is followed by a whole backward pass of the same chunk, and at
  // the end gradients of weights fill what would be waits.
  void add_all() {
    for (int64_t i = 0; i < 2 * behind_ - 1; ++i) forward(0);
    for (int64_t i = 0; i < rank_; ++i) {
      forward(1);
      forward(0);
    }
    for (int64_t i = 0; i < behind_; ++i) {
      forward(1);
      backward(1);
    }
    while (forwards_[1] < all_) {
      if (forwards_[0] < all_) forward(0);
      backward(0);
      forward(1);
      backward(1);
    }
    for (int64_t i = 0; i < rank_; ++i) {
      inputs(0);
      inputs(1);
    }
    for (int64_t i = 0; i < behind_; ++i) backward(0);
    while (weights_[1] < all_) weights(1);
    while (weights_[0] < all_) weights(0);
  }

 private:
  using Counts = std::array<int32_t, 2>;  // by chunk

  void add(Pass pass, int32_t chunk, Counts& counts) {
    slots_.push_back({pass, chunk, counts[static_cast<std::size_t>(chunk)]++});
  }
  void forward(int32_t chunk) { add(Pass::forward, chunk, forwards_); }
  void inputs(int32_t chunk) { add(Pass::inputs, chunk, inputs_); }
  void weights(int32_t chunk) { add(Pass::weights, chunk, weights_); }
  // In two passes: the rank before goes on after the first one.
  void backward(int32_t chunk) {
    inputs(chunk);
    weights(chunk);
  }

  int64_t rank_;
  int64_t behind_;  // this rank and those behind it
  int32_t all_ = 0;
  std::vector<PassSlot>& slots_;
  Counts forwards_{};
  Counts inputs_{};
  Counts weights_{};
};

// ---- two ways: `near` begins at this rank's half of the pipeline, `far` at the other one

class TwoWays {
 public:
  TwoWays(const Layout& layout, int64_t rank, std::vector<PassSlot>& slots)
      : half_(layout.pipeline / 2),
        depth_(std::min(rank, layout.pipeline - 1 - rank)),
        is_middle_(depth_ == half_ - 1),
        near_(rank < half_ ? 0 : 1),
        far_(1 - near_),
        pairs_(layout.micro_batches / 2 - layout.pipeline + depth_ + 1),
        slots_(slots) {}

  void add_all() {
    for (int64_t i = 0; i < 2 * (half_ - depth_ - 1); ++i) forward(near_);
    for (int64_t i = 0; i < depth_ + 1; ++i) {
      forward(near_);
      forward(far_);
    }
    for (int64_t i = 0; i < half_ - depth_ - 1; ++i) {
      inputs(far_);
      weights();
      forward(far_);
    }
    for (int64_t i = 0; i < pairs_; ++i) {
      if (i == 0 && is_middle_) {
        forward(near_);
        backward(far_);
      } else {
        both(near_, far_);
      }
      both(far_, near_);
    }
    for (int64_t i = 0; i < half_ - depth_ - 1; ++i) {
      backward(far_);
      both(far_, near_);
    }
    add_end();
  }

 private:
  // The later half of the last backward passes leaves its gradients of weights for the end.
  void add_end() {
    const int64_t last = 2 * (depth_ + 1);
    for (int64_t i = 0; i < last; ++i) {
      const int32_t way = i % 2 == 0 ? far_ : near_;
      if (i < last / 2)
        backward(way);
      else
        inputs(way);
    }
    for (int64_t i = 0; i < half_ - depth_ - 1; ++i) {
      weights();
      inputs(near_);
    }
    for (int64_t i = 0; i < depth_ + 1; ++i) weights();
  }
  int32_t next_forward(int32_t way) { return forwards_[static_cast<std::size_t>(way)]++; }
  int32_t next_backward(int32_t way) { return backwards_[static_cast<std::size_t>(way)]++; }
  void forward(int32_t way) { slots_.push_back({Pass::forward, way, next_forward(way)}); }
  void backward(int32_t way) { slots_.push_back({Pass::backward, way, next_backward(way)}); }
  void both(int32_t way, int32_t backward_way) {
    slots_.push_back(
        {Pass::both, way, next_forward(way), backward_way, next_backward(backward_way)});
  }
  void inputs(int32_t way) {
    slots_.push_back({Pass::inputs, way, next_backward(way)});
    kept_.push_back(slots_.back());
  }
  void weights() {
    PassSlot slot = kept_.front();
    kept_.pop_front();
    slot.pass = Pass::weights;
    slots_.push_back(slot);
  }

  int64_t half_;
  int64_t depth_;  // ranks between this one and the nearer end
  bool is_middle_;
  int32_t near_;
  int32_t far_;
  int64_t pairs_;
  std::vector<PassSlot>& slots_;
  std::array<int32_t, 2> forwards_{};
  std::array<int32_t, 2> backwards_{};
  std::deque<PassSlot> kept_;  // whose gradients of weights are not made yet
};

}  // namespace

int64_t forwards_ahead(const Layout& layout, int64_t rank) {
  const int64_t all = layout.micro_batches * layout.chunks;
  const int64_t behind = layout.pipeline - rank - 1;
  switch (layout.schedule) {
    case PipelineSchedule::gpipe:
      return all;
    case PipelineSchedule::zbv:
      return std::min(2 * layout.pipeline, all);
    default:
      break;
  }
  const int64_t more = layout.pairs_passes() ? 1 : 0;  // the forward pass of the first pair
  return std::min(
      more + (layout.chunks == 1 ? behind : 2 * behind + (layout.chunks - 1) * layout.pipeline),
      all);
}

int64_t ways_of(const Layout& layout) { return is_two_way(layout) ? 2 : 1; }
int64_t way_length(const Layout& layout) { return layout.chunks_in_all(); }
int64_t micro_batches_of_way(const Layout& layout) {
  return layout.micro_batches / ways_of(layout);
}
int64_t chunks_of_rank(const Layout& layout) { return is_two_way(layout) ? 2 : layout.chunks; }

PassPlace place_on_way(const Layout& layout, int64_t way, int64_t position) {
  if (is_two_way(layout)) return {way == 0 ? position : layout.pipeline - 1 - position, way};
  const PassPlace place{position % layout.pipeline, position / layout.pipeline};
  if (layout.schedule == PipelineSchedule::zbv && place.chunk == 1)
    return {layout.pipeline - 1 - place.rank, 1};
  return place;
}

WayPosition position_of(const Layout& layout, PassPlace place) {
  if (is_two_way(layout))
    return {place.chunk, place.chunk == 0 ? place.rank : layout.pipeline - 1 - place.rank};
  return {0, chunk_position(layout, place.rank, place.chunk)};
}

std::size_t boundary_between(int64_t rank, int64_t other, std::size_t boundaries) {
  const bool are_neighbours = std::abs(rank - other) == 1;
  return are_neighbours ? static_cast<std::size_t>(std::min(rank, other)) : boundaries - 1;
}

bool sends_keep_rank(const Layout& layout) {
  return layout.chunks == 1 && (layout.schedule == PipelineSchedule::one_f_one_b ||
                                layout.schedule == PipelineSchedule::gpipe);
}

std::vector<PassSlot> pass_order(const Layout& layout, int64_t rank) {
  std::vector<PassSlot> slots;
  switch (layout.schedule) {
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::gpipe:
      add_one_f_one_b(layout, rank, slots);
      break;
    case PipelineSchedule::zb1p:
      add_zb1p(layout, rank, slots);
      break;
    case PipelineSchedule::dualpipe:
      TwoWays(layout, rank, slots).add_all();
      break;
    case PipelineSchedule::zbv:
      ThereAndBack(layout, rank, slots).add_all();
      break;
  }
  return slots;
}

}  // namespace sgdsim
