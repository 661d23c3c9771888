// Links whose cost changes with the size of the message, as calibration finds them.
//
//   "link": {"latency": "2 us", "per_byte": "45 ps/B",
//            "segments": [{"from": "1 MiB", "latency": "5 us", "per_byte": "7.5 ps/B"}],
//            "valid": {"from": "4 B", "to": "8 GiB"}}
//
// Below the first segment the fields of the link itself hold. `rendezvous` is the size from which
// messages wait for an answer, apart from what they cost. A cluster in which some link has either
// is read once for the smallest sizes and once for each size at which a segment starts,
// every time with the links as they are there; so no shape knows about segments.
#pragma once

#include <vector>

#include "sim/core/json.h"
#include "sim/net/cluster.h"

namespace sgdsim {

// InputError unless these are segments: sizes ascend, each has a latency and a rate.
void check_segments(const Value& segments);
ValidSizes read_valid(const Value& value);
Json schema_of_segments();
bool has_segments(const Json& cluster);
Json schema_of_valid();

// The sizes at which some link of this cluster starts a segment, ascending.
std::vector<Bytes> segment_starts(const Json& cluster);
// The cluster with links as messages of this size see them.
Json at_size(const Json& cluster, Bytes size);
// The sizes for which all links are valid, of a cluster that was read.
ValidSizes valid_range(const Json& cluster);

}  // namespace sgdsim
