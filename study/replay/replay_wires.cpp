// From options to wires.
#include "study/replay/replay_wires.h"

#include "models/collective/network_defaults.h"
#include "models/collective/simulate.h"
#include "sim/core/error.h"
#include "sim/core/refusal.h"
#include "study/collective/ranges.h"
#include "study/transport_choice.h"
#include "study/wire_words.h"

namespace sgdsim {
namespace {

bool is_message(const ReplayWords& words) {
  return words.fidelity != "flow" && words.fidelity != "packet";
}
bool is_packet(const ReplayWords& words) { return words.fidelity == "packet"; }

// Options that belong to fidelities on wires.
void check_wires(const ReplayWords& words, bool has_cluster, Duration gap) {
  check_routes(words.fidelity, words.routing, words.transport);
  if (!words.seed.empty() && !is_packet(words) && words.routing != "hashed")
    throw no_effect("--seed", "without --fidelity packet or --routing hashed");
  const std::string fidelity = words.fidelity;
  if (!has_cluster && !is_message(words))
    throw needs("--fidelity", "a --cluster, whose wires are shared", fidelity);
  if (!has_cluster && !words.traffic.empty())
    throw needs("--traffic", "a --cluster, whose wires are shared");
  if (words.ports == "turns" && !words.traffic.empty()) throw InputError("--ports", turns_alone);
  if (is_message(words)) return;
  if (words.ports == "shared")
    throw InputError("--ports", idle_word("shared", "at --fidelity " + fidelity));
  if (gap > Duration())
    throw InputError("--g",
                     "keeps messages of a card apart, which --fidelity " + fidelity + " does not");
  if (is_packet(words) && !words.alpha.empty())
    throw no_effect("--alpha", "at --fidelity packet: every link has its own latency");
}

}  // namespace

bool shares_ports(const ReplayWords& words, const std::optional<Cluster>& cluster) {
  if (!is_message(words) || !words.ports.empty()) return words.ports == "shared";
  return !words.traffic.empty() || (cluster && !cluster->network.shared_ways().empty());
}

void set_wires(const ReplayWords& words, const std::optional<Cluster>& cluster, ReplayWires& all,
               Replay& question) {
  check_wires(words, cluster.has_value(), question.costs.gap);
  if (is_message(words) && words.traffic.empty()) return;
  RouteChoice routes;
  if (!words.seed.empty())
    routes.seed = static_cast<uint64_t>(parse_whole(words.seed, 0, int64_t{1} << 62, "--seed"));
  if (!words.routing.empty()) routes.routing = routing_named(words.routing, "--routing");
  const Fidelity fidelity = fidelity_named(words.fidelity, "--fidelity");
  all.wires = shared_at(fidelity, *cluster, routes);
  question.resources = all.wires.get();
  Sent sent = sent_on(*cluster, fidelity, routes, transport_in(words.transport));
  question.carrier = std::move(sent.carrier);
  all.transport = std::move(sent.transport);
  if (words.traffic.empty()) return;
  all.traffic = read_meanwhile(words.traffic, "--traffic", *cluster, *all.wires);
  question.meanwhile = all.traffic.meanwhile();
}

}  // namespace sgdsim
