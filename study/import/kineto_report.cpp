// Tables of at most some tens of rows, whatever was profiled.
#include "study/import/kineto_report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/core/json.h"
#include "study/table.h"

namespace sgdsim {
namespace {

using profiler::GradientBucket;
using profiler::ProfiledStep;
using profiler::RankProfile;
using profiler::Recording;
using profiler::StepMessage;
using profiler::StreamUse;

constexpr std::size_t most_rows = 40;

std::string time_text(int64_t ns) {
  return short_duration(Duration::ns(std::min<int64_t>(ns, int64_t{1} << 50)).us(), 5);
}
std::string size_text(int64_t bytes) {
  return bytes < 0 ? "?" : short_size(static_cast<double>(bytes));
}

void print_rest(std::size_t rows, std::ostream& out) {
  if (rows > most_rows) out << "  (and " << rows - most_rows << " more)\n";
}

void print_linked(const profiler::LinkedFacts& linked, std::ostream& out) {
  if (linked.file.empty()) return;
  out << "  from " << printable(linked.file) << ": ";
  if (linked.gradients + linked.collectives == 0)
    out << "nothing that the profile does not say itself";
  else
    out << "sizes of " << linked.gradients << " gradients, facts of " << linked.collectives
        << " collectives";
  if (linked.steps > 0)
    out << "; " << linked.steps
        << (linked.steps == 1 ? " step that it does not hold is"
                              : " steps that it does not hold are")
        << " taken to be like one that it holds";
  out << '\n';
}

void print_file(const RankProfile& profile, std::ostream& out) {
  const auto& job = profile.job;
  out << printable(profile.file) << ": " << profile.events << " events";
  if (job.rank) out << ", rank " << *job.rank;
  out << (job.rank ? " of " : ", ") << *job.ranks << (*job.ranks == 1 ? " rank" : " ranks");
  if (!job.device.empty()) out << ", " << printable(job.device);
  out << '\n';
  print_linked(profile.linked, out);
  std::vector<StreamUse> streams = profile.streams;
  std::stable_sort(streams.begin(), streams.end(), [](auto& a, auto& b) {
    return a.computing_ns + a.communicating_ns > b.computing_ns + b.communicating_ns;
  });
  for (std::size_t i = 0; i < std::min<std::size_t>(streams.size(), 8); ++i) {
    const StreamUse& use = streams[i];
    out << "  " << printable(use.name) << (use.name == profile.compute_stream ? " (computes)" : "")
        << ": " << time_text(use.computing_ns) << " of computing kernels, "
        << time_text(use.communicating_ns) << " of collectives\n";
  }
}

void print_steps(const Recording& recording, std::ostream& out) {
  Table table({"rank", "step", "iteration", "forward", "backward", "exposed", "update", "gradients",
               "first ready", "last ready", "all-reduces"});
  std::size_t rows = 0;
  for (const RankProfile& profile : recording.profiles)
    for (const ProfiledStep& step : profile.steps) {
      if (++rows > most_rows) continue;
      table.add({profile.job.rank ? std::to_string(*profile.job.rank) : "?",
                 std::to_string(step.number),
                 time_text(step.iteration_ns) + (step.has_next ? "" : " (CPU)"),
                 time_text(step.backward_ns), time_text(step.last_ready_ns() - step.backward_ns),
                 time_text(step.exposed_ns()), time_text(step.update_ns()),
                 std::to_string(step.ready_ns.size()),
                 step.ready_ns.empty() ? "-" : time_text(step.ready_ns.front()),
                 time_text(step.last_ready_ns()), std::to_string(step.buckets().size())});
    }
  out << '\n';
  table.print(out);
  print_rest(rows, out);
}

void print_buckets(const Recording& recording, std::ostream& out) {
  if (recording.buckets.empty()) return;
  Table table(
      {"bucket", "elements", "type", "size", "gradients", "recorded", "transfer", "waiting"});
  for (std::size_t i = 0; i < std::min(recording.buckets.size(), most_rows); ++i) {
    const GradientBucket& bucket = recording.buckets[i];
    table.add({std::to_string(i + 1), bucket.elements < 0 ? "?" : std::to_string(bucket.elements),
               printable(bucket.type), bucket.elements < 0 ? "?" : size_text(bucket.size.count()),
               std::to_string(bucket.gradients), short_duration(bucket.recorded.us(), 5),
               short_duration(bucket.transfer.us(), 5),
               short_duration((bucket.recorded - bucket.transfer).us(), 5)});
  }
  out << '\n';
  table.print(out);
  print_rest(recording.buckets.size(), out);
}

// Collectives that are no buckets, by kind, group and size.
void print_others(const Recording& recording, std::ostream& out) {
  struct Sum {
    std::size_t count = 0;
    int64_t ns = 0;
  };
  std::map<std::tuple<std::string, int64_t, int64_t>, Sum> others;
  for (const RankProfile& profile : recording.profiles)
    for (const ProfiledStep& step : profile.steps)
      for (const StepMessage& message : step.messages) {
        if (message.is_bucket) continue;
        const std::string& name = message.facts.collective;
        Sum& sum = others[{name.empty() ? message.kernel : name, message.facts.group_size,
                           message.size_B()}];
        ++sum.count;
        sum.ns += std::min<int64_t>(message.duration_ns(), int64_t{1} << 40);
      }
  if (others.empty()) return;
  Table table({"other collective", "ranks", "size", "how often", "time in all"});
  std::size_t rows = 0;
  for (const auto& [key, sum] : others) {
    if (++rows > most_rows) continue;
    const auto& [name, group, bytes] = key;
    table.add({printable(name), group == 0 ? "?" : std::to_string(group), size_text(bytes),
               std::to_string(sum.count), time_text(sum.ns)});
  }
  out << '\n';
  table.print(out);
  print_rest(rows, out);
}

}  // namespace

void print_recording(const Recording& recording, std::ostream& out) {
  for (const RankProfile& profile : recording.profiles) print_file(profile, out);
  print_steps(recording, out);
  print_buckets(recording, out);
  print_others(recording, out);
  out << '\n';
  for (const std::string& warning : recording.warnings)
    out << "sgdsim: warning: " << printable(warning) << '\n';
}

}  // namespace sgdsim
