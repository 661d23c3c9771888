// Options of algorithms. An algorithm declares its own beside the code that asks for them, and
// those that it shares with others are here.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sgdsim {

struct OptionKey {
  std::string_view name;
  std::string_view values;  // for people: "port|link"
  std::string_view meaning;
  std::string_view operations = {};  // that read it: "reduce, allreduce"; empty: all
};

// A choice between two values, of which the second is true; a count from 1 on; the name of an
// algorithm; dimensions.
using OptionValue = std::variant<bool, int, std::string, std::vector<int>>;

template <class T>
struct OptionOf {
  OptionKey key;
  T otherwise = {};  // where it is not given
};
using FlagOption = OptionOf<bool>;

inline constexpr FlagOption duplex_of_links{
    {"duplex", "port|link", "one port per direction, or every directed link by itself"}};
inline constexpr FlagOption folds_beside{
    {"gamma", "serial|overlap", "a fold extends the stage, or has an engine of its own"}};
inline constexpr FlagOption paper_steps{
    {"lp_steps", "exact|paper", "P-2+m steps, or P-1+n/b (closed form only)"}};
inline constexpr FlagOption sends_at_once{
    {"direct", "rounds|at_once",
     "one message after another, or all pairs at the same time; default: rounds, but at_once for "
     "alltoall where messages share wires or ports (flow, packet, ports=shared)"}};

// An option of any type.
struct AlgorithmOption {
  template <class T>
  AlgorithmOption(const OptionOf<T>& option) : key(option.key), otherwise(option.otherwise) {}
  OptionKey key;
  OptionValue otherwise;
};

// Those that were given.
class OptionValues {
 public:
  template <class T>
  T of(const OptionOf<T>& option) const {
    return given(option).value_or(option.otherwise);
  }
  template <class T>
  std::optional<T> given(const OptionOf<T>& option) const {
    for (const auto& [name, value] : values_)
      if (name == option.key.name) return std::get<T>(value);
    return std::nullopt;
  }
  void set(const AlgorithmOption& option, OptionValue value) {
    const auto given = std::find_if(values_.begin(), values_.end(),
                                    [&](const auto& one) { return one.first == option.key.name; });
    if (given != values_.end())
      given->second = std::move(value);
    else
      values_.emplace_back(option.key.name, std::move(value));
  }

 private:
  std::vector<std::pair<std::string_view, OptionValue>> values_;
};

}  // namespace sgdsim
