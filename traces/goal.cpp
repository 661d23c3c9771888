// Word by word; a rank is kept until its closing brace.
#include "traces/goal.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>
#include <ostream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "traces/byte_reader.h"
#include "traces/goal_labels.h"
#include "traces/goal_words.h"

namespace sgdsim {
namespace {

constexpr int64_t ps_per_ns = 1000;
constexpr int64_t most_ranks = 1 << 24;
constexpr std::size_t most_operations = std::numeric_limits<uint32_t>::max() - 1;

class GoalReader {
 public:
  // So many bytes; 0: nobody knows.
  GoalReader(ByteReader in, std::string where, uint64_t bytes)
      : words_(std::move(in), std::move(where)), bytes_(bytes) {}

  RankSchedule read() {
    words_.expect("num_ranks");
    ranks_ = static_cast<uint32_t>(whole("the number of ranks", 1, most_ranks));
    RankSchedule schedule(ranks_);
    while (!words_.is_at_end()) {
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
      if (bytes_ > 0)
        schedule.make_room(operations_.size(), requirements_.size(),
                           static_cast<double>(bytes_) / static_cast<double>(words_.offset()));
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
  // Of the word without its last characters.
  int64_t number_before(std::size_t unit, const char* what, int64_t least, int64_t most) {
    const GoalWord& word = words_.word();
    const std::size_t digits = word.size - unit;
    if (word.size > unit && word.size <= PackedCharacters::most) {
      const int64_t value = word.packed.number(digits);
      if (value >= 0 && value >= least && value <= most) return value;
    }
    return number_of(word.text().substr(0, digits), what, least, most);
  }
  int64_t whole(const char* what, int64_t least, int64_t most) {
    const int64_t value = number_before(0, what, least, most);
    words_.next();
    return value;
  }
  // In picoseconds; up to three decimals.
  int64_t nanoseconds() {
    constexpr const char* what = "a number of nanoseconds";
    constexpr int64_t most_ns = std::numeric_limits<int64_t>::max() / ps_per_ns - 1;
    const std::string_view word = words_.word().text();
    const std::size_t point = std::min(word.find('.'), word.size());
    const int64_t whole_ns = number_before(word.size() - point, what, 0, most_ns);
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
    const std::string_view word = words_.word().text();
    if (word.size() < 2 || word.back() != 'b') words_.fail_expected("a size such as 1024b");
    const int64_t value = number_before(1, "a size", 0, std::numeric_limits<int64_t>::max());
    words_.next();
    return value;
  }
  // Of a receive, any will do.
  uint32_t place(const char* what, int64_t most, bool may_be_any) {
    if (may_be_any && (words_.accept("any") || words_.accept("-1"))) return RankOperation::any;
    return static_cast<uint32_t>(whole(what, 0, most));
  }

  void statement() {
    if (words_.is_at_end()) words_.fail_expected("\"}\"");
    const uint32_t line = words_.line();
    if (is_operation()) return operation(false);
    if (words_.is("{") || words_.is("}") || words_.is(":")) words_.fail_expected("an operation");
    words_.hold();
    words_.next();
    if (words_.accept(":")) {
      if (!is_operation()) words_.fail_expected("calc, send or recv");
      return operation(true);
    }
    const bool at_start = words_.is("irequires");
    if (!at_start && !words_.is("requires"))
      words_.fail_expected("\":\", \"requires\" or \"irequires\" behind \"" + held() + "\"");
    words_.next();
    const uint32_t then = labels_.find(words_.held());
    const uint32_t first = labels_.find(words_.word());
    if (then != GoalLabels::none && first != GoalLabels::none)
      requirements_.push_back({first, then, at_start});
    else
      pending_.push_back({held(), std::string(words_.word().text()), at_start, line});
    words_.next();
  }
  bool is_operation() const { return words_.is("calc") || words_.is("send") || words_.is("recv"); }
  std::string held() const { return std::string(words_.held().text()); }

  // Its label is held.
  void operation(bool has_label) {
    RankOperation one;
    one.line = words_.line();
    if (words_.accept("calc")) {
      one.amount = nanoseconds();
    } else {
      one.verb = words_.is("send") ? RankVerb::send : RankVerb::receive;
      const bool receives = one.verb == RankVerb::receive;
      words_.next();
      one.amount = size();
      if (receives)
        words_.expect("from");
      else
        words_.expect("to");
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
    if (has_label && !labels_.add(words_.held(), static_cast<uint32_t>(operations_.size())))
      words_.fail("the label \"" + held() + "\" occurs twice in its rank");
    operations_.push_back(one);
  }

  // Labels that stood before what they name.
  void resolve() {
    for (const Pending& one : pending_) {
      const auto find = [&](const std::string& label) {
        const uint32_t found = labels_.find(GoalWord::of(label));
        if (found == GoalLabels::none)
          words_.fail_at(one.line, "\"" + label + "\" is no label of this rank");
        return found;
      };
      requirements_.push_back({find(one.first), find(one.then), one.at_start});
    }
  }

  GoalWords words_;
  uint64_t bytes_;
  uint32_t ranks_ = 0;
  std::vector<RankOperation> operations_;  // of this rank
  std::vector<RankSchedule::Requirement> requirements_;
  std::vector<Pending> pending_;
  GoalLabels labels_;
};

}  // namespace

RankSchedule read_goal(const std::string& file) {
  std::error_code problem;
  const uintmax_t bytes = std::filesystem::file_size(file, problem);
  return GoalReader(ByteReader::of_file(file), file == "-" ? "standard input" : file,
                    problem ? 0 : bytes)
      .read();
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
  return GoalReader(ByteReader::of_text(text, where), where, text.size()).read();
}

}  // namespace sgdsim
