// Which algorithm plays an operation, where there are collectives of several kinds.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "models/collective/collective.h"

namespace sgdsim {

class AlgorithmChoice {
 public:
  // The usual ones: ring, where it has the operation; otherwise direct or mst.
  AlgorithmChoice();
  // "NAME", for all operations that it has, or "OPERATION=NAME"; `auto` for the one that takes
  // least. InputError names `where`.
  void add(const std::string& text, const std::string& where);

  bool is_usual() const { return chosen_ == usual(); }
  bool is_usual(Operation operation) const { return of(operation) == usual_of(operation); }
  // Null: the one that takes least.
  const Algorithm* of(Operation operation) const {
    return chosen_[static_cast<std::size_t>(operation)];
  }
  // For people and files: "ring", or "auto".
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
  void set(Operation operation, const Algorithm* algorithm) {
    chosen_[static_cast<std::size_t>(operation)] = algorithm;
  }

  Chosen chosen_;
};

}  // namespace sgdsim
