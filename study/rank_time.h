// What the time of ranks goes into, for people and for programs: of a schedule, a layout or a
// collective, until its last rank has ended.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sim/core/fields.h"
#include "sim/play/rank_shares.h"

namespace sgdsim {

struct RankTime {
  Duration computing;
  Duration overlapped;
  Duration exposed;
  Duration idle;
};

Fields fields_of(const RankTime& time);

struct TimeOfRanks {
  Duration whole;
  RankTime mean;
  std::size_t last = 0;  // the rank that ends last
  RankTime of_last;
};
// From `start`; each of so many `times`. Nothing without ranks.
std::optional<TimeOfRanks> time_of(const std::vector<RankShare>& shares, Time start, int times);

Fields rank_time_fields(const std::optional<TimeOfRanks>& time);
// "rank 3 ends last: 58 % of the time is computing, ..."; empty if that took no time.
std::string reason_text(const TimeOfRanks& time);
void print_reason(std::ostream& out, const std::optional<TimeOfRanks>& time);
Field reason_field(std::string reason);  // empty: there is none

}  // namespace sgdsim
