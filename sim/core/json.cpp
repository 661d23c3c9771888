// Reading JSON with errors that a user can act on.
#include "sim/core/json.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <numeric>
#include <optional>

#include "sim/core/byte_order_mark.h"
#include "sim/core/byte_source.h"
#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/letters.h"
#include "sim/core/quantity.h"
#include "sim/core/read_files.h"
#include "sim/core/whole_number.h"

namespace sgdsim {
namespace {

constexpr std::uintmax_t largest_stream_B = largest_file_B / 2;  // of which no size is known

std::string kind_of(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return "the number " + text_of_number(json);
    case Json::value_t::binary:
      return "an array";
    case Json::value_t::discarded:
      break;
  }
  return "something that is not JSON";
}

// The bytes of the UTF-8 character at the front, or 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xC2   ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((at(i) & 0xC0U) != 0x80) return 0;
  // Overlong forms, surrogates, and beyond U+10FFFF.
  if ((first == 0xE0 && at(1) < 0xA0) || (first == 0xED && at(1) > 0x9F) ||
      (first == 0xF0 && at(1) < 0x90) || (first == 0xF4 && at(1) > 0x8F))
    return 0;
  return length;
}

// C0, DEL and C1.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

std::string hexadecimal(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char letter : bytes) {
    const auto byte = static_cast<unsigned char>(letter);
    text += std::string("\\x") + digits[byte >> 4U] + digits[byte & 15U];
  }
  return text;
}

std::string read_all(std::istream& stream, const std::string& file) {
  std::string text;
  std::array<char, 1 << 16> chunk{};
  errno = 0;
  while (stream.read(chunk.data(), chunk.size()) || stream.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > largest_stream_B) throw InputError(file, "larger than 512 MiB");
  }
  if (stream.bad()) throw InputError(file, std::string("cannot be read: ") + std::strerror(errno));
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::string text_of_number(const Json& json) {
  const auto value = json.get<double>();
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return json.dump();
}

void Value::fail(const std::string& sentence) const { throw InputError(where(), sentence); }

Value Value::child(const std::string& name) const {
  Value member(json_->at(name), file_, path_ + "/" + name);
  member.kept_ = kept_;
  return member;
}

std::string Value::text() const {
  if (!json_->is_string()) fail("expected a string, got " + kind_of(*json_));
  return json_->get<std::string>();
}

bool Value::flag() const {
  if (!json_->is_boolean()) fail("expected true or false, got " + kind_of(*json_));
  return json_->get<bool>();
}

std::optional<int64_t> whole_number_in(const Json& json) {
  constexpr double most = 0x1p53;  // up to which every whole number has a value of its own
  if (json.is_number_float()) {
    const auto value = json.get<double>();
    if (std::trunc(value) != value || std::abs(value) > most) return std::nullopt;
    return static_cast<int64_t>(value);
  }
  const bool is_beyond =
      json.is_number_unsigned() &&
      json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!json.is_number_integer() || is_beyond) return std::nullopt;
  return json.get<int64_t>();
}

int64_t Value::whole(int64_t least, int64_t most) const {
  const std::optional<int64_t> value = whole_number_in(*json_);
  if (!value || *value < least || *value > most)
    fail("expected a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
         ", got " + kind_of(*json_));
  return *value;
}

double Value::number(double least, double most) const {
  if (!json_->is_number()) fail("expected a number, got " + kind_of(*json_));
  const auto value = json_->get<double>();
  if (!(value >= least && value <= most))
    fail("expected a number from " + number_text(least) + " to " + number_text(most) + ", got " +
         text_of_number(*json_));
  return value;
}

// Numbers go to the quantity parser as text, so that the error lists the accepted units.
std::string Value::quantity() const {
  if (json_->is_number()) return json_->dump();
  if (!json_->is_string())
    fail("expected a quantity with a unit, as a string, got " + kind_of(*json_));
  return json_->get<std::string>();
}

Duration Value::duration() const { return parse_duration(quantity(), where()); }
Bytes Value::bytes() const { return parse_bytes(quantity(), where()); }
Bandwidth Value::bandwidth() const { return parse_bandwidth(quantity(), where()); }
PerByte Value::per_byte() const { return parse_per_byte(quantity(), where()); }

std::vector<Value> Value::items() const {
  if (!is_list(*json_)) fail("expected an array, got " + kind_of(*json_));
  Value all = *this;
  if (json_->is_binary()) {
    all.kept_ = std::make_shared<const Json>(unpacked(*json_));
    all.json_ = all.kept_.get();
  }
  std::vector<Value> items;
  items.reserve(all.json_->size());
  for (std::size_t i = 0; i < all.json_->size(); ++i)
    items.push_back(all.entry(i, all.json_->at(i)));
  return items;
}

Value Value::entry(std::size_t index, const Json& json) const {
  Value entry(json, file_, path_ + "/" + std::to_string(index));
  entry.kept_ = kept_;
  return entry;
}

std::size_t Value::size() const {
  if (!is_list(*json_)) fail("expected an array, got " + kind_of(*json_));
  return size_of(*json_);
}

void Value::for_each_item(const std::function<void(const Value&)>& f) const {
  if (!is_list(*json_)) fail("expected an array, got " + kind_of(*json_));
  std::size_t index = 0;
  for_each_in(*json_, [&](const Json& json) { f(entry(index++, json)); });
}

std::vector<std::pair<std::string, Value>> Value::entries() const {
  if (!json_->is_object()) fail("expected an object, got " + kind_of(*json_));
  std::vector<std::pair<std::string, Value>> entries;
  for (const auto& [name, member] : json_->items()) entries.emplace_back(name, child(name));
  return entries;
}

Object::Object(const Value& value) : value_(value) {
  if (!value.json().is_object()) value.fail("expected an object, got " + kind_of(value.json()));
}

bool Object::has(const std::string& name) {
  if (std::find(known_.begin(), known_.end(), name) == known_.end()) known_.push_back(name);
  return value_.json().contains(name);
}

Value Object::at(const std::string& name) {
  if (!has(name)) value_.fail("the field \"" + name + "\" is missing");
  return value_.child(name);
}

std::optional<Value> Object::find(const std::string& name) {
  if (!has(name)) return std::nullopt;
  return value_.child(name);
}

void Object::done() const {
  for (const auto& member : value_.json().items())
    if (std::find(known_.begin(), known_.end(), member.key()) == known_.end())
      value_.fail(unknown_name("field", member.key(), known_));
}

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 1600;
  if (text.size() > longest)
    return printable(text.substr(0, longest / 2)) + " [...] " +
           printable(text.substr(text.size() - longest / 2));
  std::string safe;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(1, length));
    const bool is_plain = length > 0 && (character == "\n" || !is_control(character));
    safe += is_plain ? std::string(character) : hexadecimal(character);
    text.remove_prefix(character.size());
  }
  return safe;
}

std::string problem_of_text(std::string_view text, bool is_text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return "is not UTF-8: it has the byte " + hexadecimal(text.substr(0, 1));
    const std::string_view character = text.substr(0, length);
    if (is_control(character) && !(is_text && (character == "\n" || character == "\t")))
      return "has the control character " + hexadecimal(character);
    text.remove_prefix(length);
  }
  return "";
}

namespace {

// As it is stored.
std::string stored_text(const std::string& file) {
  if (file == "-") return standard_input([&] { return read_all(std::cin, file); });
  std::error_code problem;
  if (std::filesystem::is_directory(file, problem))
    throw InputError(file, "expected a file, found a folder");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw InputError(file, std::string("cannot be read: ") + std::strerror(errno));
  note_read(file);
  const auto size_B = std::filesystem::file_size(file, problem);
  if (problem) return read_all(stream, file);
  if (size_B > largest_file_B) throw InputError(file, "larger than 1 GiB");
  std::string text(static_cast<std::size_t>(size_B), '\0');
  stream.read(text.data(), static_cast<std::streamsize>(size_B));
  if (stream.bad()) throw InputError(file, std::string("cannot be read: ") + std::strerror(errno));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (!stream.eof()) text += read_all(stream, file);  // it grew, or its size is not told
  return text;
}

// What a packed file may unpack to is limited, because a few kilobytes may become any number.
std::string unpacked_text(std::string packed, const std::string& file, std::uintmax_t most_B) {
  ByteSource source(std::move(packed), file);
  std::string text;
  for (std::string_view piece = source.next(); !piece.empty(); piece = source.next()) {
    text += piece;
    if (text.size() > most_B)
      throw InputError(file, "is packed with gzip, and unpacks to more than " +
                                 std::to_string(most_B >> 20U) + " MiB");
  }
  if (source.is_damaged()) throw InputError(file, "is packed with gzip, and cut off or broken");
  return text;
}

}  // namespace

std::string read_text(const std::string& file, std::uintmax_t most_unpacked_B) {
  std::string text = stored_text(file);
  if (is_gzip(text)) return unpacked_text(std::move(text), file, most_unpacked_B);
  text.erase(0, text.size() - without_mark(text).size());
  return text;
}

namespace {

constexpr std::size_t least_letters = 3;  // of a beginning

// The only one of which it is the beginning; or null.
const std::string* only_that_begins_with(const std::string& name,
                                         const std::vector<std::string>& known) {
  const std::string* only = nullptr;
  if (name.size() < least_letters) return nullptr;
  for (const std::string& candidate : known) {
    if (!in_lower_case(candidate).starts_with(in_lower_case(name))) continue;
    if (only != nullptr) return nullptr;
    only = &candidate;
  }
  return only;
}

// " (did you mean "resnet50_p100" or "resnet50_v100"?)"; empty where there are none, or many.
std::string names_that_begin_with(const std::string& name, const std::vector<std::string>& known) {
  constexpr int most_names = 4;
  if (name.size() < least_letters) return "";
  std::string names;
  int count = 0;
  for (const std::string& candidate : known) {
    if (!in_lower_case(candidate).starts_with(in_lower_case(name))) continue;
    names += (names.empty() ? "\"" : " or \"") + candidate + "\"";
    if (++count > most_names) return "";
  }
  return names.empty() ? "" : " (did you mean " + names + "?)";
}

}  // namespace

std::string unknown_name(const std::string& what, const std::string& name,
                         const std::vector<std::string>& known) {
  std::string sentence = "unknown " + what + " \"" + name.substr(0, 60) + "\"";
  const std::string* nearest = only_that_begins_with(name, known);
  std::size_t distance = 3;  // at most two edits count as near
  if (nearest == nullptr && name.size() <= 60)
    for (const std::string& candidate : known)
      if (const auto d = edit_distance(in_lower_case(name), in_lower_case(candidate));
          d < distance && d < candidate.size()) {
        distance = d;
        nearest = &candidate;
      }
  if (nearest != nullptr)
    sentence += " (did you mean \"" + *nearest + "\"?)";
  else
    sentence += names_that_begin_with(name, known);
  sentence += "; known: ";
  for (std::size_t i = 0; i < known.size(); ++i) sentence += (i == 0 ? "" : ", ") + known[i];
  return sentence;
}

}  // namespace sgdsim
