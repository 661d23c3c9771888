// What files say of the job is checked first; then steps that differ from most are left out.
#include "traces/kineto/recording.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/core/error.h"
#include "traces/kineto/collective_kind.h"

namespace sgdsim::profiler {
namespace {

constexpr int64_t most_ranks = 10'000'000;

// ---- ranks

void settle_rank(RankProfile& profile, std::size_t i, const ProfileOptions& options,
                 std::size_t files) {
  JobFacts& job = profile.job;
  if (!options.rank.empty()) {
    if (options.rank.size() != files)
      throw InputError("--rank", "expected one rank for each of the " + std::to_string(files) +
                                     " files, got " + std::to_string(options.rank.size()));
    if (job.rank && *job.rank != options.rank[i])
      throw InputError(profile.file, "is of rank " + std::to_string(*job.rank) + ", --rank says " +
                                         std::to_string(options.rank[i]));
    job.rank = options.rank[i];
  }
  if (options.ranks) {
    if (job.ranks && *job.ranks != *options.ranks)
      throw InputError(profile.file, "is of " + std::to_string(*job.ranks) +
                                         " ranks, --ranks says " + std::to_string(*options.ranks));
    job.ranks = options.ranks;
  }
  if (!job.rank && files > 1) job.rank = rank_in(profile.file);
  if (!job.rank && options.numbers_files) {
    job.rank = static_cast<int64_t>(i);
    profile.warnings.push_back("does not say of which rank it is; taken as rank " +
                               std::to_string(i));
  }
  if (!job.rank && files > 1)
    throw InputError(profile.file,
                     "does not say of which rank it is (no distributedInfo, no rank_N in its "
                     "name); give --rank with one number for each file");
}

std::size_t messages_of(const RankProfile& profile) {
  std::size_t count = 0;
  for (const ProfiledStep& step : profile.steps) count += step.messages.size();
  return count;
}

// Several ranks that do not communicate are a mistake in reading, never a measurement.
void check_communication(RankProfile& profile) {
  JobFacts& job = profile.job;
  if (messages_of(profile) > 0) {
    if (job.ranks) return;
    job.ranks = 1;
    for (const ProfiledStep& step : profile.steps)
      for (const StepMessage& message : step.messages)
        job.ranks = std::max(*job.ranks, message.facts.group_size);
    if (*job.ranks == 1) {
      job.ranks = 2;
      job.is_of_more = true;
      profile.warnings.emplace_back(
          "says neither how many ranks the job has (no distributedInfo) nor how large its groups "
          "are; taken as 2; --ranks of sgdsim import says more");
      return;
    }
    profile.warnings.push_back("the number of ranks is not in the file; the largest group has " +
                               std::to_string(*job.ranks));
    return;
  }
  if (!job.ranks && job.backend.empty()) {
    job.ranks = 1;
    profile.warnings.emplace_back(
        "does not say how many ranks the job has (no distributedInfo), and nothing in it "
        "communicates: it is taken as one rank alone");
  }
  if (job.ranks && *job.ranks == 1) return;
  throw InputError(
      profile.file,
      "is of " + (job.ranks ? std::to_string(*job.ranks) + " ranks" : "backend " + job.backend) +
          ", but has no kernel of NCCL or RCCL in its steps; give --communication with "
          "a regular expression for the kernels that communicate");
}

void check_job(std::vector<RankProfile>& profiles, const ProfileOptions& options) {
  std::set<int64_t> ranks;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    RankProfile& profile = profiles[i];
    settle_rank(profile, i, options, profiles.size());
    check_communication(profile);
    const JobFacts& job = profile.job;
    if (*job.ranks < 1 || *job.ranks > most_ranks)
      throw InputError(profile.file, "expected 1 to " + std::to_string(most_ranks) +
                                         " ranks, got " + std::to_string(*job.ranks));
    if (*job.ranks != *profiles.front().job.ranks)
      throw InputError(profile.file, "is of " + std::to_string(*job.ranks) + " ranks, but " +
                                         profiles.front().file + " of " +
                                         std::to_string(*profiles.front().job.ranks));
    if (!job.rank) continue;
    if (*job.rank < 0 || *job.rank >= *job.ranks)
      throw InputError(profile.file, "is of rank " + std::to_string(*job.rank) + " among " +
                                         std::to_string(*job.ranks) + " ranks");
    if (!ranks.insert(*job.rank).second)
      throw InputError(profile.file, "is of rank " + std::to_string(*job.rank) +
                                         ", as a file before it; give one file per rank");
  }
}

// ---- steps that are alike

// Of several groups of ranks (as where tensors are divided too) the one that moves most.
void keep_one_group(RankProfile& profile) {
  std::set<std::string> left;
  for (ProfiledStep& step : profile.steps) {
    std::map<std::string, int64_t> moved_B;
    for (const StepMessage& message : step.messages)
      if (message.is_bucket) moved_B[message.facts.group] += std::max<int64_t>(0, message.size_B());
    if (moved_B.size() < 2) continue;
    const auto most = std::max_element(moved_B.begin(), moved_B.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
    for (StepMessage& message : step.messages) {
      if (!message.is_bucket || message.facts.group == most->first) continue;
      message.is_bucket = false;
      left.insert(message.facts.group);
    }
  }
  for (const std::string& group : left)
    profile.warnings.push_back("all-reduces of process group \"" + group +
                               "\" are not taken for gradients; another group moves more");
}

// A rank of which nothing is left does something else than the others.
void warn_of_empty(RankProfile& profile, const std::string& what) {
  if (!profile.steps.empty()) return;
  profile.warnings.push_back("no step of it is used: ranks differ in their " + what +
                             " (a pipeline?); give the files of one stage");
}

// Keeps the steps with the key that most of them have, of equally many the larger key.
template <class KeyOf, class TextOf>
void keep_usual(std::vector<RankProfile>& profiles, const std::string& what, const KeyOf& key_of,
                const TextOf& text_of) {
  std::map<decltype(key_of(ProfiledStep{})), int> counts;
  for (const RankProfile& profile : profiles)
    for (const ProfiledStep& step : profile.steps) ++counts[key_of(step)];
  auto usual = counts.begin();
  for (auto one = counts.begin(); one != counts.end(); ++one)
    if (one->second >= usual->second) usual = one;
  if (counts.size() < 2) return;
  int all = 0;
  for (const auto& [key, count] : counts) all += count;
  const std::string others =
      (2 * usual->second > all ? ", most steps have " : ", those that are used have ") +
      text_of(usual->first);
  for (RankProfile& profile : profiles) {
    if (profile.steps.empty()) continue;
    std::vector<ProfiledStep> kept;
    for (ProfiledStep& step : profile.steps) {
      if (key_of(step) == usual->first)
        kept.push_back(std::move(step));
      else
        profile.warnings.push_back("step " + std::to_string(step.number) + " is left out: it has " +
                                   text_of(key_of(step)) + others);
    }
    profile.steps = std::move(kept);
    warn_of_empty(profile, what);
  }
}

using BucketKey = std::vector<std::pair<int64_t, std::string>>;

BucketKey bucket_key(const ProfiledStep& step) {
  BucketKey key;
  for (const StepMessage& message : step.messages)
    if (message.is_bucket) key.emplace_back(message.facts.elements, message.facts.type);
  return key;
}

std::string bucket_text(const BucketKey& key) {
  std::string text = std::to_string(key.size()) + " all-reduces of";
  if (key.empty()) return "no all-reduce";
  for (std::size_t i = 0; i < std::min<std::size_t>(key.size(), 8); ++i)
    text += " " + std::to_string(key[i].first);
  return text + (key.size() > 8 ? " ..." : "") + " elements";
}

// ---- medians

Duration median_of(std::vector<int64_t> values_ns) {
  std::sort(values_ns.begin(), values_ns.end());
  const std::size_t middle = values_ns.size() / 2;
  if (values_ns.size() % 2 == 1) return Duration::ns(values_ns[middle]);
  return Duration::ps(500 * (values_ns[middle - 1] + values_ns[middle]));
}

template <class ValueOf>
Duration median_over(const std::vector<RankProfile>& profiles, const ValueOf& value_of) {
  std::vector<int64_t> values;
  for (const RankProfile& profile : profiles)
    for (const ProfiledStep& step : profile.steps) values.push_back(value_of(step));
  return median_of(std::move(values));
}

std::vector<GradientBucket> buckets_of(const std::vector<RankProfile>& profiles) {
  const std::vector<StepMessage> first = any_step(profiles).buckets();
  std::vector<std::vector<int64_t>> durations_ns(first.size());
  for (const RankProfile& profile : profiles)
    for (const ProfiledStep& step : profile.steps) {
      std::size_t i = 0;
      for (const StepMessage& message : step.messages)
        if (message.is_bucket) durations_ns[i++].push_back(message.duration_ns());
    }
  std::vector<GradientBucket> buckets;
  std::size_t before = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const std::size_t reached = std::max(before, first[i].gradients_before);
    buckets.push_back({.elements = first[i].size_B() < 0 ? -1 : first[i].facts.elements,
                       .type = first[i].facts.type,
                       .size = Bytes(std::max<int64_t>(0, first[i].size_B())),
                       .recorded = median_of(durations_ns[i]),
                       .transfer = Duration::ns(
                           *std::min_element(durations_ns[i].begin(), durations_ns[i].end())),
                       .gradients = reached - before});
    before = reached;
  }
  return buckets;
}

// ---- parts of the step

std::set<std::string> other_kinds(const std::vector<RankProfile>& profiles) {
  std::set<std::string> kinds;
  for (const RankProfile& profile : profiles)
    for (const ProfiledStep& step : profile.steps)
      for (const StepMessage& message : step.messages)
        if (!message.is_bucket && message.alone_ns > 0)
          kinds.insert(kind_of(message.facts, message.kernel));
  return kinds;
}

int64_t alone_of_kind(const ProfiledStep& step, const std::string& kind) {
  int64_t sum = 0;
  for (const StepMessage& message : step.messages)
    if (!message.is_bucket && kind_of(message.facts, message.kernel) == kind)
      sum += message.alone_ns;
  return sum;
}

// Medians of parts may add up to more than the median iteration; they are then shortened alike.
void fit_into_iteration(Recording& recording) {
  Duration sum;
  for (const RecordedPart& part : recording.parts) sum += part.time;
  if (sum <= recording.iteration || sum == Duration()) return;
  const double scale = recording.iteration / sum;
  const auto shorten = [&](Duration& time) {
    time = Duration::ps(static_cast<int64_t>(static_cast<double>(time.ps()) * scale));
  };
  for (RecordedPart& part : recording.parts) shorten(part.time);
  shorten(recording.exposed);
  shorten(recording.others);
}

void fill_parts(Recording& recording) {
  const auto& profiles = recording.profiles;
  const auto add = [&](PartKind kind, const std::string& name, const auto& value_of) {
    const Duration time = median_over(profiles, value_of);
    if (time > Duration()) recording.parts.push_back({kind, name, time});
    return time;
  };
  recording.exposed = add(PartKind::gradients, "exchanging gradients after the backward pass",
                          [](auto& step) { return step.exposed_ns(); });
  for (const std::string& kind : other_kinds(profiles))
    recording.others += add(PartKind::others, kind + " that nothing hides",
                            [&](auto& step) { return alone_of_kind(step, kind); });
  add(PartKind::computing, "computing", [](auto& step) { return step.parts.computing_ns; });
  add(PartKind::copying, "copying", [](auto& step) { return step.parts.copying_ns; });
  add(PartKind::loading, "waiting for the next batch",
      [](auto& step) { return step.parts.loading_ns; });
  recording.unhidden = median_over(profiles, [](auto& step) { return step.parts.unhidden_ns; });
  fit_into_iteration(recording);
  Duration rest = recording.iteration;
  for (const RecordedPart& part : recording.parts) rest -= part.time;
  recording.parts.push_back(
      {PartKind::idle, profiles.front().is_on_host ? "no operator runs" : "GPU waiting for the CPU",
       rest});
}

void fill_collectives(Recording& recording) {
  struct Sum {
    int64_t count = 0, ns = 0, alone_ns = 0;
  };
  std::map<std::tuple<bool, std::string, int64_t, int64_t>, Sum> sums;
  int64_t steps = 0;
  for (const RankProfile& profile : recording.profiles)
    for (const ProfiledStep& step : profile.steps) {
      ++steps;
      for (const StepMessage& message : step.messages) {
        Sum& sum = sums[{!message.is_bucket, kind_of(message.facts, message.kernel),
                         message.facts.group_size, message.size_B()}];
        ++sum.count;
        sum.ns += std::min<int64_t>(message.duration_ns(), int64_t{1} << 40);
        sum.alone_ns += message.alone_ns;
      }
    }
  for (const auto& [key, sum] : sums) {
    const auto& [is_other, kind, group_size, size_B] = key;
    recording.collectives.push_back(
        {.kind = kind,
         .group_size = group_size,
         .size_B = size_B,
         .is_bucket = !is_other,
         .count = static_cast<double>(sum.count) / static_cast<double>(steps),
         .time = Duration::ns(sum.ns / steps),
         .alone = Duration::ns(sum.alone_ns / steps)});
  }
}

// Who comes last waits least: the rank whose collectives take the shortest time.
std::optional<int64_t> last_rank_of(const std::vector<RankProfile>& profiles) {
  if (profiles.size() < 2) return std::nullopt;
  const RankProfile* last = nullptr;
  double least = 0;
  for (const RankProfile& profile : profiles) {
    double ns = 0;
    for (const ProfiledStep& step : profile.steps)
      for (const StepMessage& message : step.messages)
        ns += static_cast<double>(message.duration_ns());
    if (profile.steps.empty()) continue;
    ns /= static_cast<double>(profile.steps.size());
    if (last == nullptr || ns < least) {
      last = &profile;
      least = ns;
    }
  }
  return last == nullptr ? std::nullopt : last->job.rank;
}

void fill_times(Recording& recording) {
  const auto& profiles = recording.profiles;
  const std::size_t gradients = any_step(profiles).ready_ns.size();
  for (std::size_t g = 0; g < gradients; ++g)
    recording.ready.push_back(median_over(profiles, [&](auto& step) { return step.ready_ns[g]; }));
  recording.forward = median_over(profiles, [](auto& step) { return step.backward_ns; });
  recording.update = median_over(profiles, [](auto& step) { return step.update_ns(); });
  recording.iteration = median_over(profiles, [](auto& step) { return step.iteration_ns; });
  const ProfiledStep& first = any_step(profiles);
  recording.sizes = first.sizes;
  recording.is_ready_by_bucket = first.is_ready_by_bucket;
  fill_parts(recording);
  fill_collectives(recording);
  recording.last_rank = last_rank_of(profiles);
}

}  // namespace

std::string Recording::steps_text() const {
  std::string text;
  for (const RankProfile& profile : profiles) {
    if (profile.steps.empty()) continue;
    text += (text.empty() ? "" : "; ") + std::string(profile.steps.size() == 1 ? "step" : "steps");
    constexpr std::size_t most_named = 20;
    for (std::size_t i = 0; i < std::min(profile.steps.size(), most_named); ++i)
      text += (i == 0 ? " " : ", ") + std::to_string(profile.steps[i].number);
    if (profile.steps.size() > most_named) text += ", ...";
    if (profile.job.rank) text += " of rank " + std::to_string(*profile.job.rank);
  }
  return text;
}

bool Recording::has_bucket_sizes() const {
  return !buckets.empty() && std::all_of(buckets.begin(), buckets.end(),
                                         [](const auto& bucket) { return bucket.elements > 0; });
}

bool Recording::has_gradient_sizes() const {
  return !sizes.empty() &&
         std::all_of(sizes.begin(), sizes.end(), [](const auto& one) { return one.elements > 0; });
}

Duration Recording::part(PartKind kind) const {
  Duration sum;
  for (const RecordedPart& one : parts)
    if (one.kind == kind) sum += one.time;
  return sum;
}

// "rank-3", "rank_3" or "rank3".
std::optional<int64_t> rank_in(const std::string& file) {
  const std::string name = file.substr(file.find_last_of('/') + 1);
  for (std::size_t at = name.find("rank"); at != name.npos; at = name.find("rank", at + 1)) {
    std::size_t digit = at + 4;
    if (digit < name.size() && (name[digit] == '-' || name[digit] == '_')) ++digit;
    std::size_t end = digit;
    while (end < name.size() && end < digit + 8 && name[end] >= '0' && name[end] <= '9') ++end;
    if (end > digit) return std::stoll(name.substr(digit, end - digit));
  }
  return std::nullopt;
}

const ProfiledStep& any_step(const std::vector<RankProfile>& profiles) {
  const auto used = std::find_if(profiles.begin(), profiles.end(),
                                 [](const RankProfile& one) { return !one.steps.empty(); });
  return used->steps.front();
}

Recording recording_of(std::vector<RankProfile> profiles, const ProfileOptions& options) {
  check_job(profiles, options);
  for (RankProfile& profile : profiles) keep_one_group(profile);
  keep_usual(
      profiles, "gradients", [](const ProfiledStep& step) { return step.ready_ns.size(); },
      [](std::size_t count) { return std::to_string(count) + " gradients"; });
  keep_usual(profiles, "all-reduces", bucket_key, bucket_text);
  Recording recording;
  for (const RankProfile& profile : profiles)
    for (const std::string& warning : profile.warnings)
      recording.warnings.push_back(profile.file + ": " + warning);
  recording.profiles = std::move(profiles);
  recording.ranks = *recording.profiles.front().job.ranks;
  recording.buckets = buckets_of(recording.profiles);
  fill_times(recording);
  recording.group_size = recording.ranks;
  for (const StepMessage& message : any_step(recording.profiles).buckets())
    if (message.facts.group_size > 0) recording.group_size = message.facts.group_size;
  return recording;
}

}  // namespace sgdsim::profiler
