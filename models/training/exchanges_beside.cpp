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

  double forward_s() const { return passes_.exposed_s(gather_, alone_.forward_s); }
  double weight_s() const { return passes_.exposed_s(reduce_, alone_.weight_s); }
  double backward_s() const {
    return splits_ ? passes_.exposed_s(again_, inputs_s()) + weight_s()
                   : passes_.exposed_s(reduce_ + again_, alone_.backward_s);
  }
  // Until the inputs' gradients can go on to the next stage: those of the last two layers' weights
  // are still to go then.
  double backward_latency_s() const {
    const double chunks = real(layout_.chunks);
    // Gradients of the next micro-batches are on the way then, too.
    const bool is_busy = gather_ == 0 && chunks > 1 && layout_.micro_batches > layout_.pipeline;
    if (splits_ || is_busy || layout_.schedule == PipelineSchedule::dualpipe) return backward_s();
    const double behind = layer_s(reduce_ + again_, alone_.backward_s);
    const double first = layers() > 1 ? layer_s(again_, alone_.backward_s) : 0;
    return chunks * (first + std::max(0.0, layers() - 2) * behind);
  }
  // Of an exchange that is still to go at the end of a pass, what the next pass waits for.
  double forward_waits_s() const { return layer_s(gather_, alone_.forward_s); }
  double backward_waits_s() const {
    const double late = again_ > 0 ? layer_s(2 * reduce_ + again_, alone_.backward_s)
                                   : std::min(layers(), 2.0) * layer_s(reduce_, alone_.backward_s);
    return std::min(late, backward_s() / real(layout_.chunks));
  }
  double first_s() const { return std::min(gather_, alone_.forward_s) / pieces_; }
  double overlapped_s() const {
    return passes_.exposed_s(gather_ + reduce_ + again_, alone_.overlapped_s);
  }
  // Never less than what does not fit beside both passes.
  double least_s() const {
    return passes_.exposed_s(gather_ + reduce_ + again_, alone_.forward_s + alone_.backward_s);
  }

  // What the passes of a chunk take longer where they alternate, than each by itself.
  double turn_s() const { return again_ > 0 && !splits_ ? turn_of_gathered_s() : turn_of_kept_s(); }

 private:
  double layers() const { return std::max(1.0, pieces_ / real(layout_.chunks)); }  // of a chunk
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
  if (layout.zero < 2) return {};
  const BesidePasses beside(layout, exchange, passes);
  LongerPasses longer{.ends = {.forward_s = beside.forward_s(),
                               .backward_s = beside.backward_latency_s(),
                               .weight_s = beside.weight_s(),
                               .overlapped_s = beside.overlapped_s()},
                      .micro_batch_s = 0,
                      .forward_waits_s = beside.forward_waits_s(),
                      .backward_waits_s = beside.backward_waits_s(),
                      .first_s = beside.first_s()};
  if (layout.schedule == PipelineSchedule::dualpipe) {
    longer.micro_batch_s = longer.ends.overlapped_s;
    return longer;
  }
  const double chunks = real(layout.chunks);
  // Passes that a rank does ahead of others lie in the bubble, unless gradients of weights fill it.
  const int64_t rank = splits_backward(layout) ? 0 : layout.pipeline - 1;
  const double alone = real(forwards_ahead(layout, rank)) / (real(layout.micro_batches) * chunks);
  longer.micro_batch_s =
      std::max(beside.forward_s() + beside.backward_s() + (1 - alone) * chunks * beside.turn_s(),
               beside.least_s());
  return longer;
}

DataTimes data_s(const Layout& layout, const StageExchange& exchange, const PassesOfRank& passes,
                 double send_s) {
  const double beside = passes.both.products / passes.both.exchange;
  const double forward = passes.alone.forward_s * beside;
  const double backward = passes.alone.backward_s * beside;
  const double reduce = exchange.reduce_s;
  const double gather = exchange.gather_s;
  const double pieces = pieces_of_rank(layout, exchange);
  // Gradients of weights go out under the passes that make them.
  const double reducing = splits_backward(layout) ? passes.alone.weight_s * beside : backward;
  const double count = real(micro_batches_of_way(layout));  // passes of each layer
  const double ways = real(ways_of(layout));
  const auto once_s = [&](double exchange_s, double pass_s) {
    return exposed_by_chunks_s(layout, exchange_s, pass_s, pieces, send_s);
  };
  const auto each_s = [&](double exchange_s, double pass_s) {
    return exposed_in_pieces_s(layout, exchange_s / ways, pass_s, std::max(1.0, pieces / ways));
  };
  switch (layout.zero) {
    case 0:
      return {once_s(reduce, reducing), reduce};
    case 1:
      return {once_s(reduce, reducing) + once_s(gather, forward), reduce + gather};
    case 2:  // no whole gradients stay, so that every micro-batch has its exchange
      return {once_s(gather, forward) + each_s(reduce, reducing), gather + count * reduce};
    default: {
      const double behind = reduce + (layout.keeps_weights ? 0 : gather);
      // Behind the gradients of the last layer no weights are to come, but for the other way's.
      const bool is_last = layout.schedule != PipelineSchedule::dualpipe;
      const double all_s = behind / ways - backward * (1 - 1 / std::max(1.0, pieces / ways));
      const double last = std::max(each_s(is_last ? reduce : behind, reducing), all_s);
      return {each_s(gather, forward) + last, count * (gather + behind)};
    }
  }
}

}  // namespace sgdsim
