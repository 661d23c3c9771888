// Sums over a trace, and the time line of its backward pass.
#include "sim/work/trace.h"

namespace sgdsim {

Duration Trace::forward() const {
  Duration sum;
  for (const Layer& layer : layers) sum += layer.forward;
  return sum;
}

Duration Trace::backward() const {
  Duration sum;
  for (const Layer& layer : layers) sum += layer.backward;
  return sum;
}

Bytes Trace::gradient() const {
  Bytes sum;
  for (const Layer& layer : layers) sum += layer.gradient;
  return sum;
}

int64_t Trace::parameters() const {
  int64_t sum = 0;
  for (const Layer& layer : layers) sum += layer.parameters;
  return sum;
}

std::vector<Duration> ready_times(const Trace& trace) {
  std::vector<Duration> ready(trace.layers.size());
  Duration now = trace.forward();
  for (std::size_t i = trace.layers.size(); i-- > 0;) {
    const Layer& layer = trace.layers[i];
    now += layer.backward;
    ready[i] = trace.has_ready ? layer.ready : now;
  }
  return ready;
}

}  // namespace sgdsim
