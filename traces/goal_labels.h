// Numbers of the operations of a rank by their labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traces/goal_words.h"

namespace sgdsim {

// Most labels are a word and a number that counts on: these are places in a list.
class GoalLabels {
 public:
  static constexpr uint32_t none = UINT32_MAX;

  void clear();
  uint32_t find(const GoalWord& label) const {
    for (const Counted& one : counted_) {
      const std::size_t number = one.number_of(label);
      if (number < one.numbers.size() && one.numbers[number] != none) return one.numbers[number];
    }
    return others_.empty() ? none : find_other(label.text());
  }
  // False if it is there.
  bool add(const GoalWord& label, uint32_t number) {
    ++count_;
    if (others_.empty())
      for (Counted& one : counted_)
        if (one.number_of(label) == one.numbers.size()) {
          one.numbers.push_back(number);
          return true;
        }
    return add_any(label, number);
  }

 private:
  // "l12" is l and 12; "l012" is another label, which is not counted.
  static constexpr std::size_t uncounted = SIZE_MAX;
  struct Counted {
    std::string word;
    PackedCharacters packed;  // the word, if it is short
    std::vector<uint32_t> numbers;

    std::size_t number_of(const GoalWord& label) const {
      if (label.size > PackedCharacters::most) return number_of_long(label.text());
      if (word.size() >= label.size || label.packed.first(word.size()) != packed) return uncounted;
      const std::size_t digits = label.size - word.size();
      const PackedCharacters behind = label.packed.without_first(word.size());
      if (behind.begins_with('0') && digits > 1) return uncounted;
      const int64_t number = behind.number(digits);
      return number < 0 ? uncounted : static_cast<std::size_t>(number);
    }
    std::size_t number_of_long(std::string_view label) const;
  };

  uint32_t find_other(std::string_view label) const;
  bool add_any(const GoalWord& label, uint32_t number);

  std::vector<Counted> counted_;
  std::map<std::string, uint32_t, std::less<>> others_;
  std::size_t count_ = 0;
};

}  // namespace sgdsim
