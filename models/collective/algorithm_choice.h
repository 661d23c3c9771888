// Which algorithm plays an operation, where there are collectives of several kinds.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "models/collective/collective.h"
#include "sim/net/cluster.h"
#include "sim/net/nccl_constants.h"

namespace sgdsim {

// What NCCL's model is not told by the cluster.
struct NcclView {
  // What exchanges reach of the links beside products, where the rates of the cluster's links are
  // that part of theirs: NCCL counts with the links' own.
  double reach_inside = 1;  // a node
  double reach_across = 1;
  GpuGeneration generation = GpuGeneration::hopper;  // if its file does not say another one
  bool may_reduce_in_switches = true;
};

class AlgorithmChoice {
 public:
  NcclView nccl;

  // The usual ones: ring, where it has the operation; otherwise direct or mst.
  AlgorithmChoice();
  // "NAME", for all operations that it has, or "OPERATION=NAME"; "auto" for the one that takes
  // least, and "nccl" for what NCCL's own model chooses and expects, of all operations that it
  // tunes. InputError names `where`.
  void add(const std::string& text, const std::string& where);

  bool is_usual() const { return chosen_ == usual() && !has_nccl(); }
  bool is_usual(Operation operation) const {
    return !is_nccl(operation) && of(operation) == usual_of(operation);
  }
  bool is_nccl(Operation operation) const { return is_nccl_[static_cast<std::size_t>(operation)]; }
  bool has_nccl() const {
    return std::find(is_nccl_.begin(), is_nccl_.end(), true) != is_nccl_.end();
  }
  // Null: the one that takes least, or that NCCL's model chooses.
  const Algorithm* of(Operation operation) const {
    return chosen_[static_cast<std::size_t>(operation)];
  }
  // For people and files: "ring", "auto", or "nccl".
  std::string name_of(Operation operation) const;
  // The one that was chosen, or that takes least of those that fit and have a closed form:
  // `time_of` throws InputError where an algorithm does not fit.
  using TimeOf = std::function<double(const Algorithm& algorithm)>;
  const Algorithm& cheapest(Operation operation, const TimeOf& time_of) const;

 private:
  using Chosen = std::array<const Algorithm*, 6>;  // null: what takes least
  static const Chosen& usual();
  static const Algorithm* usual_of(Operation operation) {
    return usual()[static_cast<std::size_t>(operation)];
  }
  void set(Operation operation, const Algorithm* algorithm, bool is_nccl = false) {
    chosen_[static_cast<std::size_t>(operation)] = algorithm;
    is_nccl_[static_cast<std::size_t>(operation)] = is_nccl;
  }

  Chosen chosen_;
  std::array<bool, std::tuple_size_v<Chosen>> is_nccl_{};
};

// Where nobody names one: what NCCL chooses where people run it, for what it tunes; otherwise the
// usual ones.
AlgorithmChoice usual_algorithms(const Cluster& cluster);
// Among its first so many workers.
AlgorithmChoice usual_algorithms(const Cluster& cluster, int ranks);
std::string usual_algorithm(const Cluster& cluster, Operation operation);

}  // namespace sgdsim
