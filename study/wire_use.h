// The use of wires, for people and for notebooks; and which routes messages take.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "sim/core/json.h"
#include "sim/net/link_use.h"
#include "study/question_fields.h"

namespace sgdsim {

// How much of the busiest ones was in use in each interval.
struct UseOverTime {
  Duration interval;
  int64_t intervals = 0;
  std::vector<std::vector<double>> parts;      // of each link; empty: nobody asked
  std::vector<std::vector<double>> waiting_B;  // in each of the longest queues of packets
};
// `kinds` and `busiest`, what the latter carried over time included.
Fields use_fields(const WireUse& use, const UseOverTime& over_time = {});
// The same of an answer that need not have wires; null: it has none.
Fields use_fields_if_any(const WireUse* use);
// The whole line of one of them; empty: nobody asked.
std::vector<double> whole_line(const std::vector<std::vector<double>>& lines, std::size_t number,
                               const UseOverTime& use);
Field interval_field(const UseOverTime& use);
// --bins, of so many links; 0: none.
int64_t bins_named(const std::string& bins, int64_t links, const std::string& format);
void print_use(std::ostream& out, const WireUse& use);
// "uplink leaf0 -> spine0, in use 58.6 % of the time".
std::string link_text(const LinkUse& link);

// Which engine computed an answer.
Json schema_of_paths();

Field routing_field(std::string& routing);
Field routing_taken_field(const std::string& routing);  // of an answer

}  // namespace sgdsim
