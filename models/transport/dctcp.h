// What DCTCP and what stands on it read.
#pragma once

#include "models/transport/registry.h"
#include "models/transport/window.h"

namespace sgdsim {

void set_dctcp_defaults(PacketSetup& setup);
WindowRules read_dctcp(Object& fields, PacketSetup& setup);
void connect_windows(PacketSetup& setup, WindowRules rules);

}  // namespace sgdsim
