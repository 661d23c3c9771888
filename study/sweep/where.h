// Conditions that leave points out of a sweep: "cluster.nodes * cluster.gpus_per_node <= 512",
// "strategy == ddp or cluster.nodes < 64".
//
// A condition compares two sides; a side is a field, a number, a quantity, a word, or a product of
// fields and numbers. `and` joins comparisons, `or` what `and` has joined; of several conditions
// all must hold. An object that stands in a field, as {"name": "ddp", "bucket": "1 MB"}, compares
// as its name. A field that a point does not have is unequal to everything but `null`. Text in
// double quotes, as JSON writes it, is a value whatever it holds.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "study/sweep/axis.h"

namespace sgdsim {

// Where the text in quotes that begins here ends: behind its quote, or with the condition.
std::size_t end_of_quote(const std::string& text, std::size_t begin);

// What stands for a value in a comparison: of an object its name.
Json name_of_value(const Json& value);

// The value of every axis, by number.
using Choice = std::vector<int64_t>;

class Where {
 public:
  Where() = default;
  // Fields are those of the axes or of the base.
  Where(const Value& conditions, const std::vector<Axis>& axes, const Json& base);
  bool holds(const std::vector<Axis>& axes, const Choice& choice) const;
  const std::set<std::size_t>& axes() const { return used_; }  // that a condition names

 private:
  struct Term {
    std::optional<std::size_t> axis;
    std::vector<std::string> rest;  // of the path, below the axis
    Json constant;
  };
  using Side = std::vector<Term>;  // multiplied
  enum class Relation : uint8_t { equal, unequal, less, less_equal, greater, greater_equal };
  struct Comparison {
    Side left, right;
    Relation relation = Relation::equal;
    std::string where;
  };
  Comparison read_comparison(const std::string& text, const std::string& where,
                             const std::vector<Axis>& axes, const Json& base);
  Side read_side(const std::string& text, const std::string& where, const std::vector<Axis>& axes,
                 const Json& base, bool is_left);
  static Json value_of(const Term& term, const std::vector<Axis>& axes, const Choice& choice);
  static Json value_of(const Side& side, const std::vector<Axis>& axes, const Choice& choice,
                       const std::string& where);
  static bool holds(const Comparison& comparison, const std::vector<Axis>& axes,
                    const Choice& choice);

  // All of these; of each, one alternative; of that, every comparison.
  std::vector<std::vector<std::vector<Comparison>>> conditions_;
  std::set<std::size_t> used_;
};

}  // namespace sgdsim
