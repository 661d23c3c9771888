// Gradients come in the order in which they are ready, layers stand in the opposite order.
#include "traces/kineto/to_trace.h"

#include <algorithm>

#include "sim/core/error.h"
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
    text += "; several backward passes in one step (gradient accumulation) are not supported";
  else
    text += "; parameters without a gradient (frozen or unused) must not be listed";
  return text;
}

// Walks through gradients and buckets together. Why they do not fit; empty: they do.
std::string match(const std::vector<GradientBucket>& buckets, Gradients& gradients) {
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
             std::to_string(buckets[b].elements) +
             " elements, but the gradients in reverse order of registration add up to " +
             std::to_string(sum);
  }
  if (g == gradients.elements.size()) return {};
  return "the recorded buckets hold " + std::to_string(g) + " gradients of " +
         std::to_string(gradients.elements.size());
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
  if (recording.buckets.empty())
    no_buckets = "no all-reduce of gradients was recorded";
  else if (!recording.has_bucket_sizes())
    no_buckets = "the sizes of the all-reduces were not recorded";
  else
    no_buckets = match(recording.buckets, gradients);
  return gradients;
}

// Each bucket's elements in equal parts, so that they add up exactly.
Gradients divided(const Recording& recording) {
  const std::string advice = "; give --parameters or --like";
  const std::string& file = recording.profiles.front().file;
  if (!recording.has_bucket_sizes())
    throw InputError(file, "the sizes of gradients are not in it" + advice);
  Gradients gradients;
  for (const GradientBucket& bucket : recording.buckets) {
    if (bucket.gradients == 0)
      throw InputError(file,
                       "no gradient was ready between two of its all-reduces, so that their "
                       "bytes cannot be divided" +
                           advice);
    const auto count = static_cast<int64_t>(bucket.gradients);
    const int64_t part = bucket.elements / count;
    const int64_t rest = bucket.elements % count;
    for (int64_t i = 0; i < count; ++i) {
      gradients.elements.push_back(part + (i < rest ? 1 : 0));
      gradients.element_B.push_back(bytes_of_type(bucket.type));
    }
  }
  const std::size_t count = gradients.elements.size();
  if (count != recording.ready.size())
    throw InputError(file, "its all-reduces were launched after " + std::to_string(count) + " of " +
                               std::to_string(recording.ready.size()) + " gradients" + advice);
  for (std::size_t i = 0; i < count; ++i)
    gradients.names.push_back("gradient " + std::to_string(i + 1));
  return gradients;
}

void add_layers(const Recording& recording, const Gradients& gradients, Trace& trace) {
  const std::vector<Duration>& ready = recording.ready;
  for (std::size_t i = ready.size(); i-- > 0;) {
    Layer layer;
    layer.name = gradients.names[i];
    layer.parameters = gradients.elements[i];
    layer.gradient = Bytes(gradients.elements[i] * gradients.element_B[i]);
    layer.ready = ready[i];
    layer.backward = ready[i] - (i == 0 ? recording.forward : ready[i - 1]);
    trace.layers.push_back(std::move(layer));
  }
}

std::string source_text(const Recording& recording, const std::optional<ParameterSizes>& sizes) {
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
         (sizes ? "Sizes are those of " + sizes->origin + " in reverse order of registration."
                : "Sizes were not recorded.");
}

}  // namespace

ImportedStep trace_of(const Recording& recording, const std::optional<ParameterSizes>& sizes,
                      const std::string& name) {
  ImportedStep imported;
  Trace& trace = imported.trace;
  const Gradients gradients =
      sizes ? listed(recording, *sizes, imported.no_buckets) : divided(recording);
  const JobFacts& job = recording.profiles.front().job;
  trace.name = name;
  trace.framework = "PyTorch" + (job.nccl_version.empty() ? "" : ", NCCL " + job.nccl_version);
  trace.device = job.device;
  trace.source = source_text(recording, sizes);
  trace.update = recording.update;
  trace.has_ready = true;
  trace.derived = !sizes;
  if (!sizes)
    trace.notes.push_back(
        "the sizes of gradients were not recorded: each bucket's bytes are "
        "divided equally among its gradients");
  if (!imported.no_buckets.empty() && !recording.buckets.empty())
    trace.notes.push_back(imported.no_buckets);
  for (const RankProfile& profile : recording.profiles)
    if (profile.is_cut_off) trace.notes.push_back(profile.file + " ends too early");
  add_layers(recording, gradients, trace);
  const std::string& file = recording.profiles.front().file;
  complete(
      trace, Forward::total, recording.forward,
      {file, [&](std::size_t i) { return file + ": layer \"" + trace.layers[i].name + "\""; }});
  return imported;
}

}  // namespace sgdsim::profiler
