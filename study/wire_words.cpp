// Words become settings, so that they mean what fields of files mean.
#include "study/wire_words.h"

#include "models/collective/simulate.h"
#include "sim/core/error.h"
#include "sim/core/refusal.h"
#include "study/step/override.h"
#include "study/traffic/traffic_file.h"
#include "study/transport_choice.h"
#include "study/wire_use.h"
#include "topologies/wiring.h"

namespace sgdsim {
namespace {

Field seed_field(std::string& seed) {
  return {"seed", seed, "seed of all that is drawn: jitter, routes, ways of packets"};
}

Json checked_transport(const std::string& text) {
  const Json transport = transport_in(text);
  check_transport(Value(transport, "--transport", ""));
  return transport;
}

void add(std::vector<std::string>& settings, const char* field, const std::string& value) {
  if (!value.empty()) settings.push_back(std::string(field) + "=" + value);
}

}  // namespace

Fields wire_fields(WireWords& words) {
  return {{"fidelity", words.fidelity, "closed_form, message, flow or packet"},
          routing_field(words.routing),
          transport_field(words.transport),
          Field("ports", words.ports,
                "fidelity message: ports of a worker take messages in turns, or are shared by "
                "those in progress")
              .one_of({"turns", "shared"}),
          {"send_buffer", words.send_buffer,
           "bytes that the system takes off a sender's hands, where messages share ports or wires"},
          traffic_beside_field(words.traffic),
          seed_field(words.seed)};
}

Fields job_wire_fields(WireWords& words) {
  return {Field("fidelity", words.fidelity, "message, flow or packet; in place of the file's")
              .one_of({"message", "flow", "packet"}),
          routing_field(words.routing), transport_field(words.transport),
          traffic_beside_field(words.traffic), seed_field(words.seed)};
}

std::vector<std::string> experiment_settings_of(const WireWords& words) {
  std::vector<std::string> settings;
  if (!words.fidelity.empty()) fidelity_named(words.fidelity, "--fidelity");
  if (!words.routing.empty()) routing_named(words.routing, "--routing");
  add(settings, "fidelity", words.fidelity);
  add(settings, "collective.options.routing", words.routing);
  add(settings, "collective.options.ports", words.ports);
  add(settings, "collective.options.send_buffer", words.send_buffer);
  add(settings, "seed", words.seed);
  if (!words.transport.empty())
    add(settings, "transport", checked_transport(words.transport).dump());
  if (!words.traffic.empty()) add(settings, "traffic", traffic_field(words.traffic, "--traffic"));
  return settings;
}

std::vector<std::string> with_options(std::vector<std::string> settings, const WireWords& words) {
  for (std::string& of_option : experiment_settings_of(words)) {
    const std::string path = path_of_setting(of_option);
    for (const std::string& setting : settings) {
      if (path_of_setting(setting) != path) continue;
      throw InputError(option_of_setting(of_option),
                       "--set says " + path + ", too; give one of them");
    }
    settings.push_back(std::move(of_option));
  }
  return settings;
}

std::vector<std::string> jobs_settings_of(const WireWords& words) {
  if (!words.fidelity.empty()) check_routes(words.fidelity, words.routing, words.transport);
  if (!words.routing.empty()) routing_named(words.routing, "--routing");
  std::vector<std::string> settings;
  add(settings, "fidelity", words.fidelity);
  const bool is_packets = words.fidelity == "packet" || !words.transport.empty();
  if (!words.fidelity.empty() && !is_packets) settings.emplace_back("transport=null");
  if (is_packets || words.fidelity == "message") settings.emplace_back("routing=null");
  if (!words.transport.empty()) {
    if (words.fidelity.empty()) settings.emplace_back("fidelity=packet");
    add(settings, "transport", checked_transport(words.transport).dump());
  }
  add(settings, "routing", words.routing);
  add(settings, "seed", words.seed);
  if (!words.traffic.empty()) add(settings, "traffic", traffic_field(words.traffic, "--traffic"));
  return settings;
}

void check_routes(const std::string& fidelity, const std::string& routing,
                  const std::string& transport) {
  const bool is_packets = fidelity == "packet";
  if (!is_packets && !transport.empty())
    throw no_effect("--transport", "without --fidelity packet");
  if (is_packets && !routing.empty())
    throw InputError("--routing", "packets go as their transport says: spray=per_flow, ...");
  if (fidelity != "flow" && !routing.empty())
    throw no_effect("--routing", "without --fidelity flow");
}

void note_options(ResolvedExperiment& resolved, const WireWords& words, bool is_fidelity_varied) {
  resolved.options = experiment_settings_of(words);
  if (is_fidelity_varied) return;
  const Json fidelity = resolved.json.value("fidelity", Json());
  const std::string name = fidelity.is_string() ? fidelity.get<std::string>() : "message";
  check_routes(name, words.routing, words.transport);
  check_traffic_option(words.traffic, name != "closed_form");
  if (!words.ports.empty() && name != "message")
    throw no_effect("--ports", "without --fidelity message");
}

}  // namespace sgdsim
