// Ranks are appended one after the other, so that a file of any length is read once.
#include "sim/work/rank_schedule.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sgdsim {

bool RankSchedule::write(uint32_t rank, std::vector<RankOperation>& operations,
                         std::vector<Requirement>& requirements) {
  if (written_[rank]) return false;
  written_[rank] = true;
  const auto base = static_cast<uint32_t>(operations_.size());
  std::map<uint32_t, uint32_t> processor_of;
  for (RankOperation& operation : operations) {
    const auto [place, is_new] = processor_of.try_emplace(operation.processor, processors());
    if (is_new) rank_of_processor_.push_back(rank);
    operation.processor = place->second;
  }
  std::stable_sort(requirements.begin(), requirements.end(),
                   [](const Requirement& a, const Requirement& b) { return a.first < b.first; });
  std::size_t next = 0;
  for (uint32_t i = 0; i < operations.size(); ++i) {
    for (; next < requirements.size() && requirements[next].first == i; ++next) {
      followers_.push_back({base + requirements[next].then, requirements[next].at_start});
      ++operations[requirements[next].then].waits;
    }
    first_.push_back(followers_.size());
  }
  operations_.insert(operations_.end(), operations.begin(), operations.end());
  return true;
}

std::vector<uint32_t> RankSchedule::find_circle() const {
  std::vector<uint32_t> waits(operations_.size());
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < operations_.size(); ++i) {
    waits[i] = operations_[i].waits;
    if (waits[i] == 0) open.push_back(i);
  }
  std::size_t done = 0;
  while (!open.empty()) {
    const uint32_t one = open.back();
    open.pop_back();
    ++done;
    for (const Follower& follower : followers_of(one))
      if (--waits[follower.operation] == 0) open.push_back(follower.operation);
  }
  if (done == operations_.size()) return {};
  // Every operation that is left waits for one that is left: going back ends in a circle.
  std::vector<uint32_t> cause(operations_.size(), RankOperation::any);
  for (uint32_t i = 0; i < operations_.size(); ++i) {
    if (waits[i] == 0) continue;
    for (const Follower& follower : followers_of(i)) cause[follower.operation] = i;
  }
  auto at = static_cast<uint32_t>(
      std::find_if(waits.begin(), waits.end(), [](uint32_t left) { return left > 0; }) -
      waits.begin());
  std::vector<bool> met(operations_.size());
  for (; !met[at]; at = cause[at]) met[at] = true;
  std::vector<uint32_t> circle = {at};
  for (uint32_t one = cause[at]; one != at; one = cause[one]) circle.push_back(one);
  return circle;
}

namespace {

// f(what all members send) once for each call.
template <class F>
void for_each_call(const RankSchedule& schedule, const F& f) {
  std::map<std::pair<uint32_t, std::size_t>, Traffic> known;
  for (const RankOperation& one : schedule.operations()) {
    const RankCall call = one.verb == RankVerb::call ? one.call() : RankCall{.member = 1};
    if (call.member != 0) continue;
    const std::size_t members = schedule.group(call.group).size();
    const auto [place, is_new] = known.try_emplace({call.program, members}, Traffic());
    if (is_new)
      place->second = traffic_of(schedule.program(call.program), static_cast<int>(members));
    f(place->second);
  }
}

}  // namespace

Traffic RankSchedule::traffic() const {
  Traffic sum;
  for (const RankOperation& one : operations_) {
    if (one.verb != RankVerb::send) continue;
    ++sum.messages;
    sum.wire_B += static_cast<double>(one.amount);
  }
  for_each_call(*this, [&](const Traffic& call) {
    sum.messages += call.messages;
    sum.wire_B += call.wire_B;
  });
  return sum;
}

double RankSchedule::packets(double payload_B) const {
  double packets = 0;
  for (const RankOperation& one : operations_)
    if (one.verb == RankVerb::send)
      packets += std::max(1.0, std::ceil(static_cast<double>(one.amount) / payload_B));
  for_each_call(*this, [&](const Traffic& call) {
    packets += std::max(static_cast<double>(call.messages), call.wire_B / payload_B);
  });
  return packets;
}

}  // namespace sgdsim
