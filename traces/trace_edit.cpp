// Scaling and merging layers, and doubts.
#include "traces/trace_edit.h"

#include <algorithm>
#include <functional>
#include <set>

#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "sim/core/scaled.h"
#include "traces/complete.h"

namespace sgdsim {
namespace {

void scale_layers(Trace& trace, double factor) {
  for (Layer& layer : trace.layers) {
    layer.forward = scaled(layer.forward, factor);
    layer.backward = scaled(layer.backward, factor);
    layer.ready = scaled(layer.ready, factor);
  }
}

Trace checked(Trace trace) {
  const std::string name = trace.name;
  complete(trace, Forward::per_layer, {},
           {name, [name](std::size_t i) { return name + ": layer " + std::to_string(i + 1); }});
  return trace;
}

// Two neighbours as one: the gradient is ready when that of the one in front is.
Layer joined(const Layer& front, const Layer& back) {
  Layer layer = front;
  layer.parameters += back.parameters;
  layer.gradient = Bytes(front.gradient.count() + back.gradient.count());
  layer.forward += back.forward;
  layer.backward += back.backward;
  const auto add_tensors = [&](const Layer& one) {
    if (!one.tensors.empty())
      layer.tensors.insert(layer.tensors.end(), one.tensors.begin(), one.tensors.end());
    else if (one.parameters > 0)
      layer.tensors.push_back(one.parameters);
  };
  layer.tensors.clear();
  add_tensors(front);
  add_tensors(back);
  return layer;
}

// From the last layer forwards; `goes_on` says whether the group takes in the layer before it.
Trace merged(const Trace& trace,
             const std::function<bool(const Layer& group, const Layer& next)>& goes_on) {
  Trace result = trace;
  result.layers.clear();
  for (auto layer = trace.layers.rbegin(); layer != trace.layers.rend(); ++layer) {
    if (!result.layers.empty() && goes_on(result.layers.back(), *layer))
      result.layers.back() = joined(*layer, result.layers.back());
    else
      result.layers.push_back(*layer);
  }
  std::reverse(result.layers.begin(), result.layers.end());
  return checked(std::move(result));
}

std::string first_parts(const std::string& name, int parts) {
  std::size_t end = 0;
  for (int i = 0; i < parts; ++i) {
    end = name.find('.', end);
    if (end == std::string::npos) return name;
    ++end;
  }
  return name.substr(0, end - 1);
}

}  // namespace

Trace with_compute(Trace trace, double compute) {
  scale_layers(trace, compute);
  trace.update = scaled(trace.update, compute);
  return checked(std::move(trace));
}

Trace accumulated(Trace trace, int64_t passes) {
  if (passes == 1) return trace;
  const auto others = static_cast<double>(passes - 1);
  const Layer before{.name = std::to_string(passes - 1) +
                             (passes == 2 ? " more micro-batch" : " more micro-batches"),
                     .gradient = {},
                     .forward = scaled(trace.forward(), others),
                     .backward = scaled(trace.backward(), others),
                     .ready = {},
                     .tensors = {}};
  const Duration all = before.forward + before.backward;
  for (Layer& layer : trace.layers) layer.ready += all;
  trace.layers.push_back(before);
  // Behind its own backward pass, which follows all that is computed before.
  trace.layers.back().ready = trace.forward() + before.backward;
  trace.batch *= passes;
  trace.load = scaled(trace.load, static_cast<double>(passes));
  return checked(std::move(trace));
}

Trace with_batch(Trace trace, int64_t batch) {
  if (trace.batch == 0)
    throw InputError(
        "--batch",
        "the trace does not state the batch that it was measured with; write it into the trace as "
        "`batch`, or scale with --compute");
  const double factor = static_cast<double>(batch) / static_cast<double>(trace.batch);
  scale_layers(trace, factor);
  trace.load = scaled(trace.load, factor);
  if (batch != trace.batch)
    trace.notes.push_back("times are those of a batch of " + std::to_string(trace.batch) +
                          ", in proportion");
  trace.batch = batch;
  return checked(std::move(trace));
}

Trace merged_to(const Trace& trace, Bytes least) {
  return merged(trace,
                [least](const Layer& group, const Layer&) { return group.gradient < least; });
}

Trace merged_by_name(const Trace& trace, int parts) {
  Trace result = merged(trace, [parts](const Layer& group, const Layer& next) {
    return first_parts(group.name, parts) == first_parts(next.name, parts);
  });
  for (Layer& layer : result.layers) layer.name = first_parts(layer.name, parts);
  return result;
}

std::vector<std::string> doubts_about(const Trace& trace) {
  std::vector<std::string> doubts;
  const auto named = [](const Layer& layer, std::size_t place) {
    return "layer " + std::to_string(place + 1) + " (" + layer.name + ")";
  };
  const auto count_of = [&](bool (*is)(const Layer&), const std::string& what) {
    std::size_t count = 0;
    std::string first;
    for (std::size_t i = 0; i < trace.layers.size(); ++i)
      if (is(trace.layers[i]) && ++count == 1) first = named(trace.layers[i], i);
    if (count > 0)
      doubts.push_back(what + ": " + first +
                       (count > 1 ? " and " + std::to_string(count - 1) + " more" : ""));
  };
  count_of([](const Layer& layer) { return layer.parameters > 0 && layer.backward == Duration(); },
           "gradients that take no time");
  count_of(
      [](const Layer& layer) {
        const int64_t size_B = layer.gradient.count();
        return layer.parameters > 0 && size_B != layer.parameters &&
               size_B != 2 * layer.parameters && size_B != 4 * layer.parameters &&
               size_B != 8 * layer.parameters;
      },
      "gradients whose size is not 1, 2, 4 or 8 bytes a parameter");
  std::set<std::string> names;
  for (std::size_t i = 0; i < trace.layers.size(); ++i)
    if (!names.insert(trace.layers[i].name).second) {
      doubts.push_back("names that occur twice: " + named(trace.layers[i], i));
      break;
    }
  const Duration backward = trace.backward();
  for (std::size_t i = 0; i < trace.layers.size() && trace.layers.size() > 4; ++i)
    if (2 * trace.layers[i].backward > backward)
      doubts.push_back("one layer is more than half of backward: " + named(trace.layers[i], i));
  if (trace.forward() > backward) doubts.emplace_back("forward takes longer than backward");
  if (trace.parameters() == 0) doubts.emplace_back("no layer has parameters");
  if (trace.batch == 0) doubts.emplace_back("the batch is not stated");
  if (trace.source.empty()) doubts.emplace_back("no source says where the figures come from");
  return doubts;
}

}  // namespace sgdsim
