// Word by word; a rank is kept until its closing brace.
#include "traces/goal.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "traces/byte_reader.h"

namespace sgdsim {
namespace {

constexpr std::size_t longest_word = 200;
constexpr int64_t ps_per_ns = 1000;
constexpr int64_t most_ranks = 1 << 24;
constexpr std::size_t most_operations = std::numeric_limits<uint32_t>::max() - 1;

// Words lie in the buffer that the file is read into, until the next one is asked for.
class Words {
 public:
  Words(ByteReader in, std::string where) : in_(std::move(in)), where_(std::move(where)) { next(); }

  std::string_view word() const { return word_; }  // empty: the end
  uint32_t line() const { return word_line_; }
  [[noreturn]] void fail(const std::string& sentence) const { fail_at(word_line_, sentence); }
  [[noreturn]] void fail_at(uint32_t line, const std::string& sentence) const {
    throw InputError(where_ + ":" + std::to_string(line), sentence);
  }
  [[noreturn]] void fail_expected(const std::string& what) const {
    fail("expected " + what + ", found " + (word_.empty() ? "the end of the file" : quoted()));
  }
  bool accept(std::string_view word) {
    if (word_ != word) return false;
    next();
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word)) fail_expected("\"" + std::string(word) + "\"");
  }
  std::string quoted() const { return "\"" + std::string(word_) + "\""; }

  void next() {
    skip_blanks();
    word_line_ = line_;
    word_ = {};
    if (!has_more()) return;
    std::size_t size = 0;
    if (kind_at(0) == Kind::sign)
      has_more(++size);  // what comes next moves the buffer now, or not before the next word
    else
      while (has_more(size) && kind_at(size) == Kind::letter) ++size;
    word_ = {buffer_.data() + at_, std::min(size, longest_word + 1)};
    at_ += size;
    if (size > longest_word)
      fail("a word of more than " + std::to_string(longest_word) + " characters");
    if (!has_more() || kind_at(0) != Kind::none) return;
    fail("a character that is no word's: byte " + std::to_string(byte_at(0)));
  }

 private:
  enum class Kind : uint8_t { none, blank, sign, letter };
  static constexpr std::array<Kind, 256> kinds = [] {
    std::array<Kind, 256> all{};
    for (std::size_t c = '!'; c <= '~'; ++c) all[c] = Kind::letter;
    for (const char c : {' ', '\t', '\r', '\n', ';'})
      all[static_cast<unsigned char>(c)] = Kind::blank;
    for (const char c : {'{', '}', ':'}) all[static_cast<unsigned char>(c)] = Kind::sign;
    return all;
  }();

  unsigned char byte_at(std::size_t ahead) const {
    return static_cast<unsigned char>(buffer_[at_ + ahead]);
  }
  Kind kind_at(std::size_t ahead) const { return kinds[byte_at(ahead)]; }
  // Whether there is a character so far ahead, which is then in the buffer.
  bool has_more(std::size_t ahead = 0) { return at_ + ahead < filled_ || read_more(ahead); }
  bool read_more(std::size_t kept) {
    // A word longer than the buffer is refused before it is filled.
    if (kept > longest_word) return false;
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(at_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.begin());
    at_ = 0;
    filled_ = kept + in_.read(buffer_.data() + kept, buffer_.size() - kept);
    return filled_ > kept;
  }
  void pass() {
    if (buffer_[at_++] == '\n') ++line_;
  }
  void skip_blanks() {
    while (has_more()) {
      if (kind_at(0) == Kind::blank)
        pass();
      else if (buffer_[at_] == '#')
        skip_line();
      else if (buffer_[at_] == '/')
        skip_comment();
      else
        return;
    }
  }
  void skip_line() {
    while (has_more() && buffer_[at_] != '\n') ++at_;
  }
  void skip_comment() {
    word_line_ = line_;
    word_ = {};
    ++at_;
    if (has_more() && buffer_[at_] == '/') return skip_line();
    if (!has_more() || buffer_[at_] != '*') fail("a \"/\" that begins no comment");
    ++at_;
    for (char before = 0; has_more();) {
      const char now = buffer_[at_];
      pass();
      if (before == '*' && now == '/') return;
      before = now;
    }
    fail("a comment without an end");
  }

  ByteReader in_;
  std::string where_;
  std::vector<char> buffer_ = std::vector<char>(1 << 18);
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  uint32_t line_ = 1;
  uint32_t word_line_ = 1;
  std::string_view word_;
};

// Numbers of the operations of a rank by their labels. Most are a word and a number that counts on:
// these are places in a list.
class Labels {
 public:
  static constexpr uint32_t none = UINT32_MAX;

  void clear() {
    for (Counted& one : counted_) one.numbers.clear();
    others_.clear();
    count_ = 0;
  }
  uint32_t find(std::string_view label) const {
    const Split split = split_of(label);
    if (split.is_counted)
      for (const Counted& one : counted_)
        if (one.word == split.word && split.number < one.numbers.size() &&
            one.numbers[split.number] != none)
          return one.numbers[split.number];
    if (others_.empty()) return none;
    const auto found = others_.find(label);
    return found == others_.end() ? none : found->second;
  }
  // False if it is there.
  bool add(std::string_view label, uint32_t number) {
    if (find(label) != none) return false;
    ++count_;
    const Split split = split_of(label);
    if (!split.is_counted || split.number >= 4 * count_ + most_left_out) {
      others_.emplace(label, number);
      return true;
    }
    auto one = std::find_if(counted_.begin(), counted_.end(),
                            [&](const Counted& it) { return it.word == split.word; });
    if (one == counted_.end()) {
      if (counted_.size() == most_words) {
        others_.emplace(label, number);
        return true;
      }
      one = counted_.insert(one, {std::string(split.word), {}});
    }
    if (split.number >= one->numbers.size()) one->numbers.resize(split.number + 1, none);
    one->numbers[split.number] = number;
    return true;
  }

 private:
  static constexpr std::size_t most_words = 8;
  static constexpr std::size_t most_left_out = 4096;  // numbers, besides three of four
  struct Counted {
    std::string word;
    std::vector<uint32_t> numbers;
  };
  struct Split {
    std::string_view word;
    std::size_t number = 0;
    bool is_counted = false;
  };
  // "l12" is l and 12; "l012" is another label, which is not counted.
  static Split split_of(std::string_view label) {
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

  std::vector<Counted> counted_;
  std::map<std::string, uint32_t, std::less<>> others_;
  std::size_t count_ = 0;
};

class GoalReader {
 public:
  GoalReader(ByteReader in, std::string where) : words_(std::move(in), std::move(where)) {}

  RankSchedule read() {
    words_.expect("num_ranks");
    ranks_ = static_cast<uint32_t>(whole("the number of ranks", 1, most_ranks));
    RankSchedule schedule(ranks_);
    while (!words_.word().empty()) {
      words_.expect("rank");
      const uint32_t line = words_.line();
      const auto rank = static_cast<uint32_t>(whole("a rank", 0, int64_t{ranks_} - 1));
      words_.expect("{");
      operations_.clear();
      requirements_.clear();
      pending_.clear();
      labels_.clear();
      while (!words_.accept("}")) statement();
      resolve();
      if (schedule.operations().size() + operations_.size() > most_operations)
        words_.fail("more than " + std::to_string(most_operations) + " operations");
      if (!schedule.write(rank, operations_, requirements_))
        words_.fail_at(line, "rank " + std::to_string(rank) + " has been written before");
    }
    return schedule;
  }

 private:
  struct Pending {
    std::string then, first;
    bool at_start = false;
    uint32_t line = 0;
  };

  int64_t number_of(std::string_view digits, const char* what, int64_t least, int64_t most) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::invalid_argument || end != digits.data() + digits.size())
      words_.fail_expected(what);
    if (error != std::errc() || value < least || value > most)
      words_.fail(std::string(what) + " is " + words_.quoted() + "; it must be from " +
                  std::to_string(least) + " to " + std::to_string(most));
    return value;
  }
  int64_t whole(const char* what, int64_t least, int64_t most) {
    const int64_t value = number_of(words_.word(), what, least, most);
    words_.next();
    return value;
  }
  // In picoseconds; up to three decimals.
  int64_t nanoseconds() {
    constexpr const char* what = "a number of nanoseconds";
    const std::string_view word = words_.word();
    const std::size_t point = std::min(word.find('.'), word.size());
    const int64_t whole_ns = number_of(word.substr(0, point), what, 0,
                                       std::numeric_limits<int64_t>::max() / ps_per_ns - 1);
    int64_t rest_ps = 0;
    if (point < word.size()) {
      std::string decimals(word.substr(point + 1));
      if (decimals.empty() || decimals.size() > 3 || decimals.front() == '-')
        words_.fail_expected("a number of nanoseconds with up to three decimals");
      decimals.resize(3, '0');
      rest_ps = number_of(decimals, what, 0, ps_per_ns - 1);
    }
    words_.next();
    return ps_per_ns * whole_ns + rest_ps;
  }
  int64_t size() {
    const std::string_view word = words_.word();
    if (word.size() < 2 || word.back() != 'b') words_.fail_expected("a size such as 1024b");
    const int64_t value = number_of(word.substr(0, word.size() - 1), "a size", 0,
                                    std::numeric_limits<int64_t>::max());
    words_.next();
    return value;
  }
  // Of a receive, any will do.
  uint32_t place(const char* what, int64_t most, bool may_be_any) {
    if (may_be_any && (words_.accept("any") || words_.accept("-1"))) return RankOperation::any;
    return static_cast<uint32_t>(whole(what, 0, most));
  }

  void statement() {
    if (words_.word().empty()) words_.fail_expected("\"}\"");
    const uint32_t line = words_.line();
    if (is_operation(words_.word())) return operation("");
    const std::string name(words_.word());
    if (name == "{" || name == "}" || name == ":") words_.fail_expected("an operation");
    words_.next();
    if (words_.accept(":")) {
      if (!is_operation(words_.word())) words_.fail_expected("calc, send or recv");
      return operation(name);
    }
    const bool at_start = words_.word() == "irequires";
    if (!at_start && words_.word() != "requires")
      words_.fail_expected("\":\", \"requires\" or \"irequires\" behind \"" + name + "\"");
    words_.next();
    const uint32_t then = labels_.find(name);
    const uint32_t first = labels_.find(words_.word());
    if (then != Labels::none && first != Labels::none)
      requirements_.push_back({first, then, at_start});
    else
      pending_.push_back({name, std::string(words_.word()), at_start, line});
    words_.next();
  }
  static bool is_operation(std::string_view word) {
    return word == "calc" || word == "send" || word == "recv";
  }

  void operation(const std::string& label) {
    RankOperation one;
    one.line = words_.line();
    if (words_.accept("calc")) {
      one.amount = nanoseconds();
    } else {
      one.verb = words_.word() == "send" ? RankVerb::send : RankVerb::receive;
      const bool receives = one.verb == RankVerb::receive;
      words_.next();
      one.amount = size();
      words_.expect(receives ? "from" : "to");
      one.peer = place("a rank", int64_t{ranks_} - 1, receives);
    }
    for (;;) {
      constexpr int64_t most_number = std::numeric_limits<uint16_t>::max();
      if (words_.accept("cpu"))
        one.processor = place("a processor", most_number, false);
      else if (words_.accept("nic"))
        one.card = static_cast<uint16_t>(place("a card", most_number, false));
      else if (one.verb != RankVerb::compute && words_.accept("tag"))
        one.tag = place("a tag", int64_t{RankOperation::any} - 1, one.verb == RankVerb::receive);
      else
        break;
    }
    if (!label.empty() && !labels_.add(label, static_cast<uint32_t>(operations_.size())))
      words_.fail("the label \"" + label + "\" occurs twice in its rank");
    operations_.push_back(one);
  }

  // Labels that stood before what they name.
  void resolve() {
    for (const Pending& one : pending_) {
      const auto find = [&](const std::string& label) {
        const uint32_t found = labels_.find(label);
        if (found == Labels::none)
          words_.fail_at(one.line, "\"" + label + "\" is no label of this rank");
        return found;
      };
      requirements_.push_back({find(one.first), find(one.then), one.at_start});
    }
  }

  Words words_;
  uint32_t ranks_ = 0;
  std::vector<RankOperation> operations_;  // of this rank
  std::vector<RankSchedule::Requirement> requirements_;
  std::vector<Pending> pending_;
  Labels labels_;
};

}  // namespace

RankSchedule read_goal(const std::string& file) {
  return GoalReader(ByteReader::of_file(file), file == "-" ? "standard input" : file).read();
}

void write_goal_head(std::ostream& out, uint32_t ranks) { out << "num_ranks " << ranks << '\n'; }

void write_goal_rank(std::ostream& out, uint32_t rank, const std::vector<RankOperation>& operations,
                     const std::vector<RankSchedule::Requirement>& requirements, bool exact) {
  struct Written {
    int64_t ps = 0;  // of the processor's work so far
    int64_t ns = 0;
  };
  std::map<uint32_t, Written> written;
  out << "rank " << rank << " {\n";
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const RankOperation& one = operations[i];
    out << 'o' << i << ": ";
    if (one.verb == RankVerb::compute) {
      Written& so_far = written[one.processor];
      so_far.ps += one.amount;
      const int64_t ns = (so_far.ps + ps_per_ns / 2) / ps_per_ns - so_far.ns;
      so_far.ns += ns;
      if (exact) {
        std::string decimals = std::to_string(ps_per_ns + one.amount % ps_per_ns);
        out << "calc " << one.amount / ps_per_ns << '.' << decimals.substr(1);
      } else {
        out << "calc " << ns;
      }
    } else {
      const bool sends = one.verb == RankVerb::send;
      out << (sends ? "send " : "recv ") << one.amount << (sends ? "b to " : "b from ") << one.peer
          << " tag " << one.tag;
    }
    if (one.processor != 0) out << " cpu " << one.processor;
    if (one.card != 0) out << " nic " << one.card;
    out << '\n';
  }
  for (const RankSchedule::Requirement& one : requirements)
    out << 'o' << one.then << (one.at_start ? " irequires o" : " requires o") << one.first << '\n';
  out << "}\n";
}

RankSchedule parse_goal(const std::string& text, const std::string& where) {
  return GoalReader(ByteReader::of_text(text, where), where).read();
}

}  // namespace sgdsim
