// Flows that come by chance: starts by a Poisson process, between workers drawn evenly.
//
// `load` is the part of the workers' bandwidth that they ask for together. A worker has the
// bandwidth that a message between the first and the last worker gets alone, or `bandwidth`.
#include <algorithm>

#include "models/traffic/flow_sizes.h"
#include "models/traffic/registry.h"

namespace sgdsim::traffic::poisson {
namespace {

constexpr double most_load = 10;

double bytes_per_s(const Object& fields, const Network& network, double mean_B) {
  const PerByte rate = network.at_size(mean_B).between(0, network.workers() - 1).per_byte;
  if (rate.ps() <= 0)
    fields.value().fail("links that cost nothing have no load; give a `bandwidth`");
  return 1e12 / rate.ps();
}

struct Options {
  double load = 0;
  FlowSizes size;
  std::string among;
  std::optional<Bandwidth> bandwidth;
  std::optional<int64_t> count;
  std::optional<Duration> duration;
  Duration start;
};

Fields fields_of(Options& o) {
  return Fields{
      Field("load", o.load, "part of all bandwidth that is asked for").needed().from(0., most_load),
      size_field(o.size),
      among_field(o.among),
      Field("bandwidth", o.bandwidth, "bandwidth of a worker, of which load is a part")
          .otherwise("what the first and the last worker have between them"),
      Field("count", o.count, "number of flows").from(1, most_flows),
      {"duration", o.duration, "time for which flows begin, in place of a count"},
      start_field(o.start)}
      .exactly_one({"count", "duration"}, "expected either a `count` of flows or a `duration`");
}

void add(Object& fields, const TrafficScene& scene, std::vector<PlainFlow>& flows) {
  const auto options = read_record<Options>(fields);
  const FlowSizes& sizes = options.size;
  const std::vector<int> workers = read_ranks(fields, "among", *scene.network);
  if (workers.size() < 2) fields.value().fail("traffic needs two workers");
  const double worker_rate = options.bandwidth
                                 ? options.bandwidth->Bps()
                                 : bytes_per_s(fields, *scene.network, sizes.mean_B());
  const double part = options.load;
  if (part <= 0) fields.at("load").fail("a load of 0 brings no flows");
  const double flows_per_s =
      part * static_cast<double>(workers.size()) * worker_rate / sizes.mean_B();
  const double most =
      options.count ? static_cast<double>(*options.count) : options.duration->s() * flows_per_s;
  check_room(fields.value(), flows, most);
  const Time start = Time() + options.start;
  Random random = scene.random;
  double now_ps = 0;
  for (int64_t i = 0; !options.count || i < *options.count; ++i) {
    now_ps += random.exponential(1e12 / flows_per_s);
    const Duration since = Duration::nearest_ps(now_ps);
    if (options.duration && since > *options.duration) break;
    const auto from = static_cast<std::size_t>(random.below(workers.size()));
    auto to = static_cast<std::size_t>(random.below(workers.size() - 1));
    if (to >= from) ++to;
    flows.push_back({start + since, sizes.draw(random), workers[from], workers[to]});
  }
}

}  // namespace

TrafficGenerator describe() {
  return {"poisson", "flows of some `size` that come by chance, with `load` of all bandwidth",
          options_of<Options>, add};
}

}  // namespace sgdsim::traffic::poisson
