// From text to JSON values, and lists that are too long to be kept as values.
#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <set>

#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/json.h"

namespace sgdsim {
namespace {

constexpr std::size_t deepest_nesting = 64;
constexpr std::size_t longest_list_of_values = 1 << 16;

// How numbers that JSON lacks go through a parser that refuses them: as texts that no file can
// have, because they begin with a control character.
constexpr std::array<std::pair<std::string_view, double>, 3> foreign_numbers{
    {{"NaN", std::numeric_limits<double>::quiet_NaN()},
     {"Infinity", std::numeric_limits<double>::infinity()},
     {"-Infinity", -std::numeric_limits<double>::infinity()}}};
constexpr char foreign_mark = '\x01';
constexpr std::string_view escaped_mark = "\"\\u0001";  // and the quote behind it

// The byte behind the comment that begins here; `at` itself if none does.
std::size_t behind_comment(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
  if (text.substr(at, 2) != "/*") return at;
  const std::size_t end = text.find("*/", at + 2);
  return end == text.npos ? text.size() : end + 2;
}

std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

bool is_in_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '.';
}

// The number of this text at this place; nullptr if there is none.
const std::pair<std::string_view, double>* foreign_number_at(std::string_view text,
                                                             std::size_t at) {
  if (at > 0 && (is_in_word(text[at - 1]) || text[at - 1] == '-')) return nullptr;
  for (const auto& number : foreign_numbers) {
    const std::size_t end = at + number.first.size();
    if (text.substr(at).starts_with(number.first) && (end == text.size() || !is_in_word(text[end])))
      return &number;
  }
  return nullptr;
}

// A text whose foreign numbers are marked, and by how much it has grown from which byte on.
struct MarkedText {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>> grown;  // place in `text`, and growth up to it

  // Where the `byte`-th byte was, counted from 1.
  std::size_t place_before(std::size_t byte) const {
    std::size_t growth = 0;
    for (const auto& [place, up_to] : grown)
      if (place < byte) growth = up_to;
    return byte - std::min(byte, growth);
  }
};

MarkedText marked(std::string_view text) {
  MarkedText made;
  std::size_t kept = 0;  // bytes of `text` that are in made.text
  for (std::size_t at = 0; at < text.size();) {
    const char letter = text[at];
    if (letter == '"') {
      at = behind_string(text, at);
    } else if (letter == '/') {
      at = std::max(at + 1, behind_comment(text, at));
    } else if (letter != 'N' && letter != 'I' && letter != '-') {
      ++at;
    } else if (const auto* number = foreign_number_at(text, at); number != nullptr) {
      made.text.append(text.substr(kept, at - kept)).append(escaped_mark);
      made.text.append(number->first) += '"';
      at += number->first.size();
      kept = at;
      made.grown.emplace_back(made.text.size(), made.text.size() - at);
    } else {
      ++at;
    }
  }
  if (kept > 0) made.text.append(text.substr(kept));
  return made;
}

// What the parser is to read of foreign JSON; `made` keeps it.
std::string_view to_parse(std::string_view text, MarkedText& made) {
  if (text.find("NaN") == text.npos && text.find("Infinity") == text.npos) return text;
  made = marked(text);
  return made.grown.empty() ? text : std::string_view(made.text);
}

// The number that this text stands for, if it is a marked one.
std::optional<double> marked_number(std::string_view text) {
  if (!text.starts_with(foreign_mark)) return std::nullopt;
  for (const auto& [name, value] : foreign_numbers)
    if (text.substr(1) == name) return value;
  return std::nullopt;
}

// Where the `byte`-th byte stands, counted from 1; one past the end if the text ends too early.
std::string line_and_column(std::string_view text, std::size_t byte) {
  byte = std::min(byte, text.size() + 1);
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  return "line " + std::to_string(line) + ", column " +
         std::to_string(before.size() - line_start + 1);
}

// What is known about the mistake at the `byte`-th byte, to follow its place in a sentence.
std::string what_stands_at(std::string_view text, std::size_t byte) {
  if (byte > text.size()) return " (the text ends too early)";
  const char found = byte == 0 ? ' ' : text[byte - 1];
  if (found != ']' && found != '}') return "";
  const std::size_t before = text.substr(0, byte - 1).find_last_not_of(" \t\r\n");
  if (before == text.npos || text[before] != ',') return "";
  return std::string(" (there is a comma before \"") + found +
         "\"; JSON has none after the last entry)";
}

// Refuses what nests too deep, repeats a key within one object, or has control characters.
class Watch {
 public:
  explicit Watch(std::string file) : file_(std::move(file)) {}

  bool null() { return visit(); }
  bool boolean(bool) { return visit(); }
  bool number_integer(int64_t) { return visit(); }
  bool number_unsigned(uint64_t) { return visit(); }
  bool number_float(double, const std::string&) { return visit(); }
  bool string(const std::string& text) {
    refuse(problem_of_text(text, true), "a string");
    return visit();
  }
  bool binary(const Json::binary_t&) { return visit(); }
  bool start_object(std::size_t) { return open(); }
  bool start_array(std::size_t) { return open(); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(const std::string& key) {
    visit();
    refuse(problem_of_text(key, false), "a key");
    if (!keys_.back().insert(key).second)
      throw InputError(file_, "the key \"" + key + "\" occurs twice in one object");
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const std::exception&) { return false; }

 protected:
  const std::string& file() const { return file_; }

 private:
  void refuse(const std::string& problem, const std::string& what) const {
    if (!problem.empty()) throw InputError(file_, what + " " + problem);
  }
  bool visit() const {
    if (keys_.size() > deepest_nesting)
      throw InputError(file_, "nested deeper than " + std::to_string(deepest_nesting) + " levels");
    return true;
  }
  bool open() {
    visit();
    keys_.emplace_back();
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  std::string file_;
  std::vector<std::set<std::string>> keys_;  // of every object or array that is open
};

// Packed lists are the texts of their entries, one in a line.
void pack(Json::binary_t& lines, const Json& entry) {
  const std::string text = entry.dump();
  lines.insert(lines.end(), text.begin(), text.end());
  lines.push_back('\n');
}

// Makes the values, of what Watch lets pass.
class Builder : public Watch {
 public:
  // `made`: what is parsed of foreign JSON.
  Builder(std::string_view text, const std::string& file, const MarkedText* made = nullptr)
      : Watch(file), text_(text), made_(made) {}

  Json take() { return std::move(root_); }

  bool null() { return Watch::null() && add(nullptr); }
  bool boolean(bool value) { return Watch::boolean(value) && add(value); }
  bool number_integer(int64_t value) { return Watch::number_integer(value) && add(value); }
  bool number_unsigned(uint64_t value) { return Watch::number_unsigned(value) && add(value); }
  bool number_float(double value, const std::string& text) {
    return Watch::number_float(value, text) && add(value);
  }
  bool string(std::string& text) {
    if (made_ != nullptr)
      if (const auto number = marked_number(text)) return number_float(*number, text);
    return Watch::string(text) && add(std::move(text));
  }
  bool start_object(std::size_t size) { return Watch::start_object(size) && open(Json::object()); }
  bool start_array(std::size_t size) {
    ++lists_;
    return Watch::start_array(size) && open(Json::array());
  }
  bool key(std::string& key) {
    if (!Watch::key(key)) return false;
    // The keys are known to differ, and emplace would look through all of them.
    auto& members = open_.back()->get_ref<Json::object_t&>();
    using Members = std::vector<std::pair<const std::string, Json>>;
    next_ = &static_cast<Members&>(members).emplace_back(std::move(key), nullptr).second;
    return true;
  }
  bool end_object() { return Watch::end_object() && close(); }
  bool end_array() {
    --lists_;
    return Watch::end_array() && close();
  }
  bool parse_error(std::size_t byte, const std::string&, const std::exception& problem) {
    if (dynamic_cast<const Json::out_of_range*>(&problem) != nullptr)
      throw InputError(file(), "not JSON: a number is out of range");
    if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff"))
      throw InputError(file(), "not JSON: UTF-16; save it as UTF-8");
    if (made_ != nullptr) byte = made_->place_before(byte);
    throw InputError(file(),
                     "not JSON: " + line_and_column(text_, byte) + what_stands_at(text_, byte));
  }

 private:
  // Where the next value belongs: the root, the member of the last key, or the end of a list. A
  // packed list gets its entries one by one, when they are whole.
  Json& place() {
    if (open_.empty()) return root_;
    Json& parent = *open_.back();
    if (parent.is_object()) return *next_;
    if (parent.is_binary()) return entry_;
    return parent.get_ref<Json::array_t&>().emplace_back();
  }
  bool add(Json value) {
    place() = std::move(value);
    return ended();
  }
  bool open(Json value) {
    Json& here = place();
    here = std::move(value);
    open_.push_back(&here);
    return true;
  }
  bool close() {
    open_.pop_back();
    return ended();
  }
  // A value is whole.
  bool ended() {
    if (open_.empty()) return true;
    Json& parent = *open_.back();
    if (parent.is_binary()) {
      pack(parent.get_binary(), entry_);
    } else if (parent.is_array() && lists_ == 1 && parent.size() > longest_list_of_values) {
      Json::binary_t lines;
      lines.reserve(text_.size());  // untouched pages cost nothing
      for (const Json& entry : parent) pack(lines, entry);
      parent = Json::binary(std::move(lines));
    }
    return true;
  }

  std::string_view text_;   // as it is in the file
  const MarkedText* made_;  // that is parsed in its place, if there is one
  Json root_;
  Json entry_;               // of a packed list
  std::vector<Json*> open_;  // objects and lists that have not ended, outermost first
  Json* next_ = nullptr;     // the member whose key came last
  int lists_ = 0;            // of the open ones
};

// Where a line that is no JSON is an answer, not a mistake.
class LineBuilder : public Builder {
 public:
  using Builder::Builder;
  static bool parse_error(std::size_t, const std::string&, const std::exception&) { return false; }
};

}  // namespace

bool is_list(const Json& json) { return json.is_array() || json.is_binary(); }

void for_each_in(const Json& list, const std::function<void(const Json&)>& f) {
  if (!list.is_binary()) {
    for (const Json& entry : list) f(entry);
    return;
  }
  const Json::binary_t& lines = list.get_binary();
  for (auto line = lines.begin(); line != lines.end(); ++line) {
    const auto end = std::find(line, lines.end(), '\n');
    f(Json::parse(line, end));
    line = end;
  }
}

std::size_t size_of(const Json& list) {
  if (!list.is_binary()) return list.size();
  const Json::binary_t& lines = list.get_binary();
  return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
}

Json unpacked(const Json& list) {
  Json all = Json::array();
  for_each_in(list, [&](const Json& entry) { all.push_back(entry); });
  return all;
}

Document::Document(Json json, std::string file)
    : json_(std::make_shared<const Json>(std::move(json))), file_(std::move(file)) {}

bool check_text(std::string_view text, const std::string& where) {
  Watch watch(where);
  return Json::sax_parse(text, &watch);
}

Document Document::parse(std::string_view text, const std::string& file) {
  Builder builder(text, file);
  Json::sax_parse(text, &builder);
  return {builder.take(), file};
}

// Where a file is asked for, JSON itself will do.
Document Document::read(const std::string& file) {
  if (file.starts_with('{')) return parse(file, "inline");
  return parse(read_text(file), file);
}

Json foreign_json(std::string_view text, const std::string& file) {
  MarkedText made;
  Builder builder(text, file, &made);
  Json::sax_parse(to_parse(text, made), &builder, Json::input_format_t::json, true, true);
  return builder.take();
}

std::optional<Json> foreign_value(std::string_view text, const std::string& where) {
  MarkedText made;
  LineBuilder builder(text, where, &made);
  if (!Json::sax_parse(to_parse(text, made), &builder, Json::input_format_t::json, true, true))
    return std::nullopt;
  return builder.take();
}

char first_of_json(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    at = text.find_first_not_of(" \t\r\n", at);
    if (at == text.npos) break;
    const std::size_t behind = behind_comment(text, at);
    if (behind == at) return text[at];
    at = behind;
  }
  return '\0';
}

std::string text_member(const Json& json, const std::string& name) {
  if (!json.is_object()) return "";
  const auto member = json.find(name);
  return member != json.end() && member->is_string() ? member->get<std::string>() : "";
}

}  // namespace sgdsim
