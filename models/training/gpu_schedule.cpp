// GPU by GPU, pass by pass. What an operation waits for are ends of others: a few at most.
#include "models/training/gpu_schedule.h"

#include <array>
#include <optional>

#include "models/collective/rank_writer.h"
#include "models/training/gpu_groups.h"
#include "models/training/stage_plan.h"
#include "sim/core/cast.h"
#include "sim/core/error.h"
#include "sim/core/scaled.h"

namespace sgdsim {
namespace {

using Ends = std::vector<uint32_t>;

constexpr uint32_t joins = 2;  // a processor besides those of RankWriter, for what takes no time
constexpr std::size_t most_ends = 4;

std::size_t most_operations(bool wants_parts) {
  return wants_parts ? most_shown_operations : most_gpu_operations;
}

class GpuWriter {
 public:
  GpuWriter(const TrainingStep& step, const GpuGroups::OfGpu& groups, GroupPrograms& programs,
            const StagePlan& plan, int64_t gpu, const GpuScheduleOptions& options)
      : step_(step),
        layout_(step.layout),
        programs_(programs),
        plan_(plan),
        options_(options),
        groups_(groups),
        of_stage_(layout_.gpus() / layout_.pipeline),
        gpu_(gpu),
        stage_(gpu / of_stage_),
        writer_(work_),
        parts_(options.wants_parts),
        gathered_(plan.chunks.size()),
        gradients_of_(plan.chunks.size()) {}

  Duration computed() const { return computed_; }
  std::vector<GpuPart> take_parts(uint32_t others) { return parts_.take(others); }
  // All operations of the GPU; no more than `most`.
  RankWork& write(std::size_t most) {
    if (layout_.zero == 1 || layout_.zero == 2) gather_all();
    for (place_ = 0; place_ < plan_.slots.size(); ++place_) {
      factor_ = options_.slowness ? options_.slowness(gpu_) : 1;
      write_slot(plan_.slots[place_]);
      if (work_.operations.size() > most)
        throw InputError(
            "layout", "it has more than " + std::to_string(most_operations(options_.wants_parts)) +
                          " operations, the most that are " +
                          (options_.wants_parts ? "shown" : "simulated") +
                          "; fewer GPUs or micro-batches, or fidelity message, would fit");
    }
    factor_ = 1;
    finish();
    return work_;
  }

 private:
  using Kind = StagePlan::Item::Kind;

  // ---- what follows what

  static void add(Ends& to, const Ends& more) { to.insert(to.end(), more.begin(), more.end()); }
  // So many that nobody waits for more than a few.
  void join(Ends& ends) {
    if (ends.size() <= most_ends) return;
    const uint32_t joined = writer_.calc(joins, {});
    writer_.require(joined, ends);
    ends = {joined};
  }
  void compute(Ends& chain, double seconds) {
    if (seconds <= 0) return;
    join(chain);
    const Duration length = scaled(Duration::nearest_ps(seconds * 1e12), factor_);
    computed_ += length;
    const uint32_t computed = writer_.calc(RankWriter::computes, length);
    writer_.require(computed, chain);
    parts_.add(computing_, computed, work_.operations.size());
    chain = {computed};
  }
  // Tags of one kind follow each other; both ends take as many.
  uint32_t tag(GroupKind kind, uint64_t number) const {
    const uint64_t tag = number * group_kinds + static_cast<uint64_t>(kind);
    if (tag >= RankOperation::any)
      throw InputError("layout", "it has more messages than can be told apart");
    return static_cast<uint32_t>(tag);
  }
  void collective(Ends& chain, GroupKind kind, Operation operation, double whole_B) {
    const GpuGroups::Place& place = groups_[kind];
    if (place.group == nullptr || whole_B < 0.5) return;
    join(chain);
    const GroupPrograms::Parts parts = programs_.of(operation, *place.group, whole_B);
    const uint32_t number = next_call_[static_cast<std::size_t>(kind)]++;
    const std::size_t begin = work_.operations.size();
    Ends ends;
    for (std::size_t i = 0; i < parts.count; ++i) {
      ends.push_back(writer_.add(RankOperation::of({place.group->rings[i], number, parts.program,
                                                    place.group->number_in(i, place.member)})));
      writer_.require(ends.back(), chain);
    }
    parts_.add(part_of(kind, operation), begin, work_.operations.size());
    chain = ends;
  }
  void message(Ends& chain, RankVerb verb, int64_t peer, double size_B, uint32_t tag) {
    const uint32_t one = writer_.add({.amount = Bytes::nearest(size_B).count(),
                                      .peer = static_cast<uint32_t>(peer),
                                      .tag = tag,
                                      .processor = RankWriter::exchanges,
                                      .verb = verb});
    writer_.require(one, chain);
    chain = {one};
  }

  // ---- inside a layer

  // A gather before and a scatter behind what needs all of a tensor-parallel group, or an
  // all-reduce behind it.
  void before_pair(Ends& chain) {
    if (layout_.sequence_parallel)
      collective(chain, GroupKind::tensor, Operation::allgather, activation_B(step_));
  }
  void after_pair(Ends& chain) {
    collective(chain, GroupKind::tensor,
               layout_.sequence_parallel ? Operation::reduce_scatter : Operation::allreduce,
               activation_B(step_));
  }
  // Attention, with what context-parallel ranks exchange. Around a ring, keys and values of the
  // next block travel beside the block, and on the way back their gradients with them.
  void attend(Ends& chain, double seconds, bool is_forward) {
    if (groups_[GroupKind::context].group == nullptr) return compute(chain, seconds);
    const double keys_B = keys_and_values_B(step_);
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
      for (const double bytes : {queries_B(step_), keys_B / 2, keys_B / 2})
        collective(chain, GroupKind::context, Operation::alltoall, bytes);
      compute(chain, seconds);
      return collective(chain, GroupKind::context, Operation::alltoall, attended_B(step_));
    }
    attend_around(chain, seconds, is_forward ? keys_B : 2 * keys_B);
  }
  void attend_around(Ends& chain, double seconds, double sent_B) {
    const GpuGroups::Place& ring = groups_[GroupKind::context];
    const auto blocks = static_cast<std::size_t>(ring.size());
    Ends held = chain;
    for (std::size_t block = 0; block < blocks; ++block) {
      Ends next = held;
      if (block + 1 < blocks) {
        const uint32_t round = tag(GroupKind::context, next_round_++);
        const std::size_t first = work_.operations.size();
        Ends sent = held;
        message(sent, RankVerb::send, ring.neighbour(1), sent_B, round);
        message(next, RankVerb::receive, ring.neighbour(blocks - 1), sent_B, round);
        add(next, sent);
        parts_.add(GpuPart::Kind::context, first, work_.operations.size());
      }
      add(chain, held);
      compute(chain, seconds / ring.size());
      held = next;
    }
  }
  // Tokens go to their experts and come back.
  void visit_experts(Ends& chain, double seconds) {
    collective(chain, GroupKind::experts, Operation::alltoall, dispatched_B(step_));
    compute(chain, seconds);
    collective(chain, GroupKind::experts, Operation::alltoall, combined_B(step_));
  }
  void write_layer(Ends& chain, Kind kind, const PassTimes& times, bool with_weights,
                   bool is_forward) {
    const double products = times.products - (with_weights ? 0 : times.weight_products);
    const double half = (products + times.element_wise) / 2;
    if (kind == Kind::head) {
      compute(chain, 2 * half);
      return;
    }
    before_pair(chain);
    compute(chain, half);
    attend(chain, times.attention, is_forward);
    after_pair(chain);
    const bool has_second = tensor_pairs(step_, kind == Kind::experts) > 1;
    if (has_second) before_pair(chain);
    if (kind == Kind::experts)
      visit_experts(chain, half);
    else
      compute(chain, half);
    if (has_second) after_pair(chain);
  }
  void write_item(Ends& chain, const StagePlan::Item& item, Pass pass) {
    switch (pass) {
      case Pass::forward:
        return write_layer(chain, item.kind, item.forward, true, true);
      case Pass::weights:
        return compute(chain, item.backward.weight_products);
      case Pass::backward:
      case Pass::inputs:
      case Pass::both:
        if (item.is_recomputed) write_layer(chain, item.kind, item.forward, true, true);
        return write_layer(chain, item.kind, item.backward, pass != Pass::inputs, false);
    }
  }

  // ---- exchanges between replicas, one after the other

  bool has_replicas() const {
    return groups_[GroupKind::shards].size() > 1 || groups_[GroupKind::expert_shards].size() > 1 ||
           layout_.shard_copies > 1;
  }
  // So many bytes of each parameter; gradients go to the copies of the shards as well.
  Ends on_stream(const Ends& ready, Operation operation, double bytes_of_parameter) {
    Ends last = stream_;
    add(last, ready);
    const double pieces = real(plan_.pieces) * real(static_cast<int64_t>(plan_.chunks.size()));
    const auto exchange = [&](GroupKind shards, GroupKind copies, double parameters) {
      const double bytes = bytes_of_parameter * parameters / pieces;
      collective(last, shards, operation, bytes);
      if (operation != Operation::allgather)
        collective(last, copies, Operation::allreduce, bytes / groups_[shards].size());
    };
    exchange(GroupKind::shards, GroupKind::shard_copies, plan_.parameters.outside_experts());
    exchange(GroupKind::expert_shards, GroupKind::expert_copies, plan_.parameters.experts);
    return stream_ = last;
  }
  Ends gather(const Ends& ready) { return on_stream(ready, Operation::allgather, 2); }
  Ends reduce(const Ends& ready) {
    return on_stream(ready, layout_.zero == 0 ? Operation::allreduce : Operation::reduce_scatter,
                     layout_.gradient_B());
  }
  // Weights of all chunks, in the order in which they are needed.
  void gather_all() {
    if (!has_replicas()) return;
    for (const PassSlot& slot : plan_.slots)
      if (slot.has_forward() && slot.micro_batch == 0)
        for (int64_t piece = 0; piece < plan_.pieces; ++piece)
          gathered_[at(slot.chunk)].push_back(gather({}));
    if (!layout_.overlaps) now_ = stream_;
  }

  // ---- passes

  int64_t partner(const PassPlace& place) const {
    return place.rank * of_stage_ + gpu_ % of_stage_;
  }
  uint32_t tag_to(GroupKind kind, WayPosition to, int64_t micro_batch) const {
    const int64_t column = to.way * way_length(layout_) + to.position;
    return tag(kind, static_cast<uint64_t>(column * micro_batches_of_way(layout_) + micro_batch));
  }
  void receive(Ends& chain, GroupKind kind, int64_t chunk, int64_t micro_batch) {
    const WayPosition here = position_of(layout_, {stage_, chunk});
    const int64_t from = here.position + (kind == GroupKind::forward ? -1 : 1);
    if (from < 0 || from >= way_length(layout_)) return;
    const PassPlace place = place_on_way(layout_, here.way, from);
    if (place.rank == stage_) return;
    Ends received = chain;
    message(received, RankVerb::receive, partner(place), boundary_B(step_),
            tag_to(kind, here, micro_batch));
    parts_.add(GpuPart::Kind::receive, received.front(), work_.operations.size());
    add(chain, received);
    if (layout_.splits_sends)
      collective(chain, GroupKind::tensor, Operation::allgather, activation_B(step_));
  }
  void send(Ends& chain, GroupKind kind, int64_t chunk, int64_t micro_batch) {
    const WayPosition here = position_of(layout_, {stage_, chunk});
    const int64_t to = here.position + (kind == GroupKind::forward ? 1 : -1);
    if (to < 0 || to >= way_length(layout_)) return;
    const PassPlace place = place_on_way(layout_, here.way, to);
    if (place.rank == stage_) return;
    Ends& sent = sent_[kind == GroupKind::forward ? 0 : 1];
    add(sent, chain);
    join(sent);
    message(sent, RankVerb::send, partner(place), boundary_B(step_),
            tag_to(kind, {here.way, to}, micro_batch));
    parts_.add(GpuPart::Kind::send, sent.front(), work_.operations.size());
    if (sends_keep_rank(layout_)) add(chain, sent);
  }

  void write_slot(const PassSlot& slot) {
    if (slot.pass != Pass::both) {
      now_ = write_pass(slot, slot.pass);
      return;
    }
    // One is computed while the other exchanges.
    PassSlot first = slot;
    first.pass = Pass::forward;
    const PassSlot second{Pass::backward, slot.backward_chunk, slot.backward_micro_batch, 0, 0};
    Ends ends = write_pass(first, Pass::forward);
    add(ends, write_pass(second, Pass::backward));
    now_ = ends;
  }
  Ends write_pass(const PassSlot& slot, Pass pass) {
    Ends chain = now_;
    parts_.begin_pass(pass, slot.chunk, slot.micro_batch);
    const bool is_forward = pass == Pass::forward;
    if (pass != Pass::weights)
      receive(chain, is_forward ? GroupKind::forward : GroupKind::backward, slot.chunk,
              slot.micro_batch);
    write_items(chain, slot, pass);
    if (pass != Pass::weights)
      send(chain, is_forward ? GroupKind::forward : GroupKind::backward, slot.chunk,
           slot.micro_batch);
    return chain;
  }
  void write_items(Ends& chain, const PassSlot& slot, Pass pass) {
    const auto& items = plan_.chunks[at(slot.chunk)];
    const bool by_layers = layout_.zero >= 2 && pass != Pass::weights && has_replicas();
    const bool fetches =
        by_layers && layout_.zero == 3 && (pass == Pass::forward || !layout_.keeps_weights);
    const bool ends_gradients = pass == Pass::backward || pass == Pass::weights;
    const bool reduces = by_layers && ends_gradients;
    const bool is_last_gradient =
        ends_gradients && ++gradients_of_[at(slot.chunk)] == micro_batches_of_way(layout_);
    const bool hands_out = is_last_gradient && !reduces && has_replicas() && layout_.overlaps;
    const auto& gathered = gathered_[at(slot.chunk)];
    const bool needs_weights = pass == Pass::forward && slot.micro_batch == 0 && !gathered.empty();
    if (fetches && fetched_.empty()) fetched_ = gather(chain);
    const bool has_head = !items.empty() && items.back().kind == Kind::head;
    const auto layers = static_cast<int64_t>(items.size()) - (has_head ? 1 : 0);
    const int64_t pieces = plan_.pieces;
    if (has_head && pass != Pass::forward) write_item(chain, items.back(), pass);
    int64_t begin = 0;
    for (int64_t piece = 0; piece < pieces; ++piece) {
      if (needs_weights) add(chain, gathered[at(piece)]);
      if (fetches) add(chain, fetched_);
      if (reduces) add(chain, reduced_before_);
      join(chain);
      const bool is_last = piece + 1 == pieces && place_ >= plan_.last_fetch;
      if (fetches && !is_last) fetched_ = gather(chain);
      // A layer begins with the last piece of its weights, and ends before the first of its
      // gradients.
      const int64_t rounding = pass == Pass::forward ? 0 : pieces - 1;
      const int64_t end = ((piece + 1) * layers + rounding) / pieces;
      for (; begin < end; ++begin)
        write_item(chain, items[at(pass == Pass::forward ? begin : layers - 1 - begin)], pass);
      if (reduces) {
        reduced_before_ = reduced_;
        reduced_ = reduce(chain);
      }
      if (hands_out) reduce(chain);
    }
    if (has_head && pass == Pass::forward) write_item(chain, items.back(), pass);
  }

  void finish() {
    if (!layout_.overlaps && layout_.zero < 2 && has_replicas()) {
      const int64_t pieces = plan_.pieces * static_cast<int64_t>(plan_.chunks.size());
      for (int64_t piece = 0; piece < pieces; ++piece) reduce(now_);
    }
    Ends end = now_;
    add(end, stream_);
    collective(end, GroupKind::ends, Operation::allreduce, plan_.tied_B);
    for (const double bytes : plan_.copies_B)
      collective(end, GroupKind::copies, Operation::allreduce, bytes);
    computing_ = GpuPart::Kind::optimizer;
    compute(end, plan_.optimizer_s);
  }

  const TrainingStep& step_;
  const Layout& layout_;
  GroupPrograms& programs_;
  const StagePlan& plan_;
  const GpuScheduleOptions& options_;
  const GpuGroups::OfGpu groups_;
  int64_t of_stage_;
  int64_t gpu_;
  int64_t stage_;
  RankWork work_;
  RankWriter writer_;
  std::size_t place_ = 0;  // of the present slot
  double factor_ = 1;
  Duration computed_;
  GpuPart::Kind computing_ = GpuPart::Kind::compute;
  GpuParts parts_;
  Ends now_;     // of the last pass
  Ends stream_;  // of the last exchange between replicas
  std::array<Ends, 2> sent_;
  std::array<uint32_t, group_kinds> next_call_{};
  uint64_t next_round_ = 0;                  // of blocks of attention
  std::vector<std::vector<Ends>> gathered_;  // of each chunk, piece by piece
  std::vector<int64_t> gradients_of_;        // of each chunk, micro-batches
  Ends fetched_;                             // weights of the next layer
  Ends reduced_;                             // gradients of the last layer, and of the one before
  Ends reduced_before_;
};

}  // namespace

GpuSchedule gpu_schedule(const TrainingStep& step, const Cluster& cluster, GroupTimes& groups,
                         const GpuScheduleOptions& options) {
  const Layout& layout = step.layout;
  if (layout.schedule == PipelineSchedule::dualpipe && layout.zero >= 2)
    throw InputError("layout", "fidelity flow is not defined for dualpipe with zero2 or zero3");
  const int64_t of_stage = layout.gpus() / layout.pipeline;
  StagePlans plans(step, groups);
  GpuSchedule all{RankSchedule(static_cast<uint32_t>(layout.gpus())), {}, {}};
  const std::size_t most = most_operations(options.wants_parts);
  RankSchedule& schedule = all.schedule;
  GroupPrograms programs(cluster.network, groups, schedule);
  GpuGroups groups_of(layout, cluster.workers_per_node, schedule);
  std::optional<StagePlan> plan;
  for (int64_t gpu = 0; gpu < layout.gpus(); ++gpu) {
    look(options.stopper);
    if (gpu % of_stage == 0) plan = plans.stage(gpu / of_stage);
    GpuWriter writer(step, groups_of.of(gpu), programs, *plan, gpu, options);
    // All GPUs of a stage have about as many.
    const auto left = static_cast<std::size_t>(of_stage - gpu % of_stage);
    const auto before = static_cast<uint32_t>(schedule.operations().size());
    RankWork& work = writer.write((most - before) / left);
    schedule.write(static_cast<uint32_t>(gpu), work.operations, work.requirements);
    all.computed.push_back(writer.computed());
    if (options.wants_parts) all.parts.push_back(writer.take_parts(before));
  }
  return all;
}

}  // namespace sgdsim
