// Fields by name; a field that occurs twice spoils the event, because nobody knows which one holds.
#include "traces/kineto/event_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "sim/core/decimal.h"

namespace sgdsim::profiler {
namespace {

// In the year 2039; differences of such times, and a duration added, stay within 64 bits.
constexpr int64_t latest_ns = 2'200'000'000'000'000'000;
constexpr int most_digits = 19;

struct Field {
  std::string_view name;
  std::string EventFields::*member;
};

constexpr std::array<Field, 7> outer_fields{{{"ph", &EventFields::phase},
                                             {"cat", &EventFields::category},
                                             {"name", &EventFields::name},
                                             {"pid", &EventFields::process},
                                             {"tid", &EventFields::thread},
                                             {"ts", &EventFields::start},
                                             {"dur", &EventFields::length}}};

constexpr std::array<Field, 11> argument_fields{
    {{"correlation", &EventFields::correlation},
     {"External id", &EventFields::external_id},
     {"stream", &EventFields::stream},
     {"device", &EventFields::device},
     {"Collective name", &EventFields::collective},
     {"dtype", &EventFields::type},
     {"In msg nelems", &EventFields::elements},
     {"Out msg nelems", &EventFields::elements_out},
     {"Group size", &EventFields::group_size},
     {"Process Group Name", &EventFields::group_name},
     {"Process Group Ranks", &EventFields::group_ranks}}};

template <class Fields>
std::size_t index_of(const Fields& fields, std::string_view name) {
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name.size() == name.size() && fields[i].name == name) return i;
  return fields.size();
}

void clear(EventFields& fields) {
  for (const Field& field : outer_fields) (fields.*field.member).clear();
  for (const Field& field : argument_fields) (fields.*field.member).clear();
  fields.repeats_a_field = false;
}

std::optional<int64_t> nearest_nanosecond(const std::string& microseconds) {
  double value = 0;
  const char* const end = microseconds.data() + microseconds.size();
  const auto [rest, problem] = read_decimal(microseconds.data(), end, value);
  if (problem != std::errc{} || rest != end ||
      !(std::abs(value) < static_cast<double>(latest_ns) / 1000))
    return std::nullopt;
  return std::llrint(value * 1000);
}

}  // namespace

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, value);
  if (text.empty() || problem != std::errc{} || rest != end) return std::nullopt;
  return value;
}

std::optional<int64_t> nanoseconds(const std::string& microseconds) {
  const bool negative = microseconds.starts_with('-');
  uint64_t value = 0;
  int digits = 0;
  int decimals = -1;  // behind the point; -1: there is none yet
  for (std::size_t i = negative ? 1 : 0; i < microseconds.size(); ++i) {
    const char c = microseconds[i];
    if (c == '.' && decimals < 0) {
      decimals = 0;
      continue;
    }
    if (c < '0' || c > '9') return nearest_nanosecond(microseconds);
    if (decimals >= 3) {
      if (decimals++ == 3 && c >= '5') ++value;
      continue;
    }
    if (++digits > most_digits) return std::nullopt;
    value = 10 * value + static_cast<uint64_t>(c - '0');
    if (decimals >= 0) ++decimals;
  }
  for (int i = std::max(0, decimals); i < 3; ++i) {
    if (digits == 0 || ++digits > most_digits) return std::nullopt;
    value *= 10;
  }
  if (digits == 0 || value > static_cast<uint64_t>(latest_ns)) return std::nullopt;
  return negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
}

void EventReader::take(JsonStream& stream, EventFields& fields, std::string EventFields::*field,
                       uint32_t bit) {
  if ((seen_ & bit) != 0) fields.repeats_a_field = true;
  seen_ |= bit;
  stream.read_word(fields.*field);
}

void EventReader::read_arguments(JsonStream& stream, EventFields& fields) {
  if (stream.peek() != '{') return stream.skip();
  stream.enter('{');
  while (stream.next_member(arguments_key_)) {
    const std::size_t i = index_of(argument_fields, arguments_key_);
    if (i == argument_fields.size())
      stream.skip();
    else
      take(stream, fields, argument_fields[i].member, uint32_t{1} << (outer_fields.size() + i));
  }
}

void EventReader::read(JsonStream& stream, EventFields& fields) {
  clear(fields);
  seen_ = 0;
  stream.enter('{');
  while (stream.next_member(key_)) {
    const std::size_t i = index_of(outer_fields, key_);
    if (i < outer_fields.size())
      take(stream, fields, outer_fields[i].member, uint32_t{1} << i);
    else if (key_ == "args")
      read_arguments(stream, fields);
    else
      stream.skip();
  }
}

CommunicationFacts communication_facts(const EventFields& fields) {
  CommunicationFacts facts;
  facts.collective = fields.collective;
  facts.type = fields.type;
  facts.group = fields.group_name;
  if (!fields.group_ranks.empty()) facts.group += " " + fields.group_ranks;
  constexpr int64_t most_elements = int64_t{1} << 48;
  const auto count = [](const std::string& text) {
    const auto value = whole_number(text);
    return value && *value >= 0 && *value <= most_elements ? *value : -1;
  };
  facts.elements = count(fields.elements);
  facts.elements_out = count(fields.elements_out);
  facts.group_size = std::max<int64_t>(0, count(fields.group_size));
  return facts;
}

}  // namespace sgdsim::profiler
