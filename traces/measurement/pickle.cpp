// Values stand in one list and name each other by number, so that a value which is used a thousand
// times stands there once; only the conversion to JSON repeats it, within a limit.
#include "traces/measurement/pickle.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <map>
#include <variant>
#include <vector>

#include "traces/measurement/pickle_bytes.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_values = 5'000'000;
// A value that is named again takes two bytes and may hold others: so many times the file's bytes,
// and a little more, and no more.
constexpr std::size_t most_repeats = 16;
constexpr std::size_t always_converted = 10'000;
constexpr int deepest = 64;

using ValueNumber = uint32_t;  // of a value

struct PickleItems {
  std::vector<ValueNumber> values{};  // of a dictionary: key, value, key, value, ...
  bool is_dictionary = false;
  bool is_tuple = false;
};

using PickleValue =
    std::variant<std::nullptr_t, bool, int64_t, double, std::string_view, PickleItems>;

struct RefusedInstruction {
  unsigned char code = 0;
  std::string_view name;
};

// What imports, calls or builds objects, or leaves the file.
constexpr std::array<RefusedInstruction, 18> refused{{{'c', "GLOBAL"},
                                                      {0x93, "STACK_GLOBAL"},
                                                      {'R', "REDUCE"},
                                                      {'b', "BUILD"},
                                                      {'i', "INST"},
                                                      {'o', "OBJ"},
                                                      {0x81, "NEWOBJ"},
                                                      {0x92, "NEWOBJ_EX"},
                                                      {0x82, "EXT1"},
                                                      {0x83, "EXT2"},
                                                      {0x84, "EXT4"},
                                                      {'P', "PERSID"},
                                                      {'Q', "BINPERSID"},
                                                      {0x97, "NEXT_BUFFER"},
                                                      {0x98, "READONLY_BUFFER"},
                                                      {0x8f, "EMPTY_SET"},
                                                      {0x90, "ADDITEMS"},
                                                      {0x91, "FROZENSET"}}};

class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, const std::string& file) : bytes_(bytes, file) {}

  Json run(std::string_view left_out) {
    left_out_ = left_out;
    while (!done_) step();
    Json json;
    convert(pop(), 1, json);
    return json;
  }

 private:
  [[noreturn]] void fail(const std::string& sentence) const { bytes_.fail(sentence); }

  // ---- the values

  ValueNumber add(PickleValue value) {
    if (values_.size() >= most_values) fail("more than " + std::to_string(most_values) + " values");
    values_.push_back(std::move(value));
    return static_cast<ValueNumber>(values_.size() - 1);
  }
  void push(PickleValue value) { stack_.push_back(add(std::move(value))); }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  ValueNumber pop() {
    if (stack_.size() <= floor()) fail("the pickle takes a value that is not there");
    const ValueNumber top = stack_.back();
    stack_.pop_back();
    return top;
  }
  ValueNumber top() {
    if (stack_.size() <= floor()) fail("the pickle takes a value that is not there");
    return stack_.back();
  }
  std::vector<ValueNumber> pop_to_mark() {
    if (marks_.empty()) fail("the pickle takes a mark that is not there");
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<ValueNumber> values(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return values;
  }
  void push_tuple(std::size_t count) {
    PickleItems items{.is_tuple = true};
    for (std::size_t i = 0; i < count; ++i) items.values.insert(items.values.begin(), pop());
    push(std::move(items));
  }
  void append(const std::vector<ValueNumber>& values, bool to_dictionary) {
    auto* const items = std::get_if<PickleItems>(&values_[top()]);
    if (items == nullptr || items->is_dictionary != to_dictionary || items->is_tuple)
      fail(std::string("the pickle adds to something that is no ") +
           (to_dictionary ? "dictionary" : "list"));
    if (to_dictionary && values.size() % 2 != 0) fail("a key of a dictionary has no value");
    items->values.insert(items->values.end(), values.begin(), values.end());
  }
  std::vector<ValueNumber> pop_pair() {
    const ValueNumber value = pop();
    return {pop(), value};
  }

  // ---- numbers and texts

  void push_long(uint64_t count) {
    if (count > 8) fail("a number of more than 64 bits");
    uint64_t number = 0;
    const std::string_view part = bytes_.take(count);
    for (std::size_t i = 0; i < part.size(); ++i)
      number |= static_cast<uint64_t>(static_cast<unsigned char>(part[i])) << (8 * i);
    const bool is_negative = count > 0 && (static_cast<unsigned char>(part.back()) & 0x80U) != 0;
    if (is_negative && count < 8) number |= ~uint64_t{0} << (8 * count);
    push(std::bit_cast<int64_t>(number));
  }
  void push_decimal(std::string_view text) {
    if (text == "00" || text == "01") return push(text == "01");  // how protocol 0 writes flags
    if (text.ends_with('L')) text.remove_suffix(1);
    int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, number);
    if (problem != std::errc{} || rest != end) fail("expected a whole number of 64 bits");
    push(number);
  }
  void push_float(std::string_view text) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, number);
    if (problem != std::errc{} || rest != end) fail("expected a number");
    push(number);
  }
  void push_big_endian_float() {
    uint64_t number = 0;
    for (const char byte : bytes_.take(8)) number = number << 8U | static_cast<unsigned char>(byte);
    push(std::bit_cast<double>(number));
  }
  // 'text', as protocol 0 writes it. Texts with escapes are not needed here.
  void push_quoted(std::string_view text) {
    const bool is_quoted = text.size() >= 2 && (text[0] == '\'' || text[0] == '"') &&
                           text.back() == text[0] && text.find('\\') == std::string_view::npos;
    if (!is_quoted) fail("expected a text in quotes, without escapes");
    push(text.substr(1, text.size() - 2));
  }
  void push_escaped(std::string_view text) {
    if (text.find('\\') != std::string_view::npos) fail("a text with escapes");
    push(text);
  }

  // ---- the instructions

  void remember(uint64_t place) {
    if (memo_.size() >= most_values) fail("more than " + std::to_string(most_values) + " memos");
    memo_[place] = top();
  }
  void recall(uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end())
      fail("the pickle asks for memo " + std::to_string(place) + ", which it has not made");
    if (stack_.size() >= most_values) fail("more than " + std::to_string(most_values) + " values");
    stack_.push_back(found->second);
  }
  uint64_t place_in(std::string_view text) const {
    uint64_t place = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, place);
    if (problem != std::errc{} || rest != end) fail("expected the number of a memo");
    return place;
  }

  void step();
  bool step_number(unsigned char code);
  bool step_text(unsigned char code);
  bool step_items(unsigned char code);
  bool step_memo(unsigned char code);
  void convert(ValueNumber number, int depth, Json& json);
  std::string key_of(ValueNumber number) const;

  PickleBytes bytes_;
  std::string_view left_out_;
  bool done_ = false;
  std::vector<PickleValue> values_;
  std::vector<ValueNumber> stack_;
  std::vector<std::size_t> marks_;
  std::map<uint64_t, ValueNumber> memo_;
  std::size_t converted_ = 0;
};

bool PickleMachine::step_number(unsigned char code) {
  switch (code) {
    case 'N':
      push(nullptr);
      return true;
    case 0x88:
      push(true);
      return true;
    case 0x89:
      push(false);
      return true;
    case 'J':
      push(int64_t{static_cast<int32_t>(bytes_.little_endian(4))});
      return true;
    case 'K':
      push(static_cast<int64_t>(bytes_.little_endian(1)));
      return true;
    case 'M':
      push(static_cast<int64_t>(bytes_.little_endian(2)));
      return true;
    case 'I':
    case 'L':
      push_decimal(bytes_.line());
      return true;
    case 0x8a:
      push_long(bytes_.little_endian(1));
      return true;
    case 0x8b:
      push_long(bytes_.little_endian(4));
      return true;
    case 'F':
      push_float(bytes_.line());
      return true;
    case 'G':
      push_big_endian_float();
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_text(unsigned char code) {
  switch (code) {
    case 'S':
      push_quoted(bytes_.line());
      return true;
    case 'V':
      push_escaped(bytes_.line());
      return true;
    case 'U':
    case 'C':
    case 0x8c:
      push(bytes_.take(bytes_.little_endian(1)));
      return true;
    case 'T':
    case 'B':
    case 'X':
      push(bytes_.take(bytes_.little_endian(4)));
      return true;
    case 0x8d:
    case 0x8e:
    case 0x96:
      push(bytes_.take(bytes_.little_endian(8)));
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_items(unsigned char code) {
  switch (code) {
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case ']':
      push(PickleItems{});
      return true;
    case ')':
      push(PickleItems{.is_tuple = true});
      return true;
    case '}':
      push(PickleItems{.is_dictionary = true});
      return true;
    case 'l':
      push(PickleItems{.values = pop_to_mark()});
      return true;
    case 't':
      push(PickleItems{.values = pop_to_mark(), .is_tuple = true});
      return true;
    case 'd': {
      const std::vector<ValueNumber> pairs = pop_to_mark();
      push(PickleItems{.is_dictionary = true});
      append(pairs, true);
      return true;
    }
    case 0x85:
      push_tuple(1);
      return true;
    case 0x86:
      push_tuple(2);
      return true;
    case 0x87:
      push_tuple(3);
      return true;
    case 'a': {
      const ValueNumber value = pop();
      append({value}, false);
      return true;
    }
    case 'e':
      append(pop_to_mark(), false);
      return true;
    case 's':
      append(pop_pair(), true);
      return true;
    case 'u':
      append(pop_to_mark(), true);
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_memo(unsigned char code) {
  switch (code) {
    case 'p':
      remember(place_in(bytes_.line()));
      return true;
    case 'q':
      remember(bytes_.little_endian(1));
      return true;
    case 'r':
      remember(bytes_.little_endian(4));
      return true;
    case 0x94:
      remember(memo_.size());
      return true;
    case 'g':
      recall(place_in(bytes_.line()));
      return true;
    case 'h':
      recall(bytes_.little_endian(1));
      return true;
    case 'j':
      recall(bytes_.little_endian(4));
      return true;
    default:
      return false;
  }
}

void PickleMachine::step() {
  bytes_.begin_instruction();
  const auto code = static_cast<unsigned char>(bytes_.take(1)[0]);
  constexpr unsigned char protocol = 0x80;
  constexpr unsigned char frame = 0x95;
  if (code == protocol) {
    if (const uint64_t version = bytes_.little_endian(1); version > 5)
      fail("protocol " + std::to_string(version) + " of pickles; known: 0 to 5");
  } else if (code == frame) {
    bytes_.little_endian(8);  // how many bytes belong together says nothing about them
  } else if (code == '.') {
    if (!marks_.empty() || stack_.size() != 1) fail("the pickle ends with other than one value");
    done_ = true;
  } else if (!step_number(code) && !step_text(code) && !step_items(code) && !step_memo(code)) {
    for (const RefusedInstruction& one : refused)
      if (one.code == code)
        fail("refused: the instruction " + std::string(one.name) +
             " may run what the file names, or makes what is no plain data; nothing was run");
    fail("refused: unknown instruction " + std::to_string(code));
  }
}

std::string PickleMachine::key_of(ValueNumber number) const {
  const PickleValue& key = values_[number];
  if (const auto* text = std::get_if<std::string_view>(&key)) return std::string(*text);
  if (const auto* whole = std::get_if<int64_t>(&key)) return std::to_string(*whole);
  fail("a key of a dictionary is no text and no whole number");
}

void PickleMachine::convert(ValueNumber number, int depth, Json& json) {
  if (++converted_ > always_converted + most_repeats * bytes_.size())
    fail("values that name each other again and again: more than " +
         std::to_string(converted_ - 1) + " from " + std::to_string(bytes_.size()) + " bytes");
  if (depth > deepest) fail("nested deeper than " + std::to_string(deepest) + " levels");
  const PickleValue& value = values_[number];
  if (const auto* flag = std::get_if<bool>(&value)) json = *flag;
  if (const auto* whole = std::get_if<int64_t>(&value)) json = *whole;
  if (const auto* real = std::get_if<double>(&value)) json = *real;
  if (const auto* text = std::get_if<std::string_view>(&value)) json = *text;
  const auto* items = std::get_if<PickleItems>(&value);
  if (items == nullptr) return;
  if (!items->is_dictionary) {
    json = Json::array();
    for (const ValueNumber one : items->values) convert(one, depth + 1, json.emplace_back());
    return;
  }
  json = Json::object();
  std::map<std::string, ValueNumber> members;  // the last of a name counts, as in Python
  std::vector<std::string> order;
  for (std::size_t i = 0; i < items->values.size(); i += 2) {
    std::string key = key_of(items->values[i]);
    if (key == left_out_) continue;
    if (members.insert_or_assign(key, items->values[i + 1]).second) order.push_back(key);
  }
  for (const std::string& key : order) {
    Json member;
    convert(members.at(key), depth + 1, member);
    // Names differ already: a search among the others is not needed.
    json.get_ref<Json::object_t&>().push_back({key, std::move(member)});
  }
}

}  // namespace

Json read_pickle(std::string_view bytes, const std::string& file, std::string_view left_out) {
  return PickleMachine(bytes, file).run(left_out);
}

}  // namespace sgdsim
