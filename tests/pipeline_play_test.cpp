// Passes of pipelines: bubbles of every schedule by their published formulas, ends of random
// pipelines by another way of computing them, slow GPUs by hand.
#include "models/training/pipeline_play.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <tuple>

#include "models/training/memory.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

Layout pipeline(PipelineSchedule schedule, int64_t p, int64_t v, int64_t m) {
  Layout layout;
  layout.pipeline = p;
  layout.chunks = v;
  layout.micro_batches = m;
  layout.schedule = schedule;
  return layout;
}

ChunkWork chunk(int64_t forward_us, int64_t inputs_us, int64_t weights_us) {
  return {{Duration::us(forward_us), {}, {}},
          {Duration::us(inputs_us), {}, {}},
          {Duration::us(weights_us), {}, {}}};
}

// Every chunk alike, nothing to exchange.
PipelineWork alike(const Layout& layout, const ChunkWork& work) {
  PipelineWork all;
  all.layout = layout;
  const auto ranks = static_cast<std::size_t>(layout.pipeline);
  all.chunks.assign(ranks * static_cast<std::size_t>(chunks_of_rank(layout)), work);
  all.exchanges.resize(ranks);
  all.optimizer.resize(ranks);
  all.copies.resize(ranks);
  return all;
}

constexpr PipelineSchedule every_schedule[] = {PipelineSchedule::one_f_one_b,
                                               PipelineSchedule::gpipe, PipelineSchedule::zb1p,
                                               PipelineSchedule::dualpipe, PipelineSchedule::zbv};
bool takes_chunks(PipelineSchedule schedule, int64_t v) {
  if (schedule == PipelineSchedule::zbv) return v == 2;
  return v == 1 || schedule == PipelineSchedule::one_f_one_b;
}

}  // namespace

TEST_CASE("passes: every schedule does everything once, and forwards first") {
  for (const PipelineSchedule schedule : every_schedule)
    for (int64_t p = 2; p <= 8; p += 2)
      for (const int64_t v : {1, 2, 3})
        for (int64_t m = 2 * p; m <= 4 * p; m += p) {
          if (!takes_chunks(schedule, v)) continue;
          const Layout layout = pipeline(schedule, p, v, m);
          for (int64_t rank = 0; rank < p; ++rank) {
            // By chunk and micro-batch: forward, inputs, weights.
            std::map<std::pair<int, int>, std::vector<int>> done;
            for (const PassSlot& slot : pass_order(layout, rank)) {
              if (slot.has_forward()) done[{slot.chunk, slot.micro_batch}].push_back(0);
              const bool is_both = slot.pass == Pass::both;
              auto& of = done[{is_both ? slot.backward_chunk : slot.chunk,
                               is_both ? slot.backward_micro_batch : slot.micro_batch}];
              if (slot.has_backward()) of.push_back(1);
              if (slot.has_weights()) of.push_back(2);
            }
            CHECK(done.size() == static_cast<std::size_t>(v * m));
            for (const auto& [which, passes] : done) CHECK(passes == std::vector<int>{0, 1, 2});
          }
        }
}

// (p - 1)(F + B) / v (arXiv 2104.04473), (p - 1)(F + B - 2W) with equal thirds (arXiv 2401.10241)
// or shorter W; longer ones fill no more than the shorter of F and B - W, and of fewer
// micro-batches than ranks all but the last one's fill anything. (p / 2 - 1)(F&B + B - 3W)
// (DeepSeek-V3), where F and B are those of a stage. ZB-V: by a drawing of the critical path, (p -
// 1) times the larger of a chunk's inputs, and of twice what they are longer than its weights,
// where weights take no longer than a forward pass, and that than inputs.
TEST_CASE("passes: bubbles are those of the formulas") {
  for (int64_t p = 1; p <= 16; ++p)
    for (int64_t v = 1; v <= 4; ++v)
      for (int64_t m = 1; m <= 40; ++m) {
        if (v > 1 && (m % p != 0 || p == 1)) continue;
        const ChunkWork work = chunk(3, 4, 3);  // F = 3v, B = 7v
        const Duration slots = Duration::us(10 * v * m);
        CAPTURE(p);
        CAPTURE(v);
        CAPTURE(m);
        CHECK(play(alike(pipeline(PipelineSchedule::one_f_one_b, p, v, m), work)).time ==
              slots + Duration::us(10 * (p - 1)));
        if (v > 1) continue;
        if (p > 1 && m >= 2 * p - 1)
          for (const auto& [f, i, w] :
               std::vector<std::array<int64_t, 3>>{{5, 5, 5}, {3, 4, 2}, {3, 9, 2}, {4, 4, 1}})
            CHECK(play(alike(pipeline(PipelineSchedule::zbv, p, 2, m), chunk(f, i, w))).time ==
                  Duration::us(2 * m * (f + i + w) + (p - 1) * std::max(i, 2 * (i - w))));
        CHECK(play(alike(pipeline(PipelineSchedule::gpipe, p, 1, m), work)).time ==
              slots + Duration::us(10 * (p - 1)));
        for (const auto& [f, i, w] : std::vector<std::array<int64_t, 3>>{
                 {5, 5, 5}, {3, 9, 2}, {9, 4, 3}, {5, 5, 50}, {3, 4, 20}, {9, 4, 20}, {10, 1, 8}}) {
          const int64_t waits = (p - 1) * (f + i) - std::min(p - 1, m - 1) * std::min({f, i, w});
          CHECK(play(alike(pipeline(PipelineSchedule::zb1p, p, 1, m), chunk(f, i, w))).time ==
                Duration::us(m * (f + i + w) + waits));
        }
        if (p == 1 || m < p) continue;
        if (p % 2 != 0 || m % 2 != 0 || m < 2 * p) continue;
        CHECK(play(alike(pipeline(PipelineSchedule::dualpipe, p, 1, m), chunk(5, 5, 5))).time ==
              Duration::us(15 * m + (p / 2 - 1) * (15 + 10 - 3 * 5)));
      }
}

TEST_CASE("passes: what is in flight is what the memory is computed for") {
  const Transformer model = small_model();
  for (const PipelineSchedule schedule : every_schedule)
    for (const int64_t p : {2, 4, 8})
      for (const int64_t v : {1, 2, 3})
        for (const int64_t m : {2 * p, 3 * p, 6 * p}) {
          if (!takes_chunks(schedule, v)) continue;
          const Layout layout = pipeline(schedule, p, v, m);
          const PipelinePlayed played = play(alike(layout, chunk(5, 5, 5)));
          for (int64_t rank = 0; rank < p; ++rank) {
            CAPTURE(rank);
            CAPTURE(to_text(layout));
            CHECK(played.ranks[static_cast<std::size_t>(rank)].most_in_flight ==
                  stage_memory(model, layout, model.sequence, rank).in_flight);
          }
        }
}

namespace {

// The same rules, said as what waits for what and iterated until nothing moves any more.
class Relaxed {
 public:
  explicit Relaxed(const PipelineWork& work) : work_(work), layout_(work.layout) {
    for (int64_t r = 0; r < layout_.pipeline; ++r)
      for (const PassSlot& slot : pass_order(layout_, r)) order_[r].push_back({slot, Time()});
    while (relax()) {
    }
  }
  Time end() const {
    Time last;
    for (const auto& [rank, slots] : order_) last = std::max(last, slots.back().second);
    return last;
  }

 private:
  using Key = std::tuple<int64_t, int64_t, int64_t, bool>;  // way, position, micro-batch, backward

  bool relax() {
    bool moved = false;
    for (auto& [rank, slots] : order_) {
      Time free;
      Time out[2];
      for (auto& [slot, end] : slots) {
        Time begin = free;
        if (slot.has_forward()) begin = std::max(begin, came(rank, slot, false));
        if (slot.has_backward()) begin = std::max(begin, came(rank, slot, true));
        const Time now = begin + length(rank, slot);
        moved = moved || now != end;
        free = end = now;
        for (const bool is_backward : {false, true}) {
          if (is_backward ? !slot.has_backward() : !slot.has_forward()) continue;
          const Key key = key_of(rank, slot, is_backward);
          const auto [way, position, micro_batch, unused] = key;
          const int64_t next = position + (is_backward ? -1 : 1);
          Time there = end;
          if (next >= 0 && next < way_length(layout_)) {
            if (const int64_t to = place_on_way(layout_, way, next).rank; to != rank) {
              there = std::max(out[is_backward ? 1 : 0], end) +
                      work_.sends[boundary_between(rank, to, work_.sends.size())];
              out[is_backward ? 1 : 0] = there;
              if (work_.sends_keep_rank) free = std::max(free, there);
            }
          }
          if (next == way_length(layout_))
            came_[{way, position, micro_batch, true}] = there;
          else
            came_[{way, next, micro_batch, is_backward}] = there;
        }
      }
    }
    return moved;
  }
  Key key_of(int64_t rank, const PassSlot& slot, bool is_backward) const {
    const bool is_other = is_backward && slot.pass == Pass::both;
    const WayPosition where =
        position_of(layout_, {rank, is_other ? slot.backward_chunk : slot.chunk});
    return {where.way, where.position, is_other ? slot.backward_micro_batch : slot.micro_batch,
            is_backward};
  }
  Time came(int64_t rank, const PassSlot& slot, bool is_backward) {
    return came_[key_of(rank, slot, is_backward)];
  }
  const ChunkWork& work_of(int64_t rank, int64_t chunk) const {
    return work_.chunks[static_cast<std::size_t>(rank * chunks_of_rank(layout_) + chunk)];
  }
  Duration length(int64_t rank, const PassSlot& slot) const {
    const ChunkWork& own = work_of(rank, slot.chunk);
    const ChunkWork& other = work_of(rank, slot.backward_chunk);
    switch (slot.pass) {
      case Pass::forward:
        return own.forward.compute;
      case Pass::backward:
        return own.inputs.compute + own.weights.compute;
      case Pass::inputs:
        return own.inputs.compute;
      case Pass::weights:
        return own.weights.compute;
      case Pass::both:
        return own.forward.compute + other.inputs.compute + other.weights.compute;
    }
    return {};
  }

  const PipelineWork& work_;
  const Layout& layout_;
  std::map<int64_t, std::vector<std::pair<PassSlot, Time>>> order_;
  std::map<Key, Time> came_;
};

PipelineWork random_work(Random& random) {
  const auto draw = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random.uniform() * static_cast<double>(most - least + 1));
  };
  const PipelineSchedule schedule = every_schedule[draw(0, 4)];
  const bool is_interleaved = schedule == PipelineSchedule::one_f_one_b && draw(0, 1) == 1;
  int64_t p = draw(1, 6);
  if (is_interleaved || schedule != PipelineSchedule::one_f_one_b) p = std::max<int64_t>(2, p);
  if (schedule == PipelineSchedule::dualpipe) p += p % 2;
  const bool is_v = schedule == PipelineSchedule::zbv;
  const int64_t v = is_interleaved ? draw(2, 4) : is_v ? 2 : 1;
  int64_t m = is_interleaved ? p * draw(1, 4) : draw(1, 20);
  if (schedule == PipelineSchedule::dualpipe) m = 2 * p + 2 * draw(0, 5);
  if (is_v) m += 2 * p - 1;
  PipelineWork work = alike(pipeline(schedule, p, v, m), {});
  for (ChunkWork& one : work.chunks) one = chunk(draw(0, 9), draw(0, 9), draw(0, 9));
  for (int64_t i = 0; i < p; ++i) work.sends.push_back(Duration::us(draw(0, 4)));
  work.sends_keep_rank = draw(0, 1) == 1;
  return work;
}

}  // namespace

TEST_CASE("passes: random pipelines end when relaxing says so, and alike replicas change nothing") {
  Random random(7);
  for (int i = 0; i < 10'000; ++i) {
    PipelineWork work = random_work(random);
    CAPTURE(to_text(work.layout));
    const PipelinePlayed played = play(work);
    if (i % 10 == 0) CHECK(Time::at(played.time) == Relaxed(work).end());
    for (const RankPlayed& rank : played.ranks)
      CHECK(rank.busy + rank.waiting + rank.exchange + rank.optimizer == played.time);
    work.replicas = 3;
    work.slowness = [](int64_t, int64_t) { return 1.0; };
    CHECK(play(work).time == played.time);
  }
}

// Two ranks, one micro-batch, F = 2 and B = 3 each, sends of 1: 2 + 1 + 2 + 3 + 1 + 3 = 12. Rank 1
// of the second replica at half speed: 2 + 1 + 4 + 6 + 1 + 3 = 17, and only there.
TEST_CASE("passes: a slow rank, by hand") {
  PipelineWork work = alike(pipeline(PipelineSchedule::one_f_one_b, 2, 1, 1), chunk(2, 2, 1));
  work.sends = {Duration::us(1)};
  std::vector<PassSlice> slices;
  CHECK(play(work, &slices).time == Duration::us(12));
  CHECK(slices.size() == 6);  // 4 passes, 2 sends
  work.replicas = 2;
  work.slowness = [](int64_t rank, int64_t replica) { return rank == 1 && replica == 1 ? 2. : 1.; };
  const PipelinePlayed played = play(work);
  CHECK(played.time == Duration::us(17));
  CHECK(played.ranks[1].busy == Duration::us(10));
  CHECK(played.ranks[0].waiting == Duration::us(12));
}

// Of gradients in 2 pieces of 2 us each, after a backward pass of 4: the first piece is ready when
// half of the pass is done, the second one at its end: 2 us stay. Of weights in two pieces, the
// first one stays. Without overlapping all stays.
TEST_CASE("passes: pieces of exchanges, by hand") {
  PipelineWork work = alike(pipeline(PipelineSchedule::one_f_one_b, 1, 1, 1), chunk(4, 2, 2));
  work.exchanges[0] = {2, Duration::us(2), Duration::us(1)};
  work.optimizer[0] = Duration::us(1);
  CHECK(play(work).time == Duration::us(4 + 4 + 2 + 1));
  work.layout.zero = 1;
  CHECK(play(work).time == Duration::us(1 + 4 + 4 + 2 + 1));
  work.layout.overlaps = false;
  CHECK(play(work).time == Duration::us(2 + 4 + 4 + 4 + 1));
  work.layout.overlaps = true;
  // A gather of 3 takes longer than half of the forward pass: 3 + 3 + 2 until its end.
  work.exchanges[0].gather = Duration::us(3);
  CHECK(play(work).time == Duration::us(3 + 3 + 2 + 4 + 2 + 1));
}

// FSDP: F = 4, B = 4 in two layers, weights of a layer 1, gradients 1. The first weights come at
// 1; the second at 2, while the first layer is computed; forward ends at 5. Weights for the
// backward pass were fetched under the forward's second layer; its layers end at 7 and 9; the last
// gradients are gone at 10.
TEST_CASE("passes: layer by layer, by hand") {
  PipelineWork work = alike(pipeline(PipelineSchedule::one_f_one_b, 1, 1, 1), chunk(4, 2, 2));
  work.layout.zero = 3;
  work.exchanges[0] = {2, Duration::us(1), Duration::us(1)};
  CHECK(play(work).time == Duration::us(10));
  // Weights that take 3, one after the other: at 3, 6, 9, 12. Layers of the forward pass begin at 3
  // and 6; those of the backward pass at 9 and 12, and the last ends at 14. The first gradients
  // stand behind the weights that were asked for at 9, at 12 to 13; the last go at 14.
  work.exchanges[0].gather = Duration::us(3);
  CHECK(play(work).time == Duration::us(15));
}

TEST_CASE("passes: too many are refused") {
  const PipelineWork work =
      alike(pipeline(PipelineSchedule::one_f_one_b, 64, 1, 1'000'000), chunk(1, 1, 1));
  CHECK_THROWS_WITH_AS(play(work), doctest::Contains("at most 40000000 are simulated"), InputError);
  std::vector<PassSlice> slices;
  const PipelineWork shown =
      alike(pipeline(PipelineSchedule::one_f_one_b, 2, 1, 500'001), chunk(1, 1, 1));
  CHECK_THROWS_WITH_AS(play(shown, &slices), doctest::Contains("at most 2000000 are shown"),
                       InputError);
}

}  // namespace sgdsim
