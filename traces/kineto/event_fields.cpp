// Fields by name; a field that occurs twice spoils the event, because nobody knows which one holds.
#include "traces/kineto/event_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "sim/core/decimal.h"

namespace sgdsim::profiler {
namespace {

// In the year 2039; differences of such times, and a duration added, stay within 64 bits.
constexpr int64_t latest_ns = 2'200'000'000'000'000'000;
constexpr int most_digits = 19;
constexpr int64_t most_elements = int64_t{1} << 48;

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

constexpr std::array<Field, 15> argument_fields{
    {{"correlation", &EventFields::correlation},
     {"External id", &EventFields::external_id},
     {"external id", &EventFields::external_id},  // before PyTorch 1.11
     {"Record function id", &EventFields::function_id},
     {"stream", &EventFields::stream},
     {"device", &EventFields::device},
     {"Collective name", &EventFields::collective},
     {"dtype", &EventFields::type},
     {"In msg nelems", &EventFields::elements},
     {"Out msg nelems", &EventFields::elements_out},
     {"Group size", &EventFields::group_size},
     {"Process Group Name", &EventFields::group_name},
     {"Process Group Ranks", &EventFields::group_ranks},
     {"Input Dims", &EventFields::shapes},
     {"Input type", &EventFields::types}}};

// nccl:all_reduce, gloo:broadcast; aten::add is none.
bool is_of_backend(std::string_view name) {
  return name.size() > 5 && name[4] == ':' && name[5] != ':';
}

// Only these are asked for the shapes of their inputs; every operator of a profile may have them.
bool says_sizes(std::string_view name) {
  return name.empty() || name.find("AccumulateGrad") != name.npos ||
         name.find("record_param_comms") != name.npos || is_of_backend(name);
}

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
  stream.read_text(fields.*field);
}

void EventReader::read_arguments(JsonStream& stream, EventFields& fields) {
  if (stream.peek() != '{') return stream.skip();
  stream.enter('{');
  while (stream.next_member(arguments_key_)) {
    const std::size_t i = index_of(argument_fields, arguments_key_);
    const bool is_shape = i + 2 >= argument_fields.size();
    if (i == argument_fields.size() || (is_shape && !says_sizes(fields.name)))
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

int64_t bytes_of_type(const std::string& type) {
  static const std::map<std::string, int64_t> sizes = {{"Float", 4},
                                                       {"Half", 2},
                                                       {"BFloat16", 2},
                                                       {"Double", 8},
                                                       {"Long", 8},
                                                       {"Int", 4},
                                                       {"Short", 2},
                                                       {"Byte", 1},
                                                       {"Char", 1},
                                                       {"Bool", 1},
                                                       {"ComplexFloat", 8},
                                                       {"ComplexDouble", 16},
                                                       {"Float8_e4m3fn", 1},
                                                       {"Float8_e5m2", 1},
                                                       {"float", 4},
                                                       {"c10::Half", 2},
                                                       {"c10::BFloat16", 2},
                                                       {"double", 8},
                                                       {"long int", 8},
                                                       {"long", 8},
                                                       {"int", 4},
                                                       {"short int", 2},
                                                       {"unsigned char", 1},
                                                       {"signed char", 1},
                                                       {"bool", 1},
                                                       {"c10::complex<float>", 8},
                                                       {"c10::complex<double>", 16},
                                                       {"c10::Float8_e4m3fn", 1},
                                                       {"c10::Float8_e5m2", 1},
                                                       {"float32", 4},
                                                       {"float16", 2},
                                                       {"bfloat16", 2}};
  const auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
}

int64_t elements_in_shapes(std::string_view shapes) {
  if (shapes.find("...") != shapes.npos) return -1;
  int64_t sum = 0;
  while (true) {
    const std::size_t close = shapes.find(']');
    if (close == shapes.npos) return sum;
    const std::size_t open = shapes.rfind('[', close);
    std::string_view inner = shapes.substr(0, close);
    shapes.remove_prefix(close + 1);
    if (open == shapes.npos) continue;  // it closes a list of lists
    inner.remove_prefix(open + 1);
    if (inner.find_first_not_of(" ,0123456789") != inner.npos) return -1;
    int64_t product = 1;
    bool has_dimension = false;
    while (true) {
      inner.remove_prefix(std::min(inner.find_first_not_of(" ,"), inner.size()));
      if (inner.empty()) break;
      const auto value = whole_number(std::string(inner.substr(0, inner.find_first_of(" ,"))));
      if (!value || __builtin_mul_overflow(product, *value, &product) || product > most_elements)
        return -1;
      has_dimension = true;
      inner.remove_prefix(std::min(inner.find_first_of(" ,"), inner.size()));
    }
    if (has_dimension) sum += product;
    if (sum > most_elements) return -1;
  }
}

std::string first_known_type(std::string_view types) {
  while (true) {
    const std::size_t open = types.find('"');
    if (open == types.npos) return {};
    types.remove_prefix(open + 1);
    const std::size_t close = types.find('"');
    if (close == types.npos) return {};
    std::string name(types.substr(0, close));
    if (bytes_of_type(name) > 0) return name;
    types.remove_prefix(close + 1);
  }
}

CommunicationFacts communication_facts(const EventFields& fields) {
  CommunicationFacts facts;
  facts.collective = fields.collective;
  if (facts.collective.empty() && is_of_backend(fields.name) && fields.name.size() < 40)
    facts.collective = fields.name.substr(5);
  facts.type = fields.type;
  facts.group = fields.group_name;
  if (!fields.group_ranks.empty()) facts.group += " " + fields.group_ranks;
  const auto count = [](const std::string& text) {
    const auto value = whole_number(text);
    return value && *value >= 0 && *value <= most_elements ? *value : -1;
  };
  facts.elements = count(fields.elements);
  facts.elements_out = count(fields.elements_out);
  facts.group_size = std::max<int64_t>(0, count(fields.group_size));
  const std::string& ranks = fields.group_ranks;
  if (facts.group_size == 0 && ranks.size() > 2 && ranks.find("...") == ranks.npos)
    facts.group_size = 1 + std::count(ranks.begin(), ranks.end(), ',');
  if (facts.elements < 0 && !fields.shapes.empty()) {
    const int64_t elements = elements_in_shapes(fields.shapes);
    if (elements > 0) facts.elements = elements;
  }
  if (facts.type.empty()) facts.type = first_known_type(fields.types);
  return facts;
}

}  // namespace sgdsim::profiler
