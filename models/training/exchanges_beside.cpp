// An exchange goes layer by layer, each in its turn: what a pass waits for is what comes before the
// layer that it is at.
#include "models/training/exchanges_beside.h"

#include <algorithm>

#include "models/training/pass_order.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

bool splits_backward(const Layout& layout) {
  return layout.schedule == PipelineSchedule::zb1p || layout.schedule == PipelineSchedule::zbv;
}

// As they are simulated: as many of each chunk.
double pieces_of_rank(const Layout& layout, const StageExchange& exchange) {
  return real(pieces_of_chunk(layout, exchange) * chunks_of_rank(layout));
}

// What is exchanged beside the passes of one micro-batch through all layers of a rank.
class BesidePasses {
 public:
  BesidePasses(const Layout& layout, const StageExchange& exchange, const PassesOfRank& passes)
      : layout_(layout),
        passes_(passes),
        alone_(passes.alone),
        pieces_(pieces_of_rank(layout, exchange)),
        splits_(splits_backward(layout)) {
    const double ways = real(ways_of(layout));  // each with its part of the layers
    reduce_ = exchange.reduce_s / ways;
    gather_ = layout.zero == 3 ? exchange.gather_s / ways : 0;
    again_ = layout.keeps_weights ? 0 : gather_;
  }

  double all_s() const { return gather_ + reduce_ + again_; }
  double forward_s() const { return passes_.exposed_s(gather_, alone_.forward_s); }
  double weight_s() const { return passes_.exposed_s(reduce_, alone_.weight_s); }
  double backward_s() const {
    return splits_ ? passes_.exposed_s(again_, inputs_s()) + weight_s()
                   : passes_.exposed_s(reduce_ + again_, alone_.backward_s);
  }
  // By how much later passes end.
  PassSeconds ends() const {
    const double lost = passes_.slowed_s(reduce_ + again_ - backward_s());
    return {.forward_s = passes_.longer_s(gather_, alone_.forward_s),
            .backward_s = backward_latency_s() + std::max(0.0, lost),
            .weight_s = passes_.longer_s(reduce_, alone_.weight_s),
            .overlapped_s = passes_.longer_s(all_s(), alone_.overlapped_s)};
  }
  // What a backward pass waits for until the inputs' gradients can go on to the next stage: those
  // of the last two layers' weights are still to go then.
  double backward_latency_s() const {
    const double chunks = real(layout_.chunks);
    if (splits_ || layout_.schedule == PipelineSchedule::dualpipe) return backward_s();
    const double behind = layer_s(reduce_ + again_, alone_.backward_s);
    const double first = layers() > 1 ? layer_s(again_, alone_.backward_s) : 0;
    const double in_pass = chunks * (first + std::max(0.0, layers() - 2) * behind);
    return std::max(in_pass, around_s());
  }
  // Of an exchange that is still to go at the end of a pass, what the next pass waits for.
  double forward_waits_s() const { return layer_s(gather_, alone_.forward_s); }
  double backward_waits_s() const {
    const double late = again_ > 0 ? layer_s(2 * reduce_ + again_, alone_.backward_s)
                                   : std::min(layers(), 2.0) * layer_s(reduce_, alone_.backward_s);
    return std::min(late, backward_s() / real(layout_.chunks));
  }
  double first_s() const { return std::min(gather_, alone_.forward_s) / pieces_; }
  double overlapped_s() const { return passes_.exposed_s(all_s(), alone_.overlapped_s); }

  // What all passes of a micro-batch wait for.
  double micro_batch_s() const {
    if (layout_.schedule == PipelineSchedule::dualpipe) return overlapped_s();
    const double turns = real(layout_.chunks) - ahead() / real(layout_.micro_batches);
    return std::max(forward_s() + backward_s() + turns * turn_s(), least_s());
  }

 private:
  // What the passes of a chunk take longer where they alternate, than each by itself.
  double turn_s() const { return again_ > 0 && !splits_ ? turn_of_gathered_s() : turn_of_kept_s(); }

  double layers() const { return std::max(1.0, pieces_ / real(layout_.chunks)); }  // of a chunk
  // With virtual stages what the last rank sends goes around: a forward pass of the first rank
  // waits for one of the last rank that is p - 2 pairs of passes later in its order, and behind its
  // last pair the first rank has 2 (p - 1) backward passes more, which follow each other as their
  // exchanges do. So that is how much later than the last rank it may end, a part of it for every
  // rank; here beyond the length of the backward passes. Gradients of two layers are still to go
  // when a pass ends.
  double around_s() const {
    if (layout_.chunks == 1 || layout_.micro_batches <= layout_.pipeline) return 0;
    const double others = real(layout_.pipeline - 1);
    const double slower = passes_.both.products;
    const double both = alone_.forward_s + alone_.backward_s;
    const double pair = both + passes_.longer_s(all_s(), both);
    const double behind = reduce_ + again_;
    const double waits = passes_.exposed_s(behind, alone_.backward_s);
    const double backward = alone_.backward_s + passes_.longer_s(behind, alone_.backward_s);
    const double to_go = 2 / layers() * (behind - slower * alone_.backward_s);
    const double late =
        2 * others * backward - (others + 1) * pair + 2 * slower * alone_.forward_s - to_go;
    return late / others - (backward - waits);
  }
  // Forward passes that a rank does ahead of others: they lie in the bubble, unless gradients of
  // weights fill it.
  double ahead() const { return real(forwards_ahead(layout_, splits_ ? 0 : layout_.pipeline - 1)); }
  // Never less than what does not fit beside both passes. Beside those forward passes that come
  // before the first backward pass no gradients go: all others lie between two of as many backward
  // passes as there are micro-batches.
  double least_s() const {
    const double chunks = real(layout_.chunks);
    const double between = real(layout_.micro_batches) * chunks - ahead() - 1;
    const double part =
        std::clamp(between / (chunks * std::max(1.0, real(layout_.micro_batches - 1))), 0.0, 1.0);
    return (1 - part) * forward_s() +
           passes_.exposed_s(part * gather_ + reduce_ + again_,
                             part * alone_.forward_s + alone_.backward_s);
  }
  double inputs_s() const { return alone_.backward_s - alone_.weight_s; }
  double layer_s(double exchange_s, double pass_s) const {
    return passes_.exposed_s(exchange_s, pass_s) / pieces_;
  }

  // Weights of a layer come under the one before it, behind the gradients of the one before that:
  // those of the last layer of a backward pass are under the first of a forward pass.
  double turn_of_gathered_s() const {
    const double behind = reduce_ + again_;
    return layer_s(behind, alone_.forward_s) - layer_s(gather_, alone_.forward_s) +
           layer_s(again_, alone_.backward_s) - layer_s(behind, alone_.backward_s);
  }

  // A backward pass waits for gradients of the last layer but one only: those of two layers are
  // still to go when it ends, and weights of the next pass come behind them. The first weights of a
  // forward pass come long before it.
  double turn_of_kept_s() const {
    const double late = layer_s(reduce_, splits_ ? alone_.weight_s : alone_.backward_s);
    const double turn = -std::min(layers(), 2.0) * late;
    if (gather_ == 0) return turn;
    const double first = turn - layer_s(gather_, alone_.forward_s);
    if (!splits_ && layers() <= 1) return first;
    const double to_go = reduce_ + (layers() > 1 ? late * pieces_ : 0);
    return first + layer_s(to_go + gather_, alone_.forward_s) -
           layer_s(gather_, splits_ ? inputs_s() : alone_.forward_s);
  }

  const Layout& layout_;
  const PassesOfRank& passes_;
  const PassSeconds& alone_;
  double pieces_;
  bool splits_;
  double reduce_ = 0;
  double gather_ = 0;  // before forward passes
  double again_ = 0;   // before backward passes
};

// What remains of an exchange in pieces when all but the first piece to start (or the last to end)
// lies under the first (or last) pass of the layers, which takes `window_s`.
double exposed_in_pieces_s(const Layout& layout, double exchange_s, double window_s,
                           double pieces) {
  if (!layout.overlaps) return exchange_s;
  return std::max(exchange_s / pieces, exchange_s - window_s * (1 - 1 / pieces));
}

// The same of all virtual stages of a rank, one after the other: until the next one begins, a rank
// does this one's passes of as many micro-batches as there are ranks, and what it then sends goes
// around.
double exposed_by_chunks_s(const Layout& layout, double exchange_s, double window_s, double pieces,
                           double send_s) {
  if (!layout.overlaps || !goes_around(layout))
    return exposed_in_pieces_s(layout, exchange_s, window_s, pieces);
  const double chunks = real(layout.chunks);
  const double of_chunk = exposed_in_pieces_s(layout, exchange_s / chunks, window_s / chunks,
                                              std::max(1.0, pieces / chunks));
  const double passes = real(std::min(layout.pipeline, layout.micro_batches));
  const double turn_s = passes * (window_s / chunks + send_s);
  return std::max(of_chunk, of_chunk + (chunks - 1) * (exchange_s / chunks - turn_s));
}

}  // namespace

bool goes_around(const Layout& layout) {
  return layout.schedule == PipelineSchedule::one_f_one_b && layout.chunks > 1;
}

PassSeconds& PassSeconds::operator+=(const PassSeconds& other) {
  forward_s += other.forward_s;
  backward_s += other.backward_s;
  weight_s += other.weight_s;
  overlapped_s += other.overlapped_s;
  return *this;
}

double PassesOfRank::exposed_s(double exchange_s, double pass_s) const {
  return std::max(0.0, exchange_s - pass_s * both.products / both.exchange);
}

LongerPasses longer_passes(const Layout& layout, const StageExchange& exchange,
                           const PassesOfRank& passes) {
  if (layout.zero < 2 || exchange.reduce_s + exchange.gather_s <= 0) return {};
  const BesidePasses beside(layout, exchange, passes);
  const double micro_batch = beside.micro_batch_s();
  return {.ends = beside.ends(),
          .micro_batch_s = micro_batch,
          .hidden_s = std::max(0.0, beside.all_s() - micro_batch),
          .forward_waits_s = beside.forward_waits_s(),
          .backward_waits_s = beside.backward_waits_s(),
          .first_s = beside.first_s()};
}

DataTimes data_s(const Layout& layout, const StageExchange& exchange, const PassesOfRank& passes,
                 double send_s) {
  const double beside = passes.both.products / passes.both.exchange;
  // Of passes that overlap, what lies under the other one makes a step no longer.
  const bool overlap = layout.schedule == PipelineSchedule::dualpipe;
  const double forward = (passes.alone.forward_s - (overlap ? passes.forward_under_s : 0)) * beside;
  const double backward =
      (passes.alone.backward_s - (overlap ? passes.backward_under_s : 0)) * beside;
  const double reduce = exchange.reduce_s;
  const double gather = exchange.gather_s;
  const double pieces = pieces_of_rank(layout, exchange);
  // Gradients of weights go out under the passes that make them.
  const double reducing = splits_backward(layout) ? passes.alone.weight_s * beside : backward;
  const double ways = real(ways_of(layout));
  const auto once_s = [&](double exchange_s, double pass_s) {
    return exposed_by_chunks_s(layout, exchange_s, pass_s, pieces, send_s);
  };
  const auto each_s = [&](double exchange_s, double pass_s) {
    return exposed_in_pieces_s(layout, exchange_s / ways, pass_s, std::max(1.0, pieces / ways));
  };
  const auto parted = [](double exposed, double all) {
    return DataTimes{exposed, std::max(0.0, all - exposed)};
  };
  switch (layout.zero) {
    case 0:
      return parted(once_s(reduce, reducing), reduce);
    case 1:
      return parted(once_s(reduce, reducing) + once_s(gather, forward), reduce + gather);
    case 2:  // no whole gradients stay, so that every micro-batch has its exchange
      return parted(once_s(gather, forward) + each_s(reduce, reducing), gather + reduce / ways);
    default: {
      const double behind = reduce + (layout.keeps_weights ? 0 : gather);
      // Behind the gradients of the last layer no weights are to come, but for the other way's.
      const bool is_last = layout.schedule != PipelineSchedule::dualpipe;
      const double all_s = behind / ways - backward * (1 - 1 / std::max(1.0, pieces / ways));
      const double last = std::max(each_s(is_last ? reduce : behind, reducing), all_s);
      return parted(each_s(gather, forward) + last, (gather + behind) / ways);
    }
  }
}

}  // namespace sgdsim
