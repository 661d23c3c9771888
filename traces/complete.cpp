// Limits, order, and the division of forward time.
#include "traces/complete.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

constexpr std::size_t longest_name = 255;
// Of all layers together; sizes below it are exact in floating point, and so are their texts.
constexpr Bytes largest_gradient{int64_t{1} << 53};

// Rounds the sum up to each layer, not each layer, so that the parts add up to the total exactly.
void divide_forward(std::vector<Layer>& layers, Duration total, Duration backward,
                    const Origin& origin) {
  if (backward == Duration{} && total > Duration{})
    throw InputError(origin.file, "a forward time of " + to_text(total) +
                                      " cannot be divided in proportion to backward times that "
                                      "are all 0; give every layer its own");
  Duration so_far;
  Duration divided;
  for (Layer& layer : layers) {
    so_far += layer.backward;
    const double part = backward == Duration{} ? 0 : so_far / backward;
    const auto until = Duration::nearest_ps(static_cast<double>(total.ps()) * part);
    layer.forward = until - divided;
    divided = until;
  }
}

void check_sums(const Trace& trace, const Origin& origin) {
  Duration busy;
  Bytes gradient;
  for (std::size_t i = 0; i < trace.layers.size(); ++i) {
    const Layer& layer = trace.layers[i];
    if (layer.forward > longest_step - busy || layer.backward > longest_step - busy - layer.forward)
      throw InputError(origin.layer(i), "with this layer the compute times add up to more than " +
                                            to_text(longest_step));
    busy += layer.forward + layer.backward;
    if (layer.gradient > largest_gradient - gradient)
      throw InputError(origin.layer(i), "with this layer the gradients add up to more than " +
                                            to_text(largest_gradient));
    gradient += layer.gradient;
  }
}

void check_names(const Trace& trace, const Origin& origin) {
  for (std::size_t i = 0; i < trace.layers.size(); ++i) {
    const std::string& name = trace.layers[i].name;
    const bool has_control = std::any_of(name.begin(), name.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
    if (name.empty() || name.size() > longest_name || has_control)
      throw InputError(origin.layer(i), "expected a name of 1 to " + std::to_string(longest_name) +
                                            " bytes without control characters");
  }
}

void check_ready(const Trace& trace, const Origin& origin) {
  for (std::size_t i = trace.layers.size(); i-- > 0;) {
    const Layer& layer = trace.layers[i];
    if (layer.ready > longest_step)
      throw InputError(origin.layer(i),
                       "a gradient is ready at most " + to_text(longest_step) + " after the start");
    if (i + 1 == trace.layers.size() || layer.ready >= trace.layers[i + 1].ready) continue;
    throw InputError(origin.layer(i), "ready at " + to_text(layer.ready) +
                                          ", before the layer after it (" +
                                          to_text(trace.layers[i + 1].ready) +
                                          "); backward runs from the last layer to the first");
  }
}

}  // namespace

void complete(Trace& trace, Forward forward, Duration total, const Origin& origin) {
  if (trace.layers.empty()) throw InputError(origin.file, "expected at least one layer, got none");
  if (trace.layers.size() > most_layers)
    throw InputError(origin.file, "expected at most " + std::to_string(most_layers) +
                                      " layers, got " + std::to_string(trace.layers.size()));
  check_names(trace, origin);
  check_sums(trace, origin);
  const Duration backward = trace.backward();
  if (forward == Forward::missing) {
    total = Duration::ps(backward.ps() / 2);
    trace.notes.push_back("the forward time is not known: half of the backward time is assumed");
  }
  if (forward != Forward::per_layer) {
    divide_forward(trace.layers, total, backward, origin);
    check_sums(trace, origin);
  }
  if (trace.has_ready) check_ready(trace, origin);
}

}  // namespace sgdsim
