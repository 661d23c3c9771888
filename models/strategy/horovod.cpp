// Horovod: a background thread wakes up every `cycle`, takes all gradients that are ready on every
// worker, packs them in order into fusion buffers of at most `threshold`, and launches them.
//
// Presets: "2018" (64 MiB, 5 ms: papers and old documentation) and "0.28" (128 MiB, 1 ms, the
// default). With `blocking` (MPI, Gloo) the thread waits for its operations and the next cycle
// starts after them; else (NCCL) operations queue on the stream. What is fused depends on when
// gradients are ready, so this strategy plans anew before every iteration. The thread's clock
// starts with the first iteration and runs on: the next iteration meets it wherever it is. A single
// worker has nothing to wait for.
#include <algorithm>

#include "models/strategy/registry.h"

namespace sgdsim::strategy::horovod {
namespace {

struct Settings {
  Bytes threshold{128 << 20};
  Duration cycle = Duration::ms(1);
  bool blocking = false;
};

enum class Preset : uint8_t { v0_28, v2018 };
constexpr Named<Preset, 2> presets{{{"0.28", Preset::v0_28}, {"2018", Preset::v2018}}};
const auto& names_of(Preset) { return presets; }

struct Options {
  Preset preset = Preset::v0_28;
  std::optional<Bytes> threshold;
  std::optional<Duration> cycle;
  bool blocking = false;
};

Fields fields_of(Options& o) {
  return {{"preset", o.preset, "defaults of that year or version"},
          Field("threshold", o.threshold, "bytes that a fusion buffer holds")
              .otherwise("128 MiB; 64 MiB with preset 2018"),
          Field("cycle", o.cycle, "time between two looks of the thread")
              .otherwise("1 ms; 5 ms with preset 2018"),
          {"blocking", o.blocking, "the thread waits for its operations, as with MPI and Gloo"}};
}

GradientPlan plan(const PlanInput& input, const Settings& settings) {
  GradientPlan plan;
  if (input.cost.is_algorithm() && input.cost.job().size() == 1) {
    plan.messages = layer_by_layer(input.trace);
    return plan;
  }
  int next = static_cast<int>(input.trace.layers.size()) - 1;
  auto ready = [&](int layer) { return input.ready[static_cast<std::size_t>(layer)]; };
  // Skips cycles in which nothing is ready.
  auto first_cycle = [&](Duration from, Duration least) {
    if (least <= from) return from;
    const int64_t cycle_ps = std::max<int64_t>(1, settings.cycle.ps());
    const int64_t cycles = ((least - from).ps() + cycle_ps - 1) / cycle_ps;
    return from + Duration::ps(cycle_ps) * cycles;
  };
  Duration now = first_cycle(input.wakes, Duration());
  Duration channel_free;
  while (next >= 0) {
    now = first_cycle(now, ready(next));
    PlannedMessage message{next, next, Bytes(0), now, 0};
    while (next >= 0 && ready(next) <= now) {
      const Bytes size = input.trace.layers[static_cast<std::size_t>(next)].gradient;
      if (message.size.count() > 0 && message.size + size > settings.threshold) {
        plan.messages.push_back(message);
        message = {next, next, Bytes(0), now, 0};
      }
      message.size += size;
      message.first_layer = next;
      --next;
    }
    if (message.size.count() > 0) plan.messages.push_back(message);
    if (settings.blocking) channel_free = end_in_order(plan.messages, input.cost, input.ready);
    now = std::max(now + settings.cycle, channel_free);
  }
  plan.wakes = now;
  return plan;
}

Strategy read(Object& fields) {
  const auto options = read_record<Options>(fields);
  const bool is_old = options.preset == Preset::v2018;
  const Settings settings{options.threshold.value_or(Bytes((is_old ? 64 : 128) << 20)),
                          options.cycle.value_or(Duration::ms(is_old ? 5 : 1)), options.blocking};
  return {.name = "",
          .plan = [settings](const PlanInput& input) { return plan(input, settings); },
          .replans = true};
}

}  // namespace

StrategyKind describe() {
  return {"horovod", "fusion of what is ready each `cycle` (1 ms), up to `threshold` (128 MiB)",
          options_of<Options>, read};
}

}  // namespace sgdsim::strategy::horovod
