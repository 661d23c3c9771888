// From options to wires.
#include "study/replay/replay_wires.h"

#include "sim/core/error.h"
#include "sim/core/refusal.h"
#include "study/collective/ranges.h"
#include "study/transport_choice.h"
#include "study/wire_words.h"

namespace sgdsim {
namespace {

bool is_packet(const ReplayWords& words) { return words.fidelity == "packet"; }

// Options that belong to fidelities on wires.
void check_wires(const ReplayWords& words, bool has_cluster, Duration gap) {
  const bool on_wires = is_packet(words) || words.fidelity == "flow";
  check_routes(words.fidelity, words.routing, words.transport);
  if (!words.seed.empty() && !is_packet(words) && words.routing != "hashed")
    throw no_effect("--seed", "without --fidelity packet or --routing hashed");
  check_traffic_option(words.traffic, on_wires);
  if (!on_wires) return;
  const std::string fidelity = words.fidelity;
  if (!has_cluster) throw needs("--fidelity", "a --cluster, whose wires are shared", fidelity);
  if (words.ports == "shared")
    throw InputError("--ports", idle_word("shared", "at --fidelity " + fidelity));
  if (gap > Duration())
    throw InputError("--g",
                     "keeps messages of a card apart, which --fidelity " + fidelity + " does not");
  if (is_packet(words) && !words.alpha.empty())
    throw no_effect("--alpha", "at --fidelity packet: every link has its own latency");
}

}  // namespace

void set_wires(const ReplayWords& words, const std::optional<Cluster>& cluster, ReplayWires& all,
               Replay& question) {
  check_wires(words, cluster.has_value(), question.costs.gap);
  if (!is_packet(words) && words.fidelity != "flow") return;
  RouteChoice routes;
  if (!words.seed.empty())
    routes.seed = static_cast<uint64_t>(parse_whole(words.seed, 0, int64_t{1} << 62, "--seed"));
  if (!words.routing.empty()) routes.routing = routing_named(words.routing, "--routing");
  all.wires = cluster->wires(routes);
  question.resources = all.wires.get();
  Sent sent = sent_on(*cluster, fidelity_named(words.fidelity, "--fidelity"), routes,
                      transport_in(words.transport));
  question.carrier = std::move(sent.carrier);
  all.transport = std::move(sent.transport);
  if (words.traffic.empty()) return;
  all.traffic = read_meanwhile(words.traffic, "--traffic", *cluster, *all.wires);
  question.meanwhile = all.traffic.meanwhile();
}

}  // namespace sgdsim
