// Gradients come in the order in which they are ready, layers stand in the opposite order.
#include "traces/kineto/to_trace.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "traces/complete.h"

namespace sgdsim::profiler {
namespace {

constexpr int64_t usual_element_B = 4;

// Elements and bytes of each gradient, in the order in which they are ready.
struct Gradients {
  std::vector<std::string> names;
  std::vector<int64_t> elements;
  std::vector<int64_t> element_B;
};

std::string counts(std::size_t gradients, const ParameterSizes& sizes) {
  std::string text = "the profile has " + std::to_string(gradients) + " gradients a step, " +
                     sizes.origin + " has " + std::to_string(sizes.parameters.size()) +
                     " parameters";
  const std::size_t parameters = sizes.parameters.size();
  if (gradients > parameters && gradients % parameters == 0)
    text +=
        "; several backward passes in one step that all exchange their gradients cannot be "
        "replayed: accumulate them with no_sync";
  else
    text += "; parameters without a gradient (frozen or unused) must not be listed";
  return text;
}

// Walks through gradients and buckets together. Why they do not fit; empty: they do.
std::string match(const std::vector<GradientBucket>& buckets, const std::string& order,
                  Gradients& gradients) {
  std::size_t g = 0;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    int64_t sum = 0;
    const int64_t element_B = bytes_of_type(buckets[b].type);
    while (g < gradients.elements.size() && sum < buckets[b].elements) {
      sum += gradients.elements[g];
      gradients.element_B[g++] = element_B;
    }
    if (sum != buckets[b].elements)
      return "bucket " + std::to_string(b + 1) + " was recorded with " +
             std::to_string(buckets[b].elements) + " elements, but the gradients in " + order +
             " add up to " + std::to_string(sum);
  }
  if (g == gradients.elements.size()) return {};
  return "the recorded buckets hold " + std::to_string(g) + " gradients of " +
         std::to_string(gradients.elements.size());
}

std::string why_no_buckets(const Recording& recording, const std::string& order,
                           Gradients& gradients) {
  if (recording.buckets.empty()) return "no all-reduce of gradients was recorded";
  if (!recording.has_bucket_sizes()) return "the sizes of the all-reduces were not recorded";
  return match(recording.buckets, order, gradients);
}

Gradients listed(const Recording& recording, const ParameterSizes& sizes, std::string& no_buckets) {
  const std::size_t count = recording.ready.size();
  if (sizes.parameters.size() != count) throw InputError(sizes.origin, counts(count, sizes));
  Gradients gradients;
  gradients.element_B.assign(count, usual_element_B);
  for (std::size_t i = count; i-- > 0;) {
    gradients.names.push_back(sizes.parameters[i].first);
    gradients.elements.push_back(sizes.parameters[i].second);
  }
  no_buckets = why_no_buckets(recording, "reverse order of registration", gradients);
  return gradients;
}

// As the operators of the gradients say.
Gradients recorded(const Recording& recording, std::string& no_buckets) {
  Gradients gradients;
  for (const GradientSize& size : recording.sizes) {
    gradients.names.push_back("gradient " + std::to_string(gradients.names.size() + 1));
    gradients.elements.push_back(size.elements);
    gradients.element_B.push_back(size.element_B);
  }
  no_buckets = why_no_buckets(recording, "the order of AccumulateGrad", gradients);
  return gradients;
}

// Whether each bucket has gradients of its own, and together they have all.
bool can_divide(const Recording& recording) {
  std::size_t count = 0;
  for (const GradientBucket& bucket : recording.buckets) {
    if (bucket.gradients == 0 || bucket.elements < static_cast<int64_t>(bucket.gradients))
      return false;
    count += bucket.gradients;
  }
  return count == recording.ready.size();
}

// Each bucket's elements in equal parts, so that they add up exactly.
Gradients divided(const Recording& recording) {
  Gradients gradients;
  for (const GradientBucket& bucket : recording.buckets) {
    const auto count = static_cast<int64_t>(bucket.gradients);
    const int64_t part = bucket.elements / count;
    const int64_t rest = bucket.elements % count;
    for (int64_t i = 0; i < count; ++i) {
      gradients.names.push_back((recording.is_ready_by_bucket ? "bucket " : "gradient ") +
                                std::to_string(gradients.names.size() + 1));
      gradients.elements.push_back(part + (i < rest ? 1 : 0));
      gradients.element_B.push_back(bytes_of_type(bucket.type));
    }
  }
  return gradients;
}

// One layer for each bucket, ready with the last gradient before its launch; what is ready later
// sends nothing.
Gradients by_bucket(const Recording& recording, std::vector<Duration>& ready) {
  Gradients gradients;
  std::vector<Duration> merged;
  std::size_t reached = 0;
  for (const GradientBucket& bucket : recording.buckets) {
    reached += bucket.gradients;
    gradients.names.push_back("bucket " + std::to_string(gradients.names.size() + 1));
    gradients.elements.push_back(bucket.elements);
    gradients.element_B.push_back(bytes_of_type(bucket.type));
    merged.push_back(reached == 0 ? recording.forward : ready[reached - 1]);
  }
  if (reached < ready.size()) {
    gradients.names.emplace_back("after the last bucket");
    gradients.elements.push_back(0);
    gradients.element_B.push_back(usual_element_B);
    merged.push_back(ready.back());
  }
  ready = std::move(merged);
  return gradients;
}

struct Sized {
  Gradients gradients;
  std::vector<Duration> ready;
  bool is_exact = true;  // the size of each gradient is known
  std::string note;      // empty: none
};

// The best that the profile itself says of the sizes of gradients.
Sized sized(const Recording& recording, std::string& no_buckets) {
  Sized answer{{}, recording.ready, true, {}};
  if (recording.has_gradient_sizes()) {
    answer.gradients = recorded(recording, no_buckets);
    if (no_buckets.empty() || !recording.has_bucket_sizes()) return answer;
    answer.note = no_buckets + "; ";
    no_buckets.clear();
  }
  if (!recording.has_bucket_sizes())
    throw InputError(recording.profiles.front().file,
                     "the sizes of gradients are not in it; give --parameters or --like, or "
                     "--execution-trace of the same run, or record with record_shapes=True");
  answer.is_exact = false;
  if (can_divide(recording)) {
    answer.gradients = divided(recording);
    answer.note +=
        recording.is_ready_by_bucket
            ? "gradients were not recorded: each all-reduce stands for all of its own"
            : "the sizes of gradients were not recorded: each bucket's bytes are divided equally "
              "among its gradients";
  } else {
    answer.gradients = by_bucket(recording, answer.ready);
    answer.note +=
        "which gradients a bucket holds was not recorded: each all-reduce stands for all of its "
        "own";
  }
  return answer;
}

void add_layers(Duration forward, const std::vector<Duration>& ready, const Gradients& gradients,
                Trace& trace) {
  for (std::size_t i = ready.size(); i-- > 0;) {
    Layer layer;
    layer.name = gradients.names[i];
    layer.parameters = gradients.elements[i];
    layer.gradient = Bytes(gradients.elements[i] * gradients.element_B[i]);
    layer.ready = ready[i];
    layer.backward = ready[i] - (i == 0 ? forward : ready[i - 1]);
    trace.layers.push_back(std::move(layer));
  }
}

std::string recorded_sizes_text(const Recording& recording) {
  const LinkedFacts& linked = recording.profiles.front().linked;
  if (linked.gradients == 0) return "Sizes are those that AccumulateGrad was recorded with.";
  return "Sizes are those of AccumulateGrad in the execution trace " + linked.file + ".";
}

std::string source_text(const Recording& recording, const std::optional<ParameterSizes>& sizes,
                        bool is_exact) {
  std::string files;
  for (const RankProfile& profile : recording.profiles)
    if (files.size() < 300) files += (files.empty() ? "" : ", ") + profile.file;
  return "imported from " + files + " (kineto): medians of " + recording.steps_text() + " of " +
         std::to_string(recording.ranks) + (recording.ranks == 1 ? " rank" : " ranks") +
         ". A gradient is ready at the end of the last computing kernel launched before its "
         "AccumulateGrad, counted from the first computing kernel of the step; gaps are kept. "
         "Forward ends with the first kernel of the backward pass and is divided among layers in "
         "proportion to backward. Update is the rest of the step after the last gradient or "
         "all-reduce. " +
         (sizes      ? "Sizes are those of " + sizes->origin + " in reverse order of registration."
          : is_exact ? recorded_sizes_text(recording)
                     : "Sizes were not recorded.");
}

// What the layers hold as if it was computing.
void note_others(const Recording& recording, Trace& trace) {
  if (recording.others == Duration()) return;
  std::string kinds;
  for (const RecordedPart& part : recording.parts)
    if (part.kind == PartKind::others)
      kinds += (kinds.empty() ? "" : ", ") + part.name.substr(0, part.name.find(" that "));
  trace.notes.push_back(to_text(recording.others) + " of " + to_text(recording.iteration) +
                        " are other communication that nothing hides (" + kinds +
                        "); it counts as computing here");
}

// Gradients are accumulated over micro-batches.
void note_passes(const Recording& recording, Trace& trace) {
  const std::size_t passes = any_step(recording.profiles).passes;
  if (passes > 1)
    trace.notes.push_back("a step has " + std::to_string(passes) +
                          " backward passes (accumulated gradients), of which the last one has "
                          "gradients that are exchanged; what comes before it counts as forward");
}

}  // namespace

ImportedStep trace_of(const Recording& recording, const std::optional<ParameterSizes>& sizes,
                      const std::string& name) {
  const std::string& file = recording.profiles.front().file;
  if (recording.ready.empty())
    throw InputError(file,
                     "no gradient (AccumulateGrad) is in it, and no all-reduce of gradients that "
                     "could stand for them: there is no data-parallel step to replay");
  ImportedStep imported;
  Trace& trace = imported.trace;
  const Sized own =
      sizes ? Sized{listed(recording, *sizes, imported.no_buckets), recording.ready, true, {}}
            : sized(recording, imported.no_buckets);
  const JobFacts& job = recording.profiles.front().job;
  trace.name = name;
  trace.framework = "PyTorch" + (job.nccl_version.empty() ? "" : ", NCCL " + job.nccl_version);
  trace.device = job.device;
  trace.source = source_text(recording, sizes, own.is_exact);
  trace.update = recording.update;
  trace.has_ready = true;
  trace.derived = !own.is_exact;
  trace.beside_exchanges = !recording.buckets.empty();
  if (!own.note.empty()) trace.notes.push_back(own.note);
  if (!imported.no_buckets.empty() && !recording.buckets.empty())
    trace.notes.push_back(imported.no_buckets);
  note_passes(recording, trace);
  note_others(recording, trace);
  for (const RankProfile& profile : recording.profiles)
    if (profile.is_cut_off) trace.notes.push_back(profile.file + " ends too early");
  const Duration forward = std::min(recording.forward, own.ready.front());
  add_layers(forward, own.ready, own.gradients, trace);
  complete(
      trace, Forward::total, forward,
      {file, [&](std::size_t i) { return file + ": layer \"" + trace.layers[i].name + "\""; }});
  return imported;
}

}  // namespace sgdsim::profiler
