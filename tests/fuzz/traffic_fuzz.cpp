// Whatever bytes come, a table of flows or a list of generators is read or refused, and little
// traffic that was read is played until every flow has ended.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>

#include "models/traffic/traffic.h"
#include "sim/core/error.h"
#include "sim/net/port_resources.h"
#include "sim/play/play_flows.h"
#include "traces/flows_csv.h"
#include "traces/htsim_matrix.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace sgdsim;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const Network network = Network::uniform(8, {Duration::us(1), PerByte::ps(80), {}});
  try {
    std::vector<PlainFlow> flows;
    if (text.starts_with("{") || text.starts_with("[")) {
      const Document document = Document::parse(text, "fuzz.json");
      flows = read_flows(document.root(), network, 1);
    } else if (is_htsim_matrix(text)) {
      flows = parse_htsim_matrix(text, "fuzz.cm", network.workers());
    } else {
      flows = parse_flows_csv(text, "fuzz.csv", network.workers());
    }
    if (flows.size() > 300) return 0;
    PortResources ports(network);
    FlowsQuestion question;
    question.flows = flows;
    question.network = &network;
    question.resources = &ports;
    for (const Time end : play_flows(question).ends) assert(end < Time::last());
  } catch (const InputError&) {
    return 0;
  }
  return 0;
}
