// Labels that are the first of their word, or far from those before, or of no number.
#include "traces/goal_labels.h"

#include <algorithm>

namespace sgdsim {
namespace {

constexpr std::size_t most_words = 8;
constexpr std::size_t most_left_out = 4096;  // numbers, besides three of four

struct Split {
  std::string_view word;
  std::size_t number = 0;
  bool is_counted = false;
};

Split split_of(std::string_view label) {
  constexpr std::size_t most_digits = 9;
  std::size_t at = label.size();
  while (at > 0 && label[at - 1] >= '0' && label[at - 1] <= '9') --at;
  const std::string_view digits = label.substr(at);
  if (digits.empty() || digits.size() > most_digits || (digits[0] == '0' && digits.size() > 1))
    return {};
  Split split{label.substr(0, at), 0, true};
  for (const char digit : digits)
    split.number = 10 * split.number + static_cast<std::size_t>(digit - '0');
  return split;
}

}  // namespace

std::size_t GoalLabels::Counted::number_of_long(std::string_view label) const {
  const Split split = split_of(label);
  return split.is_counted && split.word == word ? split.number : uncounted;
}

void GoalLabels::clear() {
  for (Counted& one : counted_) one.numbers.clear();
  others_.clear();
  count_ = 0;
}

uint32_t GoalLabels::find_other(std::string_view label) const {
  const auto found = others_.find(label);
  return found == others_.end() ? none : found->second;
}

bool GoalLabels::add_any(const GoalWord& label, uint32_t number) {
  if (find(label) != none) return false;
  const Split split = split_of(label.text());
  auto one = counted_.end();
  if (split.is_counted && split.number < 4 * count_ + most_left_out) {
    one = std::find_if(counted_.begin(), counted_.end(),
                       [&](const Counted& it) { return it.word == split.word; });
    if (one == counted_.end() && counted_.size() < most_words)
      one = counted_.insert(one, {std::string(split.word), PackedCharacters(split.word), {}});
  }
  if (one == counted_.end()) {
    others_.emplace(label.text(), number);
    return true;
  }
  if (split.number >= one->numbers.size()) one->numbers.resize(split.number + 1, none);
  one->numbers[split.number] = number;
  return true;
}

}  // namespace sgdsim
