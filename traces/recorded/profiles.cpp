// Ranks that belong together, the steps that all of them have, and their operations.
#include "traces/recorded/profiles.h"

#include <algorithm>
#include <map>
#include <set>

#include "sim/core/error.h"
#include "traces/kineto/recording.h"
#include "traces/recorded/pipeline_timeline.h"

namespace sgdsim {
namespace {

// Clocks of one job usually differ by less; another run is further away.
constexpr int64_t same_run_ns = 60'000'000'000;

std::string name_of_file(const std::string& file) {
  return file.substr(file.find_last_of('/') + 1);
}

// The value that most have; of equally many, the least.
template <class Value>
Value most_common(const std::vector<Value>& values) {
  std::map<Value, std::size_t> counts;
  for (const Value& value : values) ++counts[value];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

std::vector<int64_t> RankProfiles::Step::shape() const {
  std::vector<int64_t> elements;
  for (const Bucket& bucket : buckets) elements.push_back(bucket.elements);
  return elements;
}

void RankProfiles::add(const profiler::RankProfile& profile) {
  Rank rank;
  rank.file = profile.file;
  rank.rank = profile.job.rank ? *profile.job.rank : profiler::rank_in(profile.file).value_or(-1);
  rank.ranks = profile.job.ranks.value_or(0);
  rank.is_cut_off = profile.is_cut_off;
  for (const profiler::ProfiledStep& of : profile.steps) {
    if (of.ready_ns.empty()) continue;
    Step step;
    step.number = of.number;
    step.start_ns = of.start_ns;
    step.forward_end_ns = of.start_ns + of.backward_ns;
    step.backward_end_ns = of.start_ns + std::max(of.backward_ns, of.last_ready_ns());
    step.exchanged_ns = of.start_ns + of.communicated_ns();
    step.end_ns = of.start_ns + of.iteration_ns;
    for (const profiler::StepMessage& message : of.messages) {
      if (!message.is_bucket) {
        rank.has_other_collectives = true;
        continue;
      }
      const std::size_t before = std::min(message.gradients_before, of.ready_ns.size());
      int64_t ready_ns = before == 0 ? message.start_ns : of.ready_ns[before - 1];
      ready_ns = std::clamp<int64_t>(std::min(ready_ns, message.start_ns), of.backward_ns,
                                     std::max(of.backward_ns, of.last_ready_ns()));
      step.buckets.push_back({of.start_ns + ready_ns, of.start_ns + message.start_ns,
                              of.start_ns + message.end_ns, message.facts.elements});
    }
    rank.steps.push_back(std::move(step));
  }
  ranks_.push_back(std::move(rank));
}

template <class Unfit>
void RankProfiles::leave_out(const Unfit& unfit) {
  std::vector<Rank> kept;
  for (Rank& rank : ranks_) {
    const std::string why = unfit(rank);
    if (why.empty())
      kept.push_back(std::move(rank));
    else
      notes_.push_back(name_of_file(rank.file) + " is left out: " + why);
  }
  ranks_ = std::move(kept);
}

void RankProfiles::settle_ranks() {
  std::set<int64_t> used;
  for (const Rank& rank : ranks_)
    if (rank.rank >= 0) used.insert(rank.rank);
  int64_t next = 0;
  for (Rank& rank : ranks_) {
    if (rank.rank >= 0) continue;
    while (used.contains(next)) ++next;
    rank.rank = next++;
    notes_.push_back(name_of_file(rank.file) + " does not say of which rank it is; taken as rank " +
                     std::to_string(rank.rank));
  }
}

// Another run has other buckets, another number of ranks, or another day.
void RankProfiles::leave_out_strangers() {
  leave_out([](const Rank& rank) -> std::string {
    return rank.steps.empty() ? "it has no step with gradients" : "";
  });
  if (ranks_.empty()) return;
  std::vector<int64_t> counts;
  std::vector<std::vector<int64_t>> shapes;
  for (const Rank& rank : ranks_) {
    if (rank.ranks > 0) counts.push_back(rank.ranks);
    for (const Step& step : rank.steps) shapes.push_back(step.shape());
  }
  const int64_t count = counts.empty() ? 0 : most_common(counts);
  const std::vector<int64_t> shape = most_common(shapes);
  leave_out([&](const Rank& rank) -> std::string {
    if (rank.ranks > 0 && rank.ranks != count)
      return "it is of another run: of a job of " + std::to_string(rank.ranks) +
             (rank.ranks == 1 ? " rank" : " ranks") + ", and most are of " + std::to_string(count);
    if (std::none_of(rank.steps.begin(), rank.steps.end(),
                     [&](const Step& step) { return step.shape() == shape; }))
      return "it is of another run: its buckets of gradients (" +
             std::to_string(rank.steps.front().buckets.size()) +
             " in a step) are not those of most ranks (" + std::to_string(shape.size()) + ")";
    return "";
  });
  for (Rank& rank : ranks_)
    std::erase_if(rank.steps, [&](const Step& step) { return step.shape() != shape; });
  std::map<int64_t, std::vector<int64_t>> starts;  // of each step
  for (const Rank& rank : ranks_)
    for (const Step& step : rank.steps) starts[step.number].push_back(step.start_ns);
  for (auto& [number, some] : starts) std::sort(some.begin(), some.end());
  leave_out([&](const Rank& rank) -> std::string {
    const std::vector<int64_t>& some = starts[rank.steps.front().number];
    const int64_t apart = rank.steps.front().start_ns - some[(some.size() - 1) / 2];
    if (clocks_may_be_far_apart_ || std::abs(apart) <= same_run_ns) return "";
    return "it is of another run, or its clock is wrong: its step " +
           std::to_string(rank.steps.front().number) + " began " +
           std::to_string(std::abs(apart) / 1'000'000'000) + " s " +
           (apart > 0 ? "after" : "before") +
           " that of most ranks; sgdsim diagnose --clocks aligned takes it";
  });
  std::set<int64_t> seen;
  leave_out([&](const Rank& rank) -> std::string {
    return seen.insert(rank.rank).second
               ? ""
               : "it is of rank " + std::to_string(rank.rank) + ", as another file is";
  });
}

// A file that was cut off has few; it is left out rather than all others' steps.
std::vector<int64_t> RankProfiles::common_steps(const std::string& folder,
                                                const std::vector<int64_t>& wanted) {
  std::map<int64_t, std::size_t> counts;
  for (const Rank& rank : ranks_)
    for (const Step& step : rank.steps) ++counts[step.number];
  std::vector<int64_t> usual;  // what most ranks have
  for (const auto& [number, count] : counts)
    if (2 * count > ranks_.size()) usual.push_back(number);
  const auto has = [](const Rank& rank, int64_t number) {
    return std::any_of(rank.steps.begin(), rank.steps.end(),
                       [&](const Step& step) { return step.number == number; });
  };
  leave_out([&](const Rank& rank) -> std::string {
    const auto own = std::count_if(usual.begin(), usual.end(),
                                   [&](int64_t number) { return has(rank, number); });
    if (2 * static_cast<std::size_t>(own) >= usual.size() && own > 0) return "";
    return "it has " + std::to_string(own) + " of the " + std::to_string(usual.size()) +
           " steps that most ranks have" + (rank.is_cut_off ? "; the file is cut off" : "");
  });
  std::vector<int64_t> common;
  std::vector<int64_t> missing;
  for (const auto& [number, count] : counts) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), number) == wanted.end())
      continue;
    const auto have =
        std::count_if(ranks_.begin(), ranks_.end(),
                      [&, step = number](const Rank& rank) { return has(rank, step); });
    (have == static_cast<std::ptrdiff_t>(ranks_.size()) ? common : missing).push_back(number);
  }
  if (!missing.empty())
    notes_.push_back(steps_that(missing, "is left out: not all ranks have it",
                                "are left out: not all ranks have them"));
  if (common.empty() && missing.empty() && !wanted.empty()) {
    std::vector<int64_t> present;
    for (const auto& [number, count] : counts) present.push_back(number);
    throw no_such_step(folder, wanted, present);
  }
  return common;
}

void RankProfiles::note_what_is_missing(StepRecord& record) const {
  int64_t count = 0;
  std::set<int64_t> present;
  for (const Rank& rank : ranks_) {
    count = std::max(count, rank.ranks);
    present.insert(rank.rank);
    if (rank.is_cut_off)
      record.notes.push_back(name_of_file(rank.file) +
                             " is cut off; its steps up to there are used");
  }
  std::vector<int64_t> missing;
  for (int64_t rank = 0; rank < std::min<int64_t>(count, most_recorded_workers); ++rank)
    if (!present.contains(rank)) missing.push_back(rank);
  if (!missing.empty())
    record.notes.push_back("of " + std::to_string(count) + " ranks, " +
                           std::to_string(missing.size()) + (missing.size() == 1 ? " is" : " are") +
                           " missing (" + short_list(missing) +
                           "); exchanges may hold waiting for them, which counts as transfer");
  if (std::any_of(ranks_.begin(), ranks_.end(),
                  [](const Rank& rank) { return rank.has_other_collectives; }))
    record.notes.emplace_back("other collectives than those of gradients count as computing");
}

void RankProfiles::add_step(StepRecord& record, int32_t replica, int32_t index, const Step& step) {
  RecordedOperation one;
  one.step = index;
  one.replica = replica;
  const auto add = [&](Recorded kind, int64_t start_ns, int64_t end_ns, int32_t chunk) {
    one.kind = kind;
    one.chunk = chunk;
    one.start_ns = start_ns;
    one.end_ns = std::max(start_ns, end_ns);
    record.operations.push_back(one);
  };
  add(Recorded::forward, step.start_ns, step.forward_end_ns, 0);
  int64_t from_ns = step.forward_end_ns;
  for (std::size_t i = 0; i < step.buckets.size(); ++i) {
    const Bucket& bucket = step.buckets[i];
    const int64_t to_ns = std::max(from_ns, bucket.ready_ns);
    add(Recorded::backward, from_ns, to_ns, static_cast<int32_t>(i));
    add(Recorded::reduce, bucket.start_ns, bucket.end_ns, static_cast<int32_t>(i));
    from_ns = to_ns;
  }
  if (step.backward_end_ns > from_ns || step.buckets.empty())
    add(Recorded::backward, from_ns, step.backward_end_ns,
        static_cast<int32_t>(step.buckets.size()));
  add(Recorded::optimizer, step.exchanged_ns, step.end_ns, 0);
}

StepRecord RankProfiles::record(const std::string& folder, const std::vector<int64_t>& steps) {
  StepRecord record;
  record.file = folder;
  record.format = format_;
  record.overlaps = record.chunks_differ = true;
  settle_ranks();
  leave_out_strangers();
  record.steps = common_steps(folder, steps);
  const auto reasons = [&] {
    std::string text;
    for (const std::string& note : notes_) text += "; " + note;
    return text;
  };
  if (ranks_.size() < 2 || record.steps.empty())
    throw InputError(folder, (ranks_.size() < 2 ? "has fewer than two files of one job's ranks"
                                                : "has no step that all ranks have") +
                                 reasons());
  std::sort(ranks_.begin(), ranks_.end(),
            [](const Rank& a, const Rank& b) { return a.rank < b.rank; });
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    record.workers.push_back("rank " + std::to_string(ranks_[i].rank) + ", " +
                             name_of_file(ranks_[i].file));
    for (const Step& step : ranks_[i].steps) {
      const auto found = std::find(record.steps.begin(), record.steps.end(), step.number);
      if (found != record.steps.end())
        add_step(record, static_cast<int32_t>(i),
                 static_cast<int32_t>(found - record.steps.begin()), step);
    }
  }
  record.notes = notes_;
  note_what_is_missing(record);
  close_record(record);
  return record;
}

}  // namespace sgdsim
