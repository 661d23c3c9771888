// What the field `network` of a cluster means for collectives: the options that describe how its
// messages are sent, where they were not given.
#pragma once

#include <string>
#include <vector>

#include "models/collective/collective.h"
#include "sim/net/cluster.h"

namespace sgdsim {

// Whether a start-up is time in flight unless somebody says otherwise, as real networks have it and
// the models of papers do not.
bool starts_in_flight(NetworkKind kind);
inline AlphaRule usual_alpha(NetworkKind kind) {
  return starts_in_flight(kind) ? AlphaRule::wire : AlphaRule::port;
}

inline constexpr char turns_alone[] =
    "messages that meet those of others share ports: leave ports=turns out, or say shared";
// The options where messages meet those of others at ports, and nothing is handed over that the
// options do not say. InputError if they say turns.
CollectiveOptions with_others(const CollectiveOptions& options);

// The options with the defaults of a network; those that were given stay.
CollectiveOptions with_network(const CollectiveOptions& options, NetworkKind kind);
// The same of the cluster's, with what depends on its ports and the algorithm. `has_ports`:
// messages may share ports that are simulated one by one.
CollectiveOptions with_network(const CollectiveOptions& options, const Cluster& cluster,
                               const Algorithm& algorithm, bool has_ports);

}  // namespace sgdsim
