// The communicator of the replicas, the pattern of a step, and the steps that follow it.
#include "traces/recorded/exchange_log.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "sim/core/error.h"
#include "traces/recorded/period.h"
#include "traces/recorded/pipeline_timeline.h"
#include "traces/recorded/profiles.h"

namespace sgdsim {
namespace {

using Exchanges = std::vector<LoggedExchange>;
using Key = std::pair<uint8_t, int64_t>;  // operation and size

Key key_of(const LoggedExchange& one) { return {one.operation, one.size_B}; }

// One process on the communicator of its replicas.
struct Process {
  std::string file;
  bool is_cut_off = false;
  int64_t rank = 0;
  int64_t first_ns = -1;
  int64_t last_ns = -1;
  Exchanges exchanges;  // in the order of their starts
};

// A step of a process: exchanges [at, at + length of the pattern).
struct Step {
  int64_t number = 0;
  std::size_t at = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// ---- which communicator

struct Communicator {
  std::string id;
  std::string name;
  int64_t ranks = 0;
  double bytes = 0;
  std::size_t first_log = 0;
};

std::vector<Communicator> communicators_of(const std::vector<ExchangeLog>& logs) {
  std::map<std::string, Communicator> all;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    std::vector<double> bytes(logs[i].groups.size());
    for (const LoggedExchange& one : logs[i].exchanges)
      bytes[static_cast<std::size_t>(one.group)] += static_cast<double>(one.size_B);
    for (std::size_t group = 0; group < bytes.size(); ++group) {
      const LoggedGroup& of = logs[i].groups[group];
      Communicator& one =
          all.try_emplace(of.id, Communicator{of.id, of.name, 0, 0, i}).first->second;
      one.ranks = std::max(one.ranks, of.ranks);
      one.bytes += bytes[group];
    }
  }
  std::vector<Communicator> list;
  for (auto& [id, one] : all)
    if (one.bytes > 0) list.push_back(std::move(one));
  return list;
}

std::string name_of(const Communicator& one) {
  return (one.name.empty() || one.name == one.id ? one.id : one.name + " (" + one.id + ")") +
         " of " + std::to_string(one.ranks) + (one.ranks == 1 ? " rank" : " ranks");
}

std::string list_of(const std::vector<Communicator>& some) {
  constexpr std::size_t most = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, some.size()); ++i)
    text += (i == 0 ? "" : ", ") + name_of(some[i]);
  return some.size() > most ? text + ", ..." : text;
}

// Of the replicas: the smallest that together could hold all processes. A process may be in several
// such, of which the one with the most bytes counts.
Communicator replicas_of(const std::vector<ExchangeLog>& logs, const LogLayout& layout,
                         const std::string& folder, std::vector<std::string>& notes) {
  std::vector<Communicator> all = communicators_of(logs);
  if (all.empty()) throw InputError(folder, "holds no exchange");
  const int64_t parts = layout.tensor * layout.stages;
  const int64_t most_of_one = (static_cast<int64_t>(logs.size()) - 1) / parts;
  int64_t ranks = std::numeric_limits<int64_t>::max();
  for (const Communicator& one : all)
    if (layout.replicas > 0 ? one.ranks == layout.replicas
                            : one.ranks > 1 && one.ranks > most_of_one)
      ranks = std::min(ranks, one.ranks);
  if (ranks == std::numeric_limits<int64_t>::max())
    throw InputError(folder, "holds logs of " + std::to_string(logs.size()) +
                                 " processes and no communicator that could be that of " +
                                 (parts == 1 ? "all" : "the replicas") + " (" + list_of(all) +
                                 "); say how the job is divided, as --layout \"tp8 pp4 dp16\"");
  std::vector<Communicator> fitting;
  for (const Communicator& one : all)
    if (one.ranks == ranks) fitting.push_back(one);
  std::map<std::size_t, Communicator> by_log;  // of each first process, the one that counts
  for (const Communicator& one : fitting) {
    const auto [found, is_new] = by_log.try_emplace(one.first_log, one);
    if (!is_new && one.bytes > found->second.bytes) found->second = one;
  }
  if (static_cast<int64_t>(by_log.size()) > parts)
    throw InputError(folder, "holds " + std::to_string(by_log.size()) + " communicators of " +
                                 std::to_string(ranks) + " ranks (" + list_of(fitting) +
                                 "), and the layout says " + std::to_string(parts) +
                                 "; say how the job is divided, as --layout \"tp8 pp4 dp16\"");
  if (layout.stages > 1)
    notes.push_back("stage " + std::to_string(layout.stage) +
                    " alone, by the order of the files' names: what it waited for other stages "
                    "counts as computing");
  if (layout.tensor > 1) notes.emplace_back("of each tensor-parallel group the first rank counts");
  const auto place = static_cast<std::size_t>(std::max<int64_t>(0, layout.stage) * layout.tensor);
  if (place >= by_log.size())
    throw InputError(folder, "holds " + std::to_string(by_log.size()) + " communicators of " +
                                 std::to_string(ranks) + " ranks, so stage " +
                                 std::to_string(layout.stage) + " of the layout is not there");
  return std::next(by_log.begin(), static_cast<std::ptrdiff_t>(place))->second;
}

std::vector<Process> processes_of(std::vector<ExchangeLog> logs, const Communicator& of) {
  std::vector<Process> processes;
  for (ExchangeLog& log : logs)
    for (std::size_t group = 0; group < log.groups.size(); ++group) {
      if (log.groups[group].id != of.id) continue;
      Process one{log.file, log.is_cut_off, log.groups[group].rank, log.first_ns, log.last_ns, {}};
      for (const LoggedExchange& exchange : log.exchanges)
        if (exchange.group == static_cast<int32_t>(group)) one.exchanges.push_back(exchange);
      std::stable_sort(one.exchanges.begin(), one.exchanges.end(),
                       [](const auto& a, const auto& b) {
                         return std::tie(a.start_ns, a.number) < std::tie(b.start_ns, b.number);
                       });
      processes.push_back(std::move(one));
    }
  return processes;
}

// ---- the pattern of a step

// Where no number is missing between exchange i - 1 and exchange i.
std::vector<bool> continues(const Exchanges& exchanges) {
  std::vector<bool> result(exchanges.size(), true);
  std::map<uint8_t, int64_t> last;
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    const auto [found, is_new] = last.try_emplace(exchanges[i].operation, exchanges[i].number);
    if (!is_new && exchanges[i].number >= 0) result[i] = exchanges[i].number == found->second + 1;
    found->second = exchanges[i].number;
  }
  if (!result.empty()) result[0] = false;
  return result;
}

struct Run {
  std::size_t from = 0;
  std::size_t to = 0;
};

Run longest_run(const std::vector<bool>& continued) {
  Run best;
  for (std::size_t from = 0; from < continued.size();) {
    std::size_t to = from + 1;
    while (to < continued.size() && continued[to]) ++to;
    if (to - from > best.to - best.from) best = {from, to};
    from = to;
  }
  return best;
}

struct Pattern {
  std::vector<Key> keys;
  bool is_whole_log = false;  // the log is one step
  // Where one begins: the number of its first exchange (-1: not said), and its place in the log.
  int64_t number = -1;
  std::size_t place = 0;
};

// A step begins after the longest pause, on average over the log.
Pattern pattern_of(const Process& process, int64_t wanted, const std::string& folder) {
  const Run run = longest_run(continues(process.exchanges));
  std::vector<Key> keys;
  for (std::size_t i = run.from; i < run.to; ++i) keys.push_back(key_of(process.exchanges[i]));
  // Logs that say when the process began are of one step, if not told otherwise.
  const auto length = static_cast<std::size_t>(wanted);
  if (process.first_ns >= 0 && (wanted == 0 || length == keys.size())) return {keys, true};
  const std::size_t period = wanted > 0 ? length : period_of(keys);
  if (wanted > 0 && !repeats_after(keys, period))
    throw InputError(folder, "the exchanges of " + process.file + " do not repeat after " +
                                 std::to_string(wanted));
  if (period == 0)
    throw InputError(folder, "the exchanges of " + process.file +
                                 " do not repeat, so nobody can tell its steps apart (" +
                                 std::to_string(keys.size()) + " without a gap)");
  std::vector<double> pauses(period);
  std::vector<double> counts(period);
  for (std::size_t i = run.from + 1; i < run.to; ++i) {
    const std::size_t place = (i - run.from) % period;
    pauses[place] +=
        static_cast<double>(process.exchanges[i].start_ns - process.exchanges[i - 1].end_ns);
    ++counts[place];
  }
  std::size_t begin = 0;
  for (std::size_t place = 1; place < period; ++place)
    if (pauses[place] * counts[begin] > pauses[begin] * counts[place]) begin = place;
  Pattern pattern;
  for (std::size_t i = 0; i < period; ++i) pattern.keys.push_back(keys[begin + i]);
  pattern.place = run.from + begin;
  pattern.number = process.exchanges[pattern.place].number;
  return pattern;
}

// ---- the steps of a process

struct Stepped {
  Process process;
  std::vector<Step> steps;
  int64_t first_without_begin = 0;   // steps that are whole, but nobody knows when they began:
  int64_t others_without_begin = 0;  // what was before them is not in the log, or not whole
};

class Stepper {
 public:
  explicit Stepper(const Pattern& pattern) : pattern_(pattern) {
    for (const Key& key : pattern.keys) count_ += key.first == pattern.keys.front().first ? 1 : 0;
  }

  Stepped steps_of(Process process) const {
    const Exchanges& all = process.exchanges;
    const std::vector<bool> continued = continues(all);
    const std::size_t length = pattern_.keys.size();
    Stepped result;
    int64_t next = 0;  // number, where exchanges have none
    for (std::size_t at = 0; at + length <= all.size();) {
      if (!fits(all, continued, at)) {
        ++at;
        continue;
      }
      const bool has_before = at > 0 && continued[at];
      if (has_before || (at == 0 && pattern_.is_whole_log)) {
        Step step;
        step.number =
            all[at].number < 0 ? next : (all[at].number - pattern_.number % count_) / count_;
        step.at = at;
        step.start_ns = has_before ? end_before(all, at) : process.first_ns;
        step.end_ns = end_before(all, at + length);
        if (pattern_.is_whole_log) step.end_ns = std::max(step.end_ns, process.last_ns);
        if (step.start_ns <= all[at].start_ns) result.steps.push_back(step);
      } else {
        ++(at == 0 ? result.first_without_begin : result.others_without_begin);
      }
      ++next;
      at += length;
    }
    result.process = std::move(process);
    return result;
  }

 private:
  bool fits(const Exchanges& all, const std::vector<bool>& continued, std::size_t at) const {
    for (std::size_t i = 0; i < pattern_.keys.size(); ++i)
      if (key_of(all[at + i]) != pattern_.keys[i] || (i > 0 && !continued[at + i])) return false;
    return is_in_step(all[at].number, at);
  }
  // Where keys repeat within a step, they alone would fit at several places.
  bool is_in_step(int64_t number, std::size_t at) const {
    return number >= 0 && pattern_.number >= 0
               ? (number - pattern_.number) % count_ == 0
               : at % pattern_.keys.size() == pattern_.place % pattern_.keys.size();
  }
  // Of the pattern's length before it; starts are in order, ends need not be.
  int64_t end_before(const Exchanges& all, std::size_t at) const {
    int64_t end_ns = all[at - 1].end_ns;
    for (std::size_t i = at - std::min(at, pattern_.keys.size()); i < at; ++i)
      end_ns = std::max(end_ns, all[i].end_ns);
    return end_ns;
  }

  const Pattern& pattern_;
  int64_t count_ = 0;  // of the first exchange's operation, in a step
};

void note_steps_without_begin(const std::vector<Stepped>& all, std::vector<std::string>& notes) {
  int64_t first = 0;
  int64_t others = 0;
  for (const Stepped& one : all) {
    first += one.first_without_begin;
    others += one.others_without_begin;
  }
  if (first > 0)
    notes.emplace_back(
        "the first step of a log is left out: it began after the exchange before it, which is not "
        "in the log");
  if (others > 0)
    notes.push_back(
        std::to_string(others) +
        (others == 1 ? " step behind a gap in a log is" : " steps behind gaps in logs are") +
        " left out: nobody knows when " + (others == 1 ? "it" : "they") + " began");
}

// Of each exchange of a step, the least over all of them. `first`: others are passed over.
template <class Figure>
std::vector<int64_t> least_of(const std::vector<Stepped>& all, std::size_t length,
                              std::size_t first, const Figure& figure) {
  std::vector<int64_t> least(length, std::numeric_limits<int64_t>::max());
  for (const Stepped& one : all)
    for (const Step& step : one.steps)
      for (std::size_t i = first; i < length; ++i)
        least[i] = std::min(least[i], figure(&one.process.exchanges[step.at + i]));
  return least;
}

// The least time between the starts of neighbours in a step.
std::vector<int64_t> least_pauses(const std::vector<Stepped>& all, std::size_t length) {
  return least_of(all, length, 1, [](const auto* one) { return one->start_ns - one[-1].start_ns; });
}

// Whether ranks wait for others in exchanges that are not the last ones of their steps: for more
// than a twentieth of a step, in half of the steps of a rank.
bool waits_within_steps(const std::vector<Stepped>& all, std::size_t length) {
  constexpr int64_t part_of_step = 20;
  const auto lasts = [](const auto* one) { return one->end_ns - one->start_ns; };
  const std::vector<int64_t> shortest = least_of(all, length, 0, lasts);
  return std::any_of(all.begin(), all.end(), [&](const Stepped& one) {
    std::size_t waiting = 0;
    for (const Step& step : one.steps) {
      int64_t longest_ns = 0;
      for (std::size_t i = 0; i + 1 < length; ++i)
        longest_ns = std::max(longest_ns, lasts(&one.process.exchanges[step.at + i]) - shortest[i]);
      if (longest_ns * part_of_step > step.end_ns - step.start_ns) ++waiting;
    }
    return waiting > 0 && 2 * waiting >= one.steps.size();
  });
}

// Closer than this, an exchange waited for the one before it.
constexpr int64_t at_once_ns = 20'000;

profiler::ProfiledStep profiled(const Exchanges& all, const Step& step,
                                const std::vector<int64_t>& least) {
  profiler::ProfiledStep result;
  result.number = step.number;
  result.start_ns = step.start_ns;
  result.iteration_ns = step.end_ns - step.start_ns;
  int64_t ready_ns = 0;  // since the start of the step
  int64_t before_ns = 0;
  for (std::size_t i = 0; i < least.size(); ++i) {
    const LoggedExchange& one = all[step.at + i];
    const int64_t start_ns = one.start_ns - step.start_ns;
    const int64_t end_ns = one.end_ns - step.start_ns;
    int64_t own_ns = start_ns;
    if (one.ready_ns >= 0)
      own_ns = std::min(start_ns, one.ready_ns - step.start_ns);
    else if (i > 0 && start_ns - before_ns <= at_once_ns)
      own_ns = std::min(start_ns, ready_ns + least[i]);
    ready_ns = std::max(ready_ns, own_ns);
    before_ns = std::max(before_ns, end_ns);
    result.ready_ns.push_back(ready_ns);
    profiler::StepMessage message;
    message.start_ns = start_ns;
    message.end_ns = end_ns;
    message.gradients_before = i + 1;
    message.is_bucket = true;
    message.facts.elements = one.size_B;
    result.messages.push_back(message);
  }
  result.backward_ns = result.ready_ns.front();
  return result;
}

}  // namespace

int32_t ExchangeLog::group_with(const std::string& id) {
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i].id == id) return static_cast<int32_t>(i);
  constexpr std::size_t most_groups = 4096;
  if (groups.size() == most_groups)
    throw InputError(file, "names more than " + std::to_string(most_groups) + " communicators");
  groups.push_back({id, "", 0, 0});
  return static_cast<int32_t>(groups.size()) - 1;
}

void check_room(const ExchangeLog& log) {
  if (log.exchanges.size() == most_recorded_operations)
    throw InputError(log.file, "holds more than " + std::to_string(most_recorded_operations) +
                                   " collectives; give a part of the file");
}

StepRecord record_of_logs(std::vector<ExchangeLog> logs, const LogLayout& layout,
                          const std::string& folder, const std::string& format,
                          const std::vector<std::string>& notes,
                          const std::vector<int64_t>& steps) {
  std::vector<std::string> own_notes = notes;
  const Communicator replicas = replicas_of(logs, layout, folder, own_notes);
  std::vector<Process> processes = processes_of(std::move(logs), replicas);
  const Process& fullest = *std::max_element(
      processes.begin(), processes.end(),
      [](const auto& a, const auto& b) { return a.exchanges.size() < b.exchanges.size(); });
  const Pattern pattern = pattern_of(fullest, layout.exchanges, folder);
  if (!pattern.is_whole_log)
    own_notes.push_back(
        "of communicator " + name_of(replicas) + ": exchanges repeat after " +
        std::to_string(pattern.keys.size()) +
        ", which counts as a step; it begins after the longest pause" +
        (pattern.keys.size() == 1 ? ". Where a step has several alike, say --exchanges N" : ""));
  const Stepper stepper(pattern);
  std::vector<Stepped> stepped;
  for (Process& process : processes) stepped.push_back(stepper.steps_of(std::move(process)));
  note_steps_without_begin(stepped, own_notes);
  if (waits_within_steps(stepped, pattern.keys.size()))
    own_notes.emplace_back(
        "ranks wait for others in exchanges that are not the last ones of a step; what follows one "
        "is taken to be computed beside it, as gradients are. Where computing waits for every "
        "exchange, who is late is seen with --exchanges 1");
  const std::vector<int64_t> least = least_pauses(stepped, pattern.keys.size());
  RankProfiles ranks(layout.clocks_may_be_far_apart, format);
  for (const std::string& note : own_notes) ranks.add_problem(note);
  for (const Stepped& one : stepped) {
    profiler::RankProfile profile;
    profile.file = one.process.file;
    profile.job.rank = one.process.rank;
    profile.job.ranks = replicas.ranks;
    profile.is_cut_off = one.process.is_cut_off;
    for (const Step& step : one.steps)
      profile.steps.push_back(profiled(one.process.exchanges, step, least));
    ranks.add(profile);
  }
  return ranks.record(folder, steps);
}

}  // namespace sgdsim
