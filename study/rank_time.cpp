// Sums, means and a sentence.
#include "study/rank_time.h"

#include <algorithm>

#include "study/table.h"

namespace sgdsim {

Fields fields_of(const RankTime& time) {
  return {Field("computing_us", time.computing.us(), "something is computed").at_least(0),
          Field("overlapped_us", time.overlapped.us(),
                "of that: something is sent, asked for, or in a collective, too")
              .at_least(0),
          Field("exposed_us", time.exposed.us(),
                "something is sent, asked for, or in a collective, and nothing is computed")
              .at_least(0),
          Field("idle_us", time.idle.us(), "nothing, until the last rank has ended").at_least(0)};
}

namespace {

struct LastRank {
  std::size_t rank = 0;
  RankTime time;
};
Fields fields_of(const LastRank& last) {
  return Fields{{"rank", last.rank, "which it is"}} + fields_of(last.time);
}

Duration nth(Duration sum, std::size_t parts) {
  return Duration::ps(sum.ps() / static_cast<int64_t>(parts));
}

}  // namespace

std::optional<TimeOfRanks> time_of(const std::vector<RankShare>& shares, Time start, int times) {
  if (shares.empty()) return std::nullopt;
  const auto last =
      std::max_element(shares.begin(), shares.end(),
                       [](const RankShare& a, const RankShare& b) { return a.until < b.until; });
  const Duration whole = std::max(last->until, start) - start;
  const auto count = static_cast<std::size_t>(times);
  const auto told = [&](const RankShare& sum, std::size_t of) {
    RankTime time{nth(sum.computing, of), nth(sum.overlapped, of), nth(sum.exposed, of), {}};
    time.idle = std::max(Duration(), nth(whole, count) - time.computing - time.exposed);
    return time;
  };
  RankShare sum;
  for (const RankShare& one : shares) {
    sum.computing += one.computing;
    sum.overlapped += one.overlapped;
    sum.exposed += one.exposed;
  }
  return TimeOfRanks{nth(whole, count), told(sum, shares.size() * count),
                     static_cast<std::size_t>(last - shares.begin()), told(*last, count)};
}

Fields rank_time_fields(const std::optional<TimeOfRanks>& time) {
  const auto of = [&](auto get) { return time ? std::optional(get(*time)) : std::nullopt; };
  return {{"time", of([](const TimeOfRanks& all) { return all.mean; }),
           "what the time of its ranks goes into, their mean"},
          {"last", of([](const TimeOfRanks& all) {
             return LastRank{all.last, all.of_last};
           }),
           "the same of the rank that ends last"}};
}

void print_reason(std::ostream& out, const std::optional<TimeOfRanks>& time) {
  const std::string reason = time ? reason_text(*time) : "";
  if (!reason.empty()) out << '\n' << reason << '\n';
}

Field reason_field(std::string reason) {
  return Field("reason", std::move(reason), "why it takes as long, as a sentence").if_any();
}

std::string reason_text(const TimeOfRanks& time) {
  if (time.whole == Duration()) return "";
  const auto part = [&](Duration one) { return part_text(one / time.whole); };
  const RankTime& last = time.of_last;
  return "rank " + std::to_string(time.last) + " ends last: " + part(last.computing) +
         " of the time is computing, " + part(last.exposed) + " exchanges and waiting for them, " +
         part(last.idle) + " nothing (mean of ranks: " + part(time.mean.computing) + ", " +
         part(time.mean.exposed) + ", " + part(time.mean.idle) + ")";
}

}  // namespace sgdsim
