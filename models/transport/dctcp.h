// What DCTCP and what stands on it read.
#pragma once

#include "models/transport/registry.h"
#include "models/transport/window.h"

namespace sgdsim {

void set_dctcp_defaults(PacketSetup& setup);
struct DctcpOptions {
  WindowRules rules;
  uint32_t first_window = 10;
  uint32_t mark_above = 65;
};
Fields fields_of(DctcpOptions& options);
WindowRules dctcp_rules(const DctcpOptions& options, PacketSetup& setup);
void connect_windows(PacketSetup& setup, WindowRules rules);

}  // namespace sgdsim
