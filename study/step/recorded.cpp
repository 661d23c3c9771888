// Facts of the recording first; what they mean in sentences, with the largest part named.
#include "study/step/recorded.h"

#include <algorithm>
#include <cmath>

#include "study/step/result_json.h"
#include "study/table.h"

namespace sgdsim {
namespace {

using profiler::GradientBucket;
using profiler::RecordedCollective;
using profiler::RecordedPart;
using profiler::Recording;

constexpr double most_off = 0.1;
constexpr double hardly = 0.1;  // of the step
constexpr std::size_t most_named = 8;

double share_of(const Recording& recording, Duration time) {
  return recording.iteration > Duration() ? time / recording.iteration : 0;
}

std::string time_text(Duration time) { return short_duration(time.us(), 5); }
std::string size_text(int64_t bytes) {
  return bytes < 0 ? "?" : short_size(static_cast<double>(bytes));
}

// How far times are from the record, in parts of the iteration.
double distance(const Recording& recording, double iteration_us, double exposed_us) {
  const double recorded_us = recording.iteration.us();
  return std::max(std::abs(iteration_us - recorded_us),
                  std::abs(exposed_us - recording.exposed.us())) /
         recorded_us;
}

std::string off_text(const Recording& recording, double iteration_us, double exposed_us) {
  const double off = iteration_us / recording.iteration.us() - 1;
  std::string text = short_duration(iteration_us, 5) + " an iteration";
  if (std::abs(off) > most_off)
    return text + ", " + part_text(std::abs(off)) + (off > 0 ? " more" : " less") +
           " than was recorded";
  return text + ", of which " + short_duration(exposed_us, 4) + " exposed, and not the recorded " +
         time_text(recording.exposed);
}

// What of the exposed exchange is waiting for others: it goes beyond the shortest transfers, and
// the all-reduces themselves took so much longer.
Duration waiting_of(const RecordedTruth& truth) {
  const Recording& recording = truth.recorded->recording;
  const double waiting_us = recording.exposed.us() - truth.replayed_exposed_us;
  if (truth.replayed_us <= 0 || waiting_us <= 0) return {};
  Duration longer;
  for (const GradientBucket& bucket : recording.buckets)
    longer += bucket.recorded - bucket.transfer;
  return std::min(longer, Duration::ps(static_cast<int64_t>(waiting_us * 1e6)));
}

std::string waiting_text(const RecordedTruth& truth) {
  const Recording& recording = truth.recorded->recording;
  const Duration waiting = waiting_of(truth);
  if (share_of(recording, waiting) < 0.01) return {};
  return time_text(waiting) + " (" + part_text(share_of(recording, waiting)) +
         ") of the exposed exchange goes beyond the shortest transfers: waiting for other ranks" +
         (recording.last_rank ? ", most often for rank " + std::to_string(*recording.last_rank)
                              : "");
}

Duration exposed_of(const Recording& recording) { return recording.exposed + recording.others; }

// The largest part that is no communication.
const RecordedPart& largest_of_rest(const Recording& recording) {
  const auto is_less = [](const RecordedPart& a, const RecordedPart& b) { return a.time < b.time; };
  const auto first =
      std::find_if(recording.parts.begin(), recording.parts.end(),
                   [](const RecordedPart& part) { return !part.is_communication(); });
  return *std::max_element(first, recording.parts.end(), is_less);
}

const char* what_to_do(const RecordedPart& part) {
  switch (part.kind) {
    case profiler::PartKind::computing:
      return "faster kernels (lower precision, torch.compile) or faster GPUs shorten it";
    case profiler::PartKind::copying:
      return "pinned memory and non_blocking=True let copies run beside kernels";
    case profiler::PartKind::loading:
      return "more workers of the DataLoader, or a faster disk, shorten it";
    case profiler::PartKind::idle:
      return "fewer and larger kernels (CUDA graphs, torch.compile, larger batches), and no "
             "waiting for the GPU's results on the CPU, shorten it";
    case profiler::PartKind::gradients:
    case profiler::PartKind::others:
      break;
  }
  return "";
}

struct ToldBucket {
  GradientBucket bucket = {};
};
Fields fields_of(const ToldBucket& told) {
  const GradientBucket& bucket = told.bucket;
  const auto if_known = [&](const auto& value) {
    return bucket.elements >= 0 ? std::optional(value) : std::nullopt;
  };
  return {{"gradients", bucket.gradients, "how many it holds"},
          {"recorded_us", bucket.recorded.us(), "how long its kernel took"},
          {"transfer_us", bucket.transfer.us(),
           "the shortest time over ranks and steps; the rest is waiting for other ranks"},
          {"size_B", if_known(bucket.size.count()), "its bytes, if they were recorded"},
          {"elements", if_known(bucket.elements), "its elements, if they were recorded"},
          {"type", if_known(bucket.type), "their type"}};
}

struct ToldCollective {
  RecordedCollective collective = {};
};
Fields fields_of(const ToldCollective& told) {
  const RecordedCollective& one = told.collective;
  return {
      {"kind", one.kind, "all-reduce, all-to-all, ..."},
      {"of_gradients", one.is_bucket, "whether it is an exchange of gradients that is replayed"},
      {"count", one.count, "how often in a step"},
      {"time_us", one.time.us(), "time of their kernels together"},
      {"exposed_us", one.is_bucket ? std::nullopt : std::optional(one.alone.us()),
       "of this, what no kernel that computes hides"},
      Field("ranks", one.group_size > 0 ? std::optional(one.group_size) : std::nullopt,
            "ranks of their group, if recorded")
          .at_least(1),
      {"size_B", one.size_B >= 0 ? std::optional(one.size_B) : std::nullopt,
       "what goes into each, if recorded"}};
}

struct ToldPart {
  RecordedPart part = {};
};
Fields fields_of(const ToldPart& told) {
  return {{"part", told.part.name, "what it is"}, {"time_us", told.part.time.us(), "how long"}};
}

template <class Told, class T>
std::vector<Told> told_by(const std::vector<T>& all) {
  std::vector<Told> told;
  for (const T& one : all) told.push_back({one});
  return told;
}

std::string bucket_list(const Recording& recording) {
  std::string text;
  for (std::size_t i = 0; i < std::min(recording.buckets.size(), most_named); ++i) {
    const GradientBucket& bucket = recording.buckets[i];
    text += (i == 0 ? "" : ", ") + size_text(bucket.elements < 0 ? -1 : bucket.size.count()) +
            " in " + time_text(bucket.transfer);
  }
  return text + (recording.buckets.size() > most_named ? ", ..." : "");
}

void print_who(std::ostream& out, const Recording& recording) {
  out << "recorded: " << recording.profiles.size() << " of "
      << (recording.profiles.front().job.is_of_more ? "at least " : "") << recording.ranks
      << (recording.ranks == 1 ? " rank (" : " ranks (") << printable(recording.steps_text())
      << ')';
  if (recording.group_size != recording.ranks)
    out << "; gradients among " << recording.group_size << " ranks";
  out << '\n';
  if (!recording.buckets.empty())
    out << recording.buckets.size()
        << (recording.buckets.size() == 1 ? " all-reduce" : " all-reduces")
        << " of gradients a step: " << bucket_list(recording) << '\n';
}

void print_parts(std::ostream& out, const Recording& recording) {
  Table table({"recorded part of the step", "time", "of the step"});
  for (const RecordedPart& part : recording.parts)
    table.add({part.name, time_text(part.time), part_text(share_of(recording, part.time))});
  out << '\n';
  table.print(out);
}

void print_others(std::ostream& out, const Recording& recording) {
  Table table({"other collective", "ranks", "size", "a step", "time", "that nothing hides"});
  std::size_t rows = 0;
  for (const RecordedCollective& one : recording.collectives) {
    if (one.is_bucket || ++rows > 2 * most_named) continue;
    table.add({one.kind, one.group_size == 0 ? "?" : std::to_string(one.group_size),
               size_text(one.size_B), rounded(one.count), time_text(one.time),
               time_text(one.alone)});
  }
  if (rows == 0) return;
  out << '\n';
  table.print(out);
  if (rows > 2 * most_named) out << "and " << rows - 2 * most_named << " more\n";
}

}  // namespace

PlayedHere played_here(const std::string& cluster, const Experiment& experiment,
                       const StepResult& result) {
  return {cluster, experiment.cluster.network.workers(), metrics_of(experiment, result).mean_us,
          result.mean.exposed.us()};
}

RecordedTruth truth_of(std::shared_ptr<const RecordedStep> recorded) {
  RecordedTruth truth;
  truth.recorded = std::move(recorded);
  if (!truth.recorded->why_no_replay().empty()) return truth;
  ResolvedExperiment resolved;
  resolved.json = experiment_of(*truth.recorded, true);
  resolved.file = truth.recorded->file;
  const Experiment experiment = read_experiment(resolved);
  const StepResult result = simulate_step(experiment.question());
  truth.replayed_us = metrics_of(experiment, result).mean_us;
  truth.replayed_exposed_us = result.mean.exposed.us();
  return truth;
}

std::string why_no_gains(const RecordedTruth& truth) {
  const Recording& recording = truth.recorded->recording;
  if (std::string why = truth.recorded->why_no_replay(); !why.empty()) return why;
  if (recording.ranks == 1)
    return "one rank alone exchanges nothing. To plan for several, import the profile and advise "
           "on "
           "the trace with --cluster";
  if (distance(recording, truth.replayed_us, truth.replayed_exposed_us) > most_off) {
    std::string why =
        "the replay takes " + off_text(recording, truth.replayed_us, truth.replayed_exposed_us);
    if (const std::string waiting = waiting_text(truth); !waiting.empty()) why += "; " + waiting;
    return why;
  }
  if (truth.here &&
      distance(recording, truth.here->iteration_us, truth.here->exposed_us) > most_off)
    return truth.here->cluster + " with " + std::to_string(truth.here->workers) +
           " workers is not what was recorded: there the step takes " +
           off_text(recording, truth.here->iteration_us, truth.here->exposed_us) +
           ". To plan for it all the same, import the profile and advise on the trace";
  return {};
}

std::string verdict_of(const RecordedTruth& truth) {
  const Recording& recording = truth.recorded->recording;
  if (recording.ranks == 1) return "one rank communicates with nobody";
  const double exposed = share_of(recording, exposed_of(recording));
  std::string text = part_text(exposed) + " exposed";
  const Duration waiting = waiting_of(truth);
  if (exposed >= hardly && waiting + waiting > exposed_of(recording))
    return text + ", most of it waiting for " +
           (recording.last_rank ? "rank " + std::to_string(*recording.last_rank) : "other ranks") +
           ": slow ranks cost more than the network does";
  text += ": ";
  if (exposed_of(recording) >= largest_of_rest(recording).time && exposed > 0)
    return text + "communication is your bottleneck";
  if (exposed < hardly) return text + "communication is not your bottleneck";
  return text + "communication costs that much, but it is not the largest part";
}

Fields fields_of(const PlayedHere& here) {
  return {{"cluster", here.cluster, "its file"},
          Field("workers", here.workers, "how many train").at_least(1),
          {"iteration_us", here.iteration_us, "an iteration"},
          {"exposed_us", here.exposed_us, "communication that nothing hides"}};
}

Fields fields_of(const RecordedTruth& truth) {
  static const Recording nothing;
  const bool is_there = truth.recorded != nullptr;
  const Recording& recording = is_there ? truth.recorded->recording : nothing;
  const auto if_replayed = [&](double value) {
    return truth.replayed_us > 0 ? std::optional(value) : std::nullopt;
  };
  return {
      Field("ranks", recording.ranks, "ranks of the job").at_least(1),
      Field("profiles", recording.profiles.size(), "how many of the ranks have a profile")
          .at_least(1),
      Field("group_size", recording.group_size, "how many ranks exchange gradients").at_least(1),
      {"steps", is_there ? recording.steps_text() : "", "which steps were used"},
      {"iteration_us", recording.iteration.us(), "an iteration"},
      {"exposed_us", exposed_of(recording).us(),
       "communication that nothing hides: the sum of that of gradients and of others"},
      {"exposed_percent", 100 * share_of(recording, exposed_of(recording)),
       "its part of the iteration"},
      {"gradients_exposed_us", recording.exposed.us(),
       "from the last gradient to the end of the last all-reduce of gradients, but for what other "
       "collectives take of it"},
      {"others_exposed_us", recording.others.us(), "other collectives while no kernel computes"},
      {"unhidden_us", recording.unhidden.us(),
       "all collectives while no kernel computes, also where the GPU waits for the CPU"},
      {"verdict", is_there ? verdict_of(truth) : "", "whether communication is the bottleneck"},
      {"largest", is_there ? std::string(largest_of_rest(recording).name) : std::string(),
       "the largest part that is no communication"},
      {"parts", told_by<ToldPart>(recording.parts),
       "what the iteration was spent on; they add up to it"},
      {"buckets", told_by<ToldBucket>(recording.buckets),
       "all-reduces of gradients, in their order"},
      {"collectives", told_by<ToldCollective>(recording.collectives),
       "all collectives of a step on average, by kind, ranks and size"},
      {"warnings", recording.warnings, "what could not be used, and what was assumed"},
      {"replayed_us", if_replayed(truth.replayed_us),
       "an iteration as it is simulated with the recorded buckets and transfer times"},
      {"replayed_exposed_us", if_replayed(truth.replayed_exposed_us),
       "communication that nothing hides in it"},
      {"waiting_us", is_there ? if_replayed(waiting_of(truth).us()) : std::nullopt,
       "what of the exposed exchange goes beyond the shortest transfers: waiting for other ranks"},
      {"on_cluster", truth.here,
       "the step with the recorded buckets on the cluster that was given"},
      Field("why_no_gains", is_there ? why_no_gains(truth) : "",
            "why nothing is concluded from the replay")
          .if_any()};
}

void print_recorded(std::ostream& out, const RecordedTruth& truth) {
  const Recording& recording = truth.recorded->recording;
  print_who(out, recording);
  out << "recorded " << time_text(recording.iteration);
  if (truth.replayed_us > 0) out << ", replayed " << short_duration(truth.replayed_us, 5);
  out << "; " << verdict_of(truth) << '\n';
  const RecordedPart& rest = largest_of_rest(recording);
  out << "largest part beside communication: " << rest.name << ", " << time_text(rest.time) << " ("
      << part_text(share_of(recording, rest.time)) << "); " << what_to_do(rest) << '\n';
  if (recording.ranks > 1)
    out << "however fast communication becomes, an iteration takes at least "
        << time_text(recording.iteration - exposed_of(recording) + waiting_of(truth)) << '\n';
  if (const std::string waiting = waiting_text(truth); !waiting.empty()) out << waiting << '\n';
  if (truth.here)
    out << "on " << printable(truth.here->cluster) << ", " << truth.here->workers
        << " workers: " << short_duration(truth.here->iteration_us, 5) << ", of which "
        << short_duration(truth.here->exposed_us, 4) << " exposed\n";
  print_parts(out, recording);
  print_others(out, recording);
  out << '\n';
  for (const std::string& warning : recording.warnings)
    out << "note: " << printable(warning) << '\n';
  if (!recording.warnings.empty()) out << '\n';
}

}  // namespace sgdsim
