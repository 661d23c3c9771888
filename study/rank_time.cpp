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

// Of whole times of many ranks, whose sum may be longer than a time can be.
struct Sums {
  double computing_ps = 0, overlapped_ps = 0, exposed_ps = 0;
  void add(const RankShare& one) {
    computing_ps += static_cast<double>(one.computing.ps());
    overlapped_ps += static_cast<double>(one.overlapped.ps());
    exposed_ps += static_cast<double>(one.exposed.ps());
  }
  RankTime over(std::size_t parts, Duration whole) const {
    const auto nth = [&](double sum) {
      return Duration::nearest_ps(sum / static_cast<double>(parts));
    };
    RankTime time{nth(computing_ps), nth(overlapped_ps), nth(exposed_ps), {}};
    time.idle = std::max(Duration(), whole - time.computing - time.exposed);
    return time;
  }
};

}  // namespace

std::optional<TimeOfRanks> time_of(const std::vector<RankShare>& shares, Time start, int times) {
  if (shares.empty()) return std::nullopt;
  const auto last =
      std::max_element(shares.begin(), shares.end(),
                       [](const RankShare& a, const RankShare& b) { return a.until < b.until; });
  const auto count = static_cast<std::size_t>(times);
  const auto whole = Duration::ps((std::max(last->until, start) - start).ps() / times);
  Sums all;
  for (const RankShare& one : shares) all.add(one);
  Sums of_last;
  of_last.add(*last);
  return TimeOfRanks{whole, all.over(shares.size() * count, whole),
                     static_cast<std::size_t>(last - shares.begin()), of_last.over(count, whole)};
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
         part(last.idle) + " idle (mean of ranks: " + part(time.mean.computing) + ", " +
         part(time.mean.exposed) + ", " + part(time.mean.idle) + ")";
}

}  // namespace sgdsim
