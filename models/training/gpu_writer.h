// What one GPU does in a step, pass by pass. What an operation waits for are ends of others: a few
// at most.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "models/training/gpu_groups.h"
#include "models/training/gpu_operations.h"
#include "models/training/gpu_schedule.h"
#include "models/training/stage_plan.h"
#include "sim/core/cast.h"
#include "sim/core/error.h"

namespace sgdsim {

inline std::size_t most_operations(bool wants_parts) {
  return wants_parts ? most_shown_operations : most_gpu_operations;
}
[[noreturn]] inline void refuse_operations(bool wants_parts) {
  throw InputError("layout", "it has more than " + std::to_string(most_operations(wants_parts)) +
                                 " operations, the most that are " +
                                 (wants_parts ? "shown" : "simulated") +
                                 "; fewer GPUs or micro-batches, or fidelity message, would fit");
}

// How far a GPU has come with its passes, as what ends of operations others wait for.
struct GpuProgress {
  std::size_t place_ = 0;  // of the present slot
  Ends now_;               // of the last pass
  Ends stream_;            // of the last exchange between replicas
  std::array<Ends, 2> sent_;
  std::vector<std::vector<Ends>> gathered_;  // of each chunk, piece by piece
  std::vector<int64_t> gradients_of_;        // of each chunk, micro-batches
  Ends fetched_;                             // weights of the next layer
  Ends reduced_;                             // gradients of the last layer, and of the one before
  Ends reduced_before_;
};

class GpuWriter : private GpuProgress {
 public:
  struct Progress {
    GpuProgress passes;
    GpuOperations::Progress operations;
  };

  GpuWriter(const TrainingStep& step, const GpuGroups::OfGpu& groups, GroupPrograms& programs,
            const StagePlan& plan, int64_t gpu, double slowness, const GpuScheduleOptions& options)
      : step_(step),
        layout_(step.layout),
        plan_(plan),
        options_(options),
        of_stage_(layout_.gpus() / layout_.pipeline),
        gpu_(gpu),
        slowness_(slowness),
        stage_(gpu / of_stage_),
        does_(step, groups, programs, options.wants_parts) {
    gathered_.resize(plan.chunks.size());
    gradients_of_.resize(plan.chunks.size());
  }

  Duration computed() const { return does_.computed(); }
  std::vector<GpuPart> take_parts(uint32_t others) { return does_.parts().take(others); }
  // All operations of the GPU; no more than `most`.
  RankWork& write(std::size_t most) {
    write_gathers();
    return write_rest(most);
  }
  void write_gathers() {
    if (layout_.zero == 1 || layout_.zero == 2) gather_all();
  }
  // Until before the first slot in which replicas exchange something.
  void write_alone() {
    const int64_t micro_batches = micro_batches_of_way(layout_);
    for (; place_ < plan_.slots.size(); ++place_) {
      const PassSlot& slot = plan_.slots[place_];
      const bool is_last = slot.has_weights() && gradients_of_[at(slot.chunk)] + 1 == micro_batches;
      if (is_last && has_replicas() && layout_.overlaps) return;
      write_slot(slot);
    }
  }
  RankWork& write_rest(std::size_t most) {
    for (; place_ < plan_.slots.size(); ++place_) {
      does_.set_slowness(slowness_ * (options_.slowness ? options_.slowness(gpu_) : 1));
      write_slot(plan_.slots[place_]);
      if (does_.work().operations.size() > most) refuse_operations(options_.wants_parts);
    }
    does_.set_slowness(1);
    finish();
    return does_.work();
  }
  Progress progress() const { return {*this, does_.progress()}; }
  void go_on_from(const Progress& progress) {
    static_cast<GpuProgress&>(*this) = progress.passes;
    does_.go_on_from(progress.operations);
  }

 private:
  // ---- exchanges between replicas, one after the other

  bool has_replicas() const {
    return does_.groups()[GroupKind::shards].size() > 1 ||
           does_.groups()[GroupKind::expert_shards].size() > 1 || layout_.shard_copies > 1;
  }
  // Of what is shared, so many bytes; gradients go to the copies of the shards as well.
  template <class BytesOf>
  Ends on_stream(const Ends& ready, Operation operation, const BytesOf& bytes_of) {
    Ends last = stream_;
    add(last, ready);
    const double pieces = real(plan_.pieces) * real(static_cast<int64_t>(plan_.chunks.size()));
    const auto exchange = [&](GroupKind shards, GroupKind copies, const Replicas& replicas) {
      const double bytes = bytes_of(replicas) / pieces;
      does_.collective(last, shards, operation, bytes);
      if (operation != Operation::allgather)
        does_.collective(last, copies, Operation::allreduce, bytes / does_.groups()[shards].size());
    };
    exchange(GroupKind::shards, GroupKind::shard_copies, plan_.replicas[0]);
    exchange(GroupKind::expert_shards, GroupKind::expert_copies, plan_.replicas[1]);
    return stream_ = last;
  }
  double gradients_B(const Replicas& replicas) const {
    return layout_.gradient_B() * replicas.parameters;
  }
  Ends gather(const Ends& ready) {
    return on_stream(ready, Operation::allgather,
                     [](const Replicas& replicas) { return replicas.gathered_B(); });
  }
  Ends reduce(const Ends& ready) {
    return on_stream(ready,
                     layout_.reduces_to_shards() ? Operation::reduce_scatter : Operation::allreduce,
                     [&](const Replicas& replicas) { return gradients_B(replicas); });
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

  // ---- from stage to stage

  int64_t partner(const PassPlace& place) const {
    return place.rank * of_stage_ + gpu_ % of_stage_;
  }
  uint32_t tag_to(GroupKind kind, WayPosition to, int64_t micro_batch) const {
    const int64_t column = to.way * way_length(layout_) + to.position;
    return does_.tag(kind,
                     static_cast<uint64_t>(column * micro_batches_of_way(layout_) + micro_batch));
  }
  void receive(Ends& chain, GroupKind kind, int64_t chunk, int64_t micro_batch) {
    const WayPosition here = position_of(layout_, {stage_, chunk});
    const int64_t from = here.position + (kind == GroupKind::forward ? -1 : 1);
    if (from < 0 || from >= way_length(layout_)) return;
    const PassPlace place = place_on_way(layout_, here.way, from);
    if (place.rank == stage_) return;
    Ends received = chain;
    does_.message(received, RankVerb::receive, partner(place), boundary_B(step_),
                  tag_to(kind, here, micro_batch));
    does_.parts().add(GpuPart::Kind::receive, received.front(), does_.size());
    add(chain, received);
    if (layout_.splits_sends)
      does_.collective(chain, GroupKind::tensor, Operation::allgather, activation_B(step_));
  }
  void send(Ends& chain, GroupKind kind, int64_t chunk, int64_t micro_batch) {
    const WayPosition here = position_of(layout_, {stage_, chunk});
    const int64_t to = here.position + (kind == GroupKind::forward ? 1 : -1);
    if (to < 0 || to >= way_length(layout_)) return;
    const PassPlace place = place_on_way(layout_, here.way, to);
    if (place.rank == stage_) return;
    Ends& sent = sent_[kind == GroupKind::forward ? 0 : 1];
    add(sent, chain);
    does_.join(sent);
    does_.message(sent, RankVerb::send, partner(place), boundary_B(step_),
                  tag_to(kind, {here.way, to}, micro_batch));
    does_.parts().add(GpuPart::Kind::send, sent.front(), does_.size());
    if (sends_keep_rank(layout_)) add(chain, sent);
  }

  // ---- passes

  // A pass on its way through the layers of its chunk.
  struct Walk {
    Pass pass = Pass::forward;
    int64_t chunk = 0;
    int64_t micro_batch = 0;
    Ends chain = {};
    int64_t begun = 0;       // layers
    bool hands_out = false;  // gradients, after the last micro-batch

    bool is_forward() const { return pass == Pass::forward; }
    bool ends_gradients() const { return pass == Pass::backward || pass == Pass::weights; }
    GroupKind way() const { return is_forward() ? GroupKind::forward : GroupKind::backward; }
  };

  bool exchanges_by_layers() const { return layout_.zero >= 2 && has_replicas(); }
  bool fetches(const Walk& walk) const {
    return layout_.zero == 3 && has_replicas() && walk.pass != Pass::weights &&
           (walk.is_forward() || !layout_.keeps_weights);
  }
  bool reduces(const Walk& walk) const { return walk.ends_gradients() && exchanges_by_layers(); }

  void write_slot(const PassSlot& slot) {
    Walk first{slot.pass, slot.chunk, slot.micro_batch};
    if (slot.pass != Pass::both) {
      write_passes({&first, 1});
      now_ = first.chain;
      return;
    }
    // One is computed while the other exchanges; layers that wait for weights take turns.
    std::array<Walk, 2> both{first,
                             {Pass::backward, slot.backward_chunk, slot.backward_micro_batch}};
    both[0].pass = Pass::forward;
    if (exchanges_by_layers()) {
      write_passes(both);
    } else {
      write_passes({&both[0], 1});
      write_passes({&both[1], 1});
    }
    now_ = both[0].chain;
    add(now_, both[1].chain);
  }
  // Side by side, piece by piece.
  void write_passes(std::span<Walk> walks) {
    for (Walk& walk : walks) begin(walk);
    const auto fetched = std::count_if(walks.begin(), walks.end(),
                                       [this](const Walk& walk) { return fetches(walk); });
    const bool reduces_some =
        std::any_of(walks.begin(), walks.end(), [this](const Walk& walk) { return reduces(walk); });
    if (fetched > 0 && fetched_.empty()) fetch(walks, fetched);
    for (Walk& walk : walks)
      if (!walk.is_forward()) write_head(walk);
    for (int64_t piece = 0; piece < plan_.pieces; ++piece) {
      for (Walk& walk : walks) {
        const auto& gathered = gathered_[at(walk.chunk)];
        if (walk.is_forward() && walk.micro_batch == 0 && !gathered.empty())
          add(walk.chain, gathered[at(piece)]);
        if (fetched > 0) add(walk.chain, fetched_);
        if (reduces_some) add(walk.chain, reduced_before_);
        does_.join(walk.chain);
      }
      const bool is_last = piece + 1 == plan_.pieces && place_ >= plan_.last_fetch;
      if (fetched > 0 && !is_last) fetch(walks, fetched);
      for (Walk& walk : walks) write_piece(walk, piece);
    }
    for (Walk& walk : walks) end(walk);
  }
  // So many layers' weights, of which each walk needs one.
  void fetch(std::span<const Walk> walks, int64_t layers) {
    Ends ready;
    for (const Walk& walk : walks) add(ready, walk.chain);
    for (; layers > 0; --layers) fetched_ = gather(ready);
  }
  void begin(Walk& walk) {
    walk.chain = now_;
    resume(walk);
    if (walk.pass != Pass::weights) receive(walk.chain, walk.way(), walk.chunk, walk.micro_batch);
    const bool is_last =
        walk.ends_gradients() && ++gradients_of_[at(walk.chunk)] == micro_batches_of_way(layout_);
    walk.hands_out = is_last && !reduces(walk) && has_replicas() && layout_.overlaps;
  }
  // What follows is shown as part of it.
  void resume(const Walk& walk) {
    does_.parts().begin_pass(walk.pass, walk.chunk, walk.micro_batch);
  }
  void write_head(Walk& walk) {
    const auto& items = plan_.chunks[at(walk.chunk)];
    if (items.empty() || !items.back().is_head) return;
    resume(walk);
    does_.item(walk.chain, items.back(), walk.pass);
  }
  // A layer begins with the last piece of its weights, and ends before the first of its gradients.
  void write_piece(Walk& walk, int64_t piece) {
    resume(walk);
    const auto& items = plan_.chunks[at(walk.chunk)];
    const bool has_head = !items.empty() && items.back().is_head;
    const auto layers = static_cast<int64_t>(items.size()) - (has_head ? 1 : 0);
    const int64_t rounding = walk.is_forward() ? 0 : plan_.pieces - 1;
    const int64_t end = ((piece + 1) * layers + rounding) / plan_.pieces;
    for (; walk.begun < end; ++walk.begun)
      does_.item(walk.chain, items[at(walk.is_forward() ? walk.begun : layers - 1 - walk.begun)],
                 walk.pass);
    if (reduces(walk)) {
      reduced_before_ = reduced_;
      reduced_ = reduce(walk.chain);
    }
    if (walk.hands_out) reduce(walk.chain);
  }
  void end(Walk& walk) {
    if (walk.is_forward()) write_head(walk);
    resume(walk);
    if (walk.pass != Pass::weights) send(walk.chain, walk.way(), walk.chunk, walk.micro_batch);
  }

  void finish() {
    if (!layout_.overlaps && layout_.zero < 2 && has_replicas()) {
      const int64_t pieces = plan_.pieces * static_cast<int64_t>(plan_.chunks.size());
      for (int64_t piece = 0; piece < pieces; ++piece) reduce(now_);
    }
    Ends end = now_;
    add(end, stream_);
    does_.collective(end, GroupKind::ends, Operation::allreduce, plan_.tied_B);
    for (const double bytes : plan_.copies_B)
      does_.collective(end, GroupKind::copies, Operation::allreduce, bytes);
    if (layout_.zero == 0 && layout_.reduces_to_shards()) {
      does_.collective(end, GroupKind::shards, Operation::allgather,
                       gradients_B(plan_.replicas[0]));
      does_.collective(end, GroupKind::expert_shards, Operation::allgather,
                       gradients_B(plan_.replicas[1]));
    }
    does_.set_computing(GpuPart::Kind::optimizer);
    does_.compute(end, plan_.optimizer_s);
  }

  const TrainingStep& step_;
  const Layout& layout_;
  const StagePlan& plan_;
  const GpuScheduleOptions& options_;
  int64_t of_stage_;
  int64_t gpu_;
  double slowness_;  // of its passes
  int64_t stage_;
  GpuOperations does_;
};

}  // namespace sgdsim
