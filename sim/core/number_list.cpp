// Lists of numbers and of words.
#include "sim/core/number_list.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>

#include "sim/core/error.h"

namespace sgdsim {

std::vector<int> parse_numbers_in_order(const std::string& text, int count,
                                        const std::string& where, const std::string& what) {
  std::vector<int> numbers;
  std::set<int> chosen;
  for (const std::string& part : split_list(text)) {
    const std::size_t dash = part.find('-');
    const auto number = [&](const std::string& digits) {
      int64_t value = 0;
      const auto [end, problem] =
          std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (digits.empty() || digits.front() == '-' || end != digits.data() + digits.size() ||
          problem == std::errc::invalid_argument)
        throw InputError(where, "expected numbers as 0-3,7, got \"" + text + "\"");
      if (problem != std::errc{} || value >= count)
        throw InputError(where, "there is no " + what + " " + digits + ": the last one is " +
                                    std::to_string(count - 1));
      return static_cast<int>(value);
    };
    const int first = number(part.substr(0, dash));
    const int last = dash == std::string::npos ? first : number(part.substr(dash + 1));
    if (last < first)
      throw InputError(where, "expected the smaller number first, got \"" + part + "\"");
    for (int one = first; one <= last; ++one) {
      if (!chosen.insert(one).second)
        throw InputError(where,
                         what + " " + std::to_string(one) + " is named twice in \"" + text + "\"");
      numbers.push_back(one);
    }
  }
  return numbers;
}

std::vector<int> parse_numbers(const std::string& text, int count, const std::string& where,
                               const std::string& what) {
  std::vector<int> numbers = parse_numbers_in_order(text, count, where, what);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string number_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (end - i > 1) text += "-" + std::to_string(numbers[end - 1]);
    i = end;
  }
  return text;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == ',')
      parts.emplace_back();
    else if (letter != ' ' || !parts.back().empty())
      parts.back() += letter;
  }
  return parts;
}

}  // namespace sgdsim
