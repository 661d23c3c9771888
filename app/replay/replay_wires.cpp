// From options to wires.
#include "app/replay/replay_wires.h"

#include "app/collective/ranges.h"
#include "app/transport_choice.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

bool is_packet(const ReplayArguments& arguments) { return arguments.fidelity == "packet"; }

// Options that belong to fidelities on wires.
void check_wires(const ReplayArguments& arguments, bool has_cluster, Duration gap) {
  const bool on_wires = is_packet(arguments) || arguments.fidelity == "flow";
  auto refuse = [](const char* option, const std::string& why) { throw InputError(option, why); };
  if (!arguments.transport.empty() && !is_packet(arguments))
    refuse("--transport", "has no effect without --fidelity packet");
  if (!arguments.routing.empty() && arguments.fidelity != "flow")
    refuse("--routing", is_packet(arguments)
                            ? "packets go as their transport says: spray=per_flow, ..."
                            : "has no effect without --fidelity flow");
  if (!arguments.seed.empty() && !is_packet(arguments) && arguments.routing != "hashed")
    refuse("--seed", "has no effect without --fidelity packet or --routing hashed");
  check_traffic_option(arguments.traffic, on_wires);
  if (!on_wires) return;
  const std::string fidelity = arguments.fidelity;
  if (!has_cluster) refuse("--fidelity", fidelity + " needs a --cluster, whose wires are shared");
  if (arguments.ports == "shared")
    refuse("--ports", "shared has no effect at --fidelity " + fidelity);
  if (gap > Duration())
    refuse("--g", "keeps messages of a card apart, which --fidelity " + fidelity + " does not");
  if (is_packet(arguments) && !arguments.alpha.empty())
    refuse("--alpha", "has no effect at --fidelity packet: every link has its own latency");
}

}  // namespace

void set_wires(const ReplayArguments& arguments, const std::optional<Cluster>& cluster,
               ReplayWires& all, Replay& question) {
  check_wires(arguments, cluster.has_value(), question.costs.gap);
  if (!is_packet(arguments) && arguments.fidelity != "flow") return;
  RouteChoice routes;
  if (!arguments.seed.empty())
    routes.seed = static_cast<uint64_t>(parse_whole(arguments.seed, 0, int64_t{1} << 62, "--seed"));
  if (!arguments.routing.empty()) routes.routing = routing_named(arguments.routing, "--routing");
  all.wires = cluster->wires(routes);
  question.resources = all.wires.get();
  if (is_packet(arguments)) {
    const Json transport = transport_in(arguments.transport);
    question.carrier = carrier_of(Value(transport, "--transport", ""), {}, routes.seed);
  }
  if (arguments.traffic.empty()) return;
  all.traffic = read_meanwhile(arguments.traffic, "--traffic", *cluster, *all.wires);
  question.meanwhile = all.traffic.meanwhile();
}

}  // namespace sgdsim
