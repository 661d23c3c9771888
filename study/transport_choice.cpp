// From words to packets.
#include "study/transport_choice.h"

#include <sstream>

#include "models/transport/transport.h"
#include "sim/core/refusal.h"
#include "study/step/override.h"
#include "study/table.h"

namespace sgdsim {

Field transport_field(std::string& transport) {
  return {"transport", transport,
          "fidelity packet: how packets are sent, one of `sgdsim list transports`, and its "
          "options: \"ndp first_window=23\" (default: ideal, but tcp where the cluster's network "
          "is tcp, mpi or gloo)"};
}

Json transport_in(const std::string& text) {
  if (text.empty()) return {};
  std::istringstream words(text);
  std::string word;
  Json json = {{"name", "ideal"}};
  for (bool is_first = true; words >> word; is_first = false) {
    const std::size_t equals = word.find('=');
    if (is_first && equals == std::string::npos) {
      json["name"] = word;
      continue;
    }
    const std::string where = "--transport " + word.substr(0, 80);
    if (equals == std::string::npos || equals == 0)
      throw InputError(where, "expected field=value, as in \"ndp first_window=23\"");
    const std::string field = word.substr(0, equals);
    if (json.contains(field)) throw InputError(where, field + " is given twice");
    json[field] = value_in(word.substr(equals + 1), where);
  }
  return json;
}

namespace {

Json tcp_on(const Cluster& cluster) {
  Json tcp = {{"name", "tcp"}, {"window", to_text(cluster.window)}};
  if (cluster.window.count() < usual_tcp_packet_B) tcp["packet"] = to_text(cluster.window);
  return tcp;
}

// The rule of queues, without every packet: in bursts that agree with packets (docs/packets.md).
Json queues_on(const Cluster& cluster, Routing routing) {
  if (routing == Routing::split)
    throw InputError("routing",
                     "a connection of TCP keeps its way, so that nothing is split; by_destination, "
                     "hashed, or flows that share wires evenly (sharing=max_min of the cluster)");
  constexpr int bursts_of_message = 64;
  Json tcp = tcp_on(cluster);
  tcp["bursts"] = bursts_of_message;
  tcp["spray"] = routing == Routing::by_destination ? "by_destination" : "per_flow";
  return tcp;
}

bool names_tcp(const Json& asked) {
  return asked == "tcp" || (asked.is_object() && asked.value("name", Json()) == "tcp");
}

}  // namespace

Json transport_on(const Cluster& cluster, Fidelity fidelity, Routing routing, const Json& asked) {
  if (fidelity == Fidelity::flow)
    return cluster.sharing == Sharing::queues ? queues_on(cluster, routing) : Json();
  if (fidelity != Fidelity::packet) return {};
  if (asked.is_null())
    return sends_over_tcp(cluster.kind) ? tcp_on(cluster) : Json{{"name", "ideal"}};
  if (!names_tcp(asked)) return asked;
  Json tcp = tcp_on(cluster);
  if (asked.is_object()) tcp.update(asked);
  return tcp;
}

void check_transport(const Value& transport) { read_transport(transport, {}, 1); }

Field transport_taken_field(const std::string& transport) {
  return Field("transport", transport,
               "fidelity packet: how packets were sent; fidelity flow: tcp, where hosts send by "
               "queues (the cluster's `sharing`); not given: messages shared wires evenly")
      .if_any();
}

std::string sent_text(Fidelity fidelity, const std::string& transport) {
  const std::string name(name_of(fidelity));
  return transport.empty() ? name : name + ", " + transport;
}

std::string delivered_warning(double least_delivered) {
  if (least_delivered >= 1) return "";
  return "the transport does not send everything again: of one message only " +
         rounded(100 * least_delivered, 4) + " % arrived";
}

MakeCarrier carrier_of(const Value& transport, const std::vector<double>& sizes_B, uint64_t seed) {
  if (transport.json().is_null()) return {};
  // Read once, so that what is wrong is known before anything is played.
  const PacketSetup known = read_transport(transport, sizes_B, seed);
  return [known](Resources& wires, Agenda& agenda, LinkWatch* watch) {
    return std::make_unique<Packets>(wires, known, agenda, watch);
  };
}

namespace {

Sent sent_as(const Value& transport, uint64_t seed) {
  if (transport.json().is_null()) return {};
  return {name_of_transport(transport), carrier_of(transport, {}, seed),
          read_transport(transport, {}, seed).payload()};
}

}  // namespace

Sent sent_on(const Cluster& cluster, Fidelity fidelity, const RouteChoice& routes,
             const Json& asked) {
  const Json sent = transport_on(cluster, fidelity, routes.routing, asked);
  return sent_as(Value(sent, "--transport", ""), routes.seed);
}

Sent sent_on(const Cluster& cluster, Fidelity fidelity, const RouteChoice& routes,
             const std::optional<Value>& asked, const Value& root) {
  if (asked && fidelity != Fidelity::packet)
    throw no_effect(asked->where(), "without fidelity packet");
  if (asked) check_transport(*asked);
  const Json sent = transport_on(cluster, fidelity, routes.routing, asked ? asked->json() : Json());
  return sent_as(Value(sent, root.file(), root.path() + "/transport"), routes.seed);
}

}  // namespace sgdsim
