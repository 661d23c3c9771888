// The unit grammar: `number [space] unit`, case-sensitive, with no default unit.
//
// One parser serves files and the command line. A bare number, an unknown unit, a negative, NaN or
// overflowing value is an InputError that lists the accepted units. Bits and bytes are told apart
// (`Gbps` is an eighth of `GBps`); KB is 1000 and KiB is 1024.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/decimal.h"
#include "sim/core/units.h"

namespace sgdsim {

// `where` is the place that an error names: "file.json: /cluster/latency" or "--alpha".
Duration parse_duration(std::string_view text, const std::string& where);
Bytes parse_bytes(std::string_view text, const std::string& where);
Bandwidth parse_bandwidth(std::string_view text, const std::string& where);
PerByte parse_per_byte(std::string_view text, const std::string& where);

// What such texts look like, as a regular expression of JSON schemas.
std::string pattern_of_durations();
std::string pattern_of_bytes();
std::string pattern_of_bandwidths();
std::string pattern_of_per_byte();

// The shortest text that reads back to the same value: "12.5 us", "64 KiB", "10 Gbps", "80 ps/B".
std::string to_text(Duration length);
std::string to_text(Bytes size);
std::string to_text(Bandwidth rate);
std::string to_text(PerByte rate);

}  // namespace sgdsim
