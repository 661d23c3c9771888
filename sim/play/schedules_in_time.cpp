// All of them are one schedule, whose ranks are the workers of the network.
#include "sim/play/schedules_in_time.h"

#include <algorithm>
#include <map>

namespace sgdsim {

SchedulesInTime::SchedulesInTime(const ActorClock& ranks, const ActorClock& calls,
                                 const Network& network, std::span<const Scheduled> schedules,
                                 bool records)
    : schedules_(schedules.begin(), schedules.end()),
      all_(joined(network, schedules)),
      replay_(replay_of(network, all_, schedules, records)),
      ranks_(ranks, calls_in_time_, replay_),
      calls_in_time_(
          calls, calls.alpha_of_legs(replay_.alpha), {},
          [this](uint32_t call, int member, Time now) { ranks_.end_call(call, member, now); }),
      calls_actor_(calls_in_time_) {}

RankSchedule SchedulesInTime::joined(const Network& network, std::span<const Scheduled> schedules) {
  RankSchedule all(static_cast<uint32_t>(schedules.empty() ? 0 : network.workers()));
  for (const Scheduled& one : schedules) all.add(*one.schedule, one.places, one.times);
  return all;
}

Replay SchedulesInTime::replay_of(const Network& network, const RankSchedule& all,
                                  std::span<const Scheduled> schedules, bool records) {
  Replay replay{.schedule = &all, .costs = {}, .network = &network};
  replay.records = records;
  replay.starts.resize(all.ranks());
  for (const Scheduled& one : schedules)
    for (const int place : one.places) replay.starts[static_cast<std::size_t>(place)] = one.start;
  return replay;
}

bool SchedulesInTime::has_ended(std::size_t schedule) const {
  const std::vector<int>& places = schedules_[schedule].places;
  return std::all_of(places.begin(), places.end(),
                     [&](int place) { return ranks_.has_ended(place); });
}

Time SchedulesInTime::end_of(std::size_t schedule) const {
  Time end = schedules_[schedule].start;
  for (const int place : schedules_[schedule].places) end = std::max(end, ranks_.end_of(place));
  return end;
}

std::vector<RankShare> SchedulesInTime::shares_of(std::size_t schedule) const {
  std::vector<RankShare> shares;
  for (const int place : schedules_[schedule].places) shares.push_back(ranks_.share_of(place));
  return shares;
}

Time SchedulesInTime::end() const {
  Time end;
  for (std::size_t i = 0; i < schedules_.size(); ++i)
    if (has_ended(i)) end = std::max(end, end_of(i));
  return end;
}

std::vector<EndedOperation> SchedulesInTime::ended_of(std::size_t schedule) const {
  std::map<uint32_t, uint32_t> rank_at;
  for (const int place : schedules_[schedule].places)
    rank_at.emplace(static_cast<uint32_t>(place), static_cast<uint32_t>(rank_at.size()));
  const Replayed& played = ranks_.result();
  std::vector<EndedOperation> ended;
  for (uint32_t place = 0; place < played.ended.size(); ++place) {
    const auto rank = rank_at.find(all_.rank_of(place));
    if (rank == rank_at.end() || played.ended[place] == Time::last()) continue;
    RankOperation one = all_.operations()[place];
    const bool is_message = one.verb == RankVerb::send || one.verb == RankVerb::receive;
    if (const auto peer = rank_at.find(one.peer); is_message && peer != rank_at.end())
      one.peer = peer->second;
    ended.push_back({rank->second, one, played.began[place], played.ended[place]});
  }
  return ended;
}

void SchedulesInTime::fail(std::size_t schedule) const {
  const Scheduled& one = schedules_[schedule];
  uint64_t left = 0;
  std::string ranks;
  std::size_t stuck = 0;
  constexpr std::size_t most_named = 10;
  for (std::size_t rank = 0; rank < one.places.size(); ++rank) {
    if (ranks_.has_ended(one.places[rank])) continue;
    left += ranks_.left_of(one.places[rank]);
    if (++stuck <= most_named) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  }
  if (stuck > most_named) ranks += ", and " + std::to_string(stuck - most_named) + " more";
  throw ScheduleStuck("", one.name + " is stuck: nobody sends what is waited for on " +
                              (stuck == 1 ? "rank " : "ranks ") + ranks + " (" +
                              std::to_string(left) +
                              " operations left); `sgdsim replay` names them");
}

}  // namespace sgdsim
