// Ranges double from their first to their last value, unless a step is given.
#include "study/collective/ranges.h"

#include <charconv>

#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_values = 100'000;

int64_t parse_count(const std::string& text, const std::string& where) {
  int64_t count = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (text.empty() || problem != std::errc{} || end != text.data() + text.size())
    throw InputError(where, "expected a whole number, a list as 2,4,8 or a range as 2..64, got \"" +
                                text.substr(0, 60) + "\"");
  return count;
}

// What stands between commas; or the entries of a JSON list, as programs give it.
std::vector<std::string> parts_of(const std::string& text, const std::string& where) {
  if (!text.starts_with('[')) return split_list(text);
  const Document list = Document::parse(text, where);
  std::vector<std::string> parts;
  for (const Value& one : list.root().items())
    parts.push_back(one.json().is_string() ? one.text() : one.json().dump());
  if (parts.empty()) throw InputError(where, "expected a list of values, got an empty one");
  return parts;
}

// `parse` reads one value in the base unit.
template <class Parse>
std::vector<int64_t> parse_list(const std::string& text, const std::string& where,
                                const Parse& parse) {
  std::vector<int64_t> values;
  for (const std::string& part : parts_of(text, where)) {
    const std::size_t dots = part.find("..");
    if (dots == std::string::npos) {
      values.push_back(parse(part));
      continue;
    }
    const std::size_t colon = part.find(':', dots);
    const int64_t first = parse(part.substr(0, dots));
    const int64_t last = parse(part.substr(dots + 2, colon - dots - 2));
    const int64_t step = colon == std::string::npos ? 0 : parse(part.substr(colon + 1));
    if (first < 1 || last < first || (colon != std::string::npos && step < 1))
      throw InputError(where, "expected a growing range from 1 on, got \"" + part + "\"");
    bool is_over = false;
    for (int64_t value = first; value <= last && !is_over;) {
      values.push_back(value);
      if (values.size() > most_values)
        throw InputError(where, "more than " + std::to_string(most_values) + " values");
      is_over = step > 0 ? __builtin_add_overflow(value, step, &value)
                         : __builtin_mul_overflow(value, int64_t{2}, &value);
    }
  }
  return values;
}

}  // namespace

int64_t parse_whole(const std::string& text, int64_t least, int64_t most,
                    const std::string& where) {
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    throw InputError(where, "expected a whole number from " + std::to_string(least) + " to " +
                                std::to_string(most) + ", got \"" + text.substr(0, 60) + "\"");
  return value;
}

double parse_number(const std::string& text, double least, double most, const std::string& where) {
  double value = 0;
  const auto [end, problem] = read_decimal(text.data(), text.data() + text.size(), value);
  const bool in_range = value >= least && value <= most;  // not if it is NaN
  if (problem != std::errc{} || end != text.data() + text.size() || !in_range)
    throw InputError(where, "expected a number from " + number_text(least) + " to " +
                                number_text(most) + ", got \"" + text.substr(0, 60) + "\"");
  return value;
}

std::vector<int64_t> parse_counts(const std::string& text, const std::string& where) {
  return parse_list(text, where, [&](const std::string& one) { return parse_count(one, where); });
}

std::vector<Bytes> parse_sizes(const std::string& text, const std::string& where) {
  std::vector<Bytes> sizes;
  for (const int64_t size_B : parse_list(
           text, where, [&](const std::string& one) { return parse_bytes(one, where).count(); }))
    sizes.emplace_back(size_B);
  return sizes;
}

}  // namespace sgdsim
