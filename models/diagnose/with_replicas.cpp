// Each replica as often as it is wanted: groups within a replica are repeated, those over replicas
// get members of all of them.
#include <algorithm>

#include "models/diagnose/step_work.h"

namespace sgdsim::diagnose {
namespace {

bool is_over_replicas(Recorded kind) {
  return kind == Recorded::gather || kind == Recorded::reduce || kind == Recorded::separate ||
         kind == Recorded::clip;
}

class Copier {
 public:
  Copier(const StepWork& from, int replicas) : from_(from), copies_(from.nodes.size()) {
    to_.replicas = replicas;
    to_.stages = from.stages;
    to_.types = from.types;
    to_.steps = from.steps;
    to_.measured = from.measured;
    to_.longest = from.longest;
    to_.group_first = to_.waits_first = to_.step_first = {0};
    // What a ring moves of each byte.
    const auto moved = [](int count) { return 1 - 1 / static_cast<double>(count); };
    scale_ = from.replicas > 1 ? moved(replicas) / moved(from.replicas) : 1;
  }

  StepWork copied() {
    for (std::size_t step = 0; step < from_.steps.size(); ++step) {
      for (uint32_t group = from_.step_first[step]; group < from_.step_first[step + 1]; ++group)
        add(group);
      to_.step_first.push_back(static_cast<uint32_t>(to_.group_first.size() - 1));
    }
    return std::move(to_);
  }

 private:
  int copies_of(int replica) const {
    return replica < to_.replicas ? (to_.replicas - 1 - replica) / from_.replicas + 1 : 0;
  }
  int copy_of(int worker, int copy) const { return worker + copy * from_.replicas * from_.stages; }

  void add(uint32_t group) {
    const uint32_t first = from_.group_first[group];
    const Node& front = from_.nodes[first];
    if (is_over_replicas(front.kind)) {
      for (uint32_t node = first; node < from_.group_first[group + 1]; ++node)
        for (int copy = 0; copy < copies_of(from_.replica_of(from_.nodes[node].worker)); ++copy)
          add_node(node, copy);
      for (uint32_t i = from_.waits_first[group]; i < from_.waits_first[group + 1]; ++i)
        for (int copy = 0; copy < copies_of(from_.replica_of(from_.nodes[from_.waits[i]].worker));
             ++copy)
          add_wait(from_.waits[i], copy);
      close();
      return;
    }
    for (int copy = 0; copy < copies_of(from_.replica_of(front.worker)); ++copy) {
      for (uint32_t node = first; node < from_.group_first[group + 1]; ++node) add_node(node, copy);
      for (uint32_t i = from_.waits_first[group]; i < from_.waits_first[group + 1]; ++i)
        add_wait(from_.waits[i], copy);
      close();
    }
  }

  void add_node(uint32_t from, int copy) {
    Node node = from_.nodes[from];
    node.worker = copy_of(node.worker, copy);
    if (node.peer >= 0) node.peer = copy_of(node.peer, copy);
    copies_[from].push_back(static_cast<uint32_t>(to_.nodes.size()));
    const bool scales = is_over_replicas(node.kind) && node.kind != Recorded::clip;
    const Duration length = from_.recorded[from];
    to_.nodes.push_back(node);
    to_.recorded.push_back(scales ? Duration::nearest_ps(static_cast<double>(length.ps()) * scale_)
                                  : length);
    to_.waited.push_back(from_.waited[from]);
  }
  void add_wait(uint32_t from, int copy) {
    to_.waits.push_back(copies_[from][static_cast<std::size_t>(copy)]);
  }
  void close() {
    to_.group_first.push_back(static_cast<uint32_t>(to_.nodes.size()));
    to_.waits_first.push_back(static_cast<uint32_t>(to_.waits.size()));
  }

  const StepWork& from_;
  StepWork to_;
  std::vector<std::vector<uint32_t>> copies_;  // of each node
  double scale_ = 1;
};

}  // namespace

StepWork with_replicas(const StepWork& work, int replicas) {
  return Copier(work, replicas).copied();
}

}  // namespace sgdsim::diagnose
