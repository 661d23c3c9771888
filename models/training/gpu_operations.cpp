// Collectives of a group are one operation of each member; keys and values travel beside the
// blocks of attention.
#include "models/training/gpu_operations.h"

#include <algorithm>

#include "models/training/expert_exchanges.h"
#include "models/training/modules_again.h"
#include "sim/core/cast.h"
#include "sim/core/error.h"
#include "sim/core/scaled.h"

namespace sgdsim {
namespace {

constexpr uint32_t joins = 2;  // a processor besides those of RankWriter, for what takes no time
constexpr std::size_t most_ends = 4;

}  // namespace

void GpuOperations::go_on_from(const Progress& progress) {
  at_ = progress;
  work_ = {};
  work_.before = progress.operations;
  computed_ = Duration();
}

void GpuOperations::join(Ends& ends) {
  if (ends.size() <= most_ends) return;
  const uint32_t joined = writer_.calc(joins, {});
  writer_.require(joined, ends);
  ends = {joined};
}

uint32_t GpuOperations::take(Ends& chain, Duration length) {
  join(chain);
  const uint32_t taken = writer_.calc(RankWriter::computes, length);
  writer_.require(taken, chain);
  chain = {taken};
  return taken;
}

void GpuOperations::compute(Ends& chain, double seconds) {
  if (seconds <= 0) return;
  const Duration length = scaled(Duration::nearest_ps(seconds * 1e12), factor_);
  computed_ += length;
  const uint32_t computed = take(chain, length);
  parts_.add(computing_, computed, size());
}

void GpuOperations::wait(Ends& chain, double seconds) {
  if (seconds > 0) take(chain, Duration::nearest_ps(seconds * 1e12));
}

uint32_t GpuOperations::tag(GroupKind kind, uint64_t number) const {
  const uint64_t tag = number * group_kinds + static_cast<uint64_t>(kind);
  if (tag >= RankOperation::any)
    throw InputError("layout", "it has more messages than can be told apart");
  return static_cast<uint32_t>(tag);
}

void GpuOperations::collective(Ends& chain, GroupKind kind, Operation operation, double whole_B) {
  const GpuGroups::Place& place = groups_[kind];
  if (place.group == nullptr || whole_B < 0.5) return;
  join(chain);
  const GroupPrograms::Parts parts = programs_.of(operation, *place.group, whole_B);
  const uint32_t number = at_.next_call[static_cast<std::size_t>(kind)]++;
  const std::size_t begin = size();
  Ends ends;
  for (std::size_t i = 0; i < parts.count; ++i) {
    ends.push_back(writer_.add(RankOperation::of(
        {place.group->rings[i], number, parts.program, place.group->number_in(i, place.member)})));
    writer_.require(ends.back(), chain);
  }
  parts_.add(part_of(kind, operation), begin, size());
  chain = ends;
}

void GpuOperations::message(Ends& chain, RankVerb verb, int64_t peer, double size_B, uint32_t tag) {
  const uint32_t one = writer_.add({.amount = Bytes::nearest(size_B).count(),
                                    .peer = static_cast<uint32_t>(peer),
                                    .tag = tag,
                                    .processor = RankWriter::exchanges,
                                    .verb = verb});
  writer_.require(one, chain);
  chain = {one};
}

// A gather before and a scatter behind what needs all of a tensor-parallel group, or an
// all-reduce behind it.
void GpuOperations::before_pair(Ends& chain) {
  if (layout_.sequence_parallel)
    collective(chain, GroupKind::tensor, Operation::allgather, activation_B(step_));
}
void GpuOperations::after_pair(Ends& chain) {
  collective(chain, GroupKind::tensor,
             layout_.sequence_parallel ? Operation::reduce_scatter : Operation::allreduce,
             activation_B(step_));
}

// Attention, with what context-parallel ranks exchange. Around a ring, keys and values of the
// next block travel beside the block, and on the way back their gradients with them.
void GpuOperations::attend(Ends& chain, LayerKind kind, double seconds, bool is_forward) {
  if (groups_[GroupKind::context].group == nullptr || !kind.attends())
    return compute(chain, seconds);
  const double keys_B = keys_and_values_B(step_, kind);
  if (layout_.context_by == ContextBy::gather) {
    if (is_forward)
      collective(chain, GroupKind::context, Operation::allgather, keys_B * real(layout_.context));
    compute(chain, seconds);
    if (!is_forward)
      collective(chain, GroupKind::context, Operation::reduce_scatter,
                 keys_B * real(layout_.context));
    return;
  }
  if (layout_.context_by == ContextBy::ulysses) {
    for (const double bytes : {queries_B(step_, kind), keys_B / 2, keys_B / 2})
      collective(chain, GroupKind::context, Operation::alltoall, bytes);
    compute(chain, seconds);
    return collective(chain, GroupKind::context, Operation::alltoall, attended_B(step_, kind));
  }
  attend_around(chain, seconds, is_forward ? keys_B : 2 * keys_B);
}

void GpuOperations::attend_around(Ends& chain, double seconds, double sent_B) {
  const GpuGroups::Place& ring = groups_[GroupKind::context];
  const auto blocks = static_cast<std::size_t>(ring.size());
  Ends held = chain;
  for (std::size_t block = 0; block < blocks; ++block) {
    Ends next = held;
    if (block + 1 < blocks) {
      const uint32_t round = tag(GroupKind::context, at_.next_round++);
      const std::size_t first = size();
      Ends sent = held;
      message(sent, RankVerb::send, ring.neighbour(1), sent_B, round);
      message(next, RankVerb::receive, ring.neighbour(blocks - 1), sent_B, round);
      add(next, sent);
      parts_.add(GpuPart::Kind::context, first, size());
    }
    add(chain, held);
    compute(chain, seconds / ring.size());
    held = next;
  }
}

// Tokens go to their experts, and what comes out comes back by the same ways; beside both, a part
// of the seconds may be computed.
void GpuOperations::visit_experts(Ends& chain, double seconds, const PassTimes& times) {
  const double under_out = std::min(times.under_out, seconds);
  const double under_back = std::min(times.under_back, seconds - under_out);
  Ends computed = chain;
  compute(computed, under_out);
  const ExpertExchanges exchanges = expert_exchanges(step_, programs_.per_node());
  const auto& [first, second] = exchanges.all;
  Ends beside = chain;
  Ends& other = exchanges.at_once ? beside : chain;
  collective(chain, first.kind, first.out, first.out_B);
  collective(other, second.kind, second.out, second.out_B);
  if (exchanges.at_once) add(chain, beside);
  if (under_out > 0) add(chain, computed);
  compute(chain, seconds - under_out - under_back);
  computed = chain;
  compute(computed, under_back);
  beside = chain;
  collective(other, second.kind, second.back, second.back_B);
  collective(chain, first.kind, first.back, first.back_B);
  if (exchanges.at_once) add(chain, beside);
  if (under_back > 0) add(chain, computed);
}

// Of modules that the backward pass computes again; what they compute lies with the rest of it.
void GpuOperations::exchange_again(Ends& chain, LayerKind kind) {
  const ExchangesAgain again = exchanges_again(step_, kind);
  if (again.tensor_pairs > 0) {
    before_pair(chain);
    after_pair(chain);
  }
  if (again.visits_experts) visit_experts(chain, 0, {});
}

// What mixes positions, and what follows it; side by side, both lie in one pair.
void GpuOperations::layer(Ends& chain, LayerKind kind, const PassTimes& times, double computed_s,
                          bool is_forward) {
  if (!is_forward) exchange_again(chain, kind);
  const bool is_single = kind.mixing == Mixing::none || kind.mlp == Mlp::none;
  const double part_s = is_single ? computed_s : computed_s / 2;
  double pairs = tensor_pairs(step_, kind);
  if (kind.mixing != Mixing::none) {
    before_pair(chain);
    compute(chain, part_s);
    attend(chain, kind, times.attention, is_forward);
    if (!step_.model.parallel) after_pair(chain);
    pairs -= 1;
  }
  const bool has_second = pairs > 0;
  if (has_second) before_pair(chain);
  if (kind.has_experts())
    visit_experts(chain, part_s, times);
  else if (kind.mlp == Mlp::dense)
    compute(chain, part_s);
  if (has_second || step_.model.parallel) after_pair(chain);
}

void GpuOperations::times(Ends& chain, const StagePlan::Item& item, const PassTimes& times,
                          bool with_weights, bool is_forward) {
  const double products = times.products - (with_weights ? 0 : times.weight_products);
  const double computed_s = products + times.element_wise;
  if (item.is_head) return compute(chain, computed_s);
  layer(chain, item.kind, times, computed_s, is_forward);
}

void GpuOperations::item(Ends& chain, const StagePlan::Item& item, Pass pass) {
  switch (pass) {
    case Pass::forward:
      times(chain, item, item.forward, true, true);
      return wait(chain, item.forward_wait_s);
    case Pass::weights:
      return compute(chain, item.backward.weight_products);
    case Pass::backward:
    case Pass::inputs:
    case Pass::both:
      if (item.is_recomputed) times(chain, item, item.forward, true, true);
      times(chain, item, item.backward, pass != Pass::inputs, false);
      return wait(chain, item.backward_wait_s);
  }
}

}  // namespace sgdsim
