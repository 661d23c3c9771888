// Ranks are appended one after the other, so that a file of any length is read once.
#include "sim/work/rank_schedule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace sgdsim {

bool RankSchedule::write(uint32_t rank, std::vector<RankOperation>& operations,
                         const std::vector<Requirement>& requirements) {
  if (written_[rank]) return false;
  written_[rank] = true;
  const auto base = static_cast<uint32_t>(operations_.size());
  std::map<uint32_t, uint32_t> processor_of;
  auto place = processor_of.end();
  for (RankOperation& operation : operations) {
    if (place == processor_of.end() || place->first != operation.processor) {
      bool is_new = false;
      std::tie(place, is_new) = processor_of.try_emplace(operation.processor, processors());
      if (is_new) rank_of_processor_.push_back(rank);
    }
    operation.processor = place->second;
  }
  // By counting: for each operation where its followers begin, and once they are there, where they
  // end.
  const std::size_t ends = first_.size();
  first_.resize(ends + operations.size());
  for (const Requirement& one : requirements) ++first_[ends + one.first];
  uint64_t begin = followers_.size();
  for (std::size_t i = ends; i < first_.size(); ++i) begin += std::exchange(first_[i], begin);
  followers_.resize(followers_.size() + requirements.size());
  for (const Requirement& one : requirements) {
    const auto at = static_cast<std::size_t>(first_[ends + one.first]++);
    followers_[at] = {base + one.then, one.at_start};
    ++operations[one.then].waits;
  }
  operations_.insert(operations_.end(), operations.begin(), operations.end());
  return true;
}

void RankSchedule::make_room(std::size_t operations, std::size_t requirements, double times) {
  constexpr double most_times = 1024;
  const auto in = [&](auto& list, std::size_t more) {
    const std::size_t there = list.size() + more;
    if (there <= list.capacity()) return;
    const double all = static_cast<double>(there) * std::clamp(times, 1.0, most_times);
    list.reserve(std::max(static_cast<std::size_t>(all), 2 * list.size()));
  };
  in(operations_, operations);
  in(first_, operations);
  in(followers_, requirements);
}

namespace {

// How many calls each group has.
std::vector<uint32_t> calls_of_groups(const RankSchedule& schedule) {
  std::vector<uint32_t> calls(schedule.groups());
  for (const RankOperation& one : schedule.operations())
    if (one.verb == RankVerb::call)
      calls[one.call().group] = std::max(calls[one.call().group], one.call().number + 1);
  return calls;
}

// One rank's operations, several times: those that nothing requires are required by the first ones
// of the next time.
class Repeated {
 public:
  Repeated(const RankSchedule& schedule, uint32_t first, uint32_t last)
      : schedule_(schedule), first_(first), last_(last) {}

  template <class Change>
  void add_once(const Change& change) {
    const auto base = static_cast<uint32_t>(operations.size());
    const std::vector<uint32_t> before = std::exchange(ends_, {});
    for (uint32_t i = first_; i < last_; ++i) {
      const uint32_t here = base + (i - first_);
      RankOperation one = schedule_.operations()[i];
      const bool is_first = one.waits == 0;
      one.waits = 0;
      change(one);
      operations.push_back(one);
      if (is_first && !before.empty()) requirements.push_back({before.front(), here, false});
      bool is_end = true;
      for (const RankSchedule::Follower& follower : schedule_.followers_of(i)) {
        requirements.push_back({here, base + (follower.operation - first_), follower.at_start});
        is_end = is_end && follower.at_start;
      }
      if (is_end) ends_.push_back(here);
    }
    join();
  }

  std::vector<RankOperation> operations;
  std::vector<RankSchedule::Requirement> requirements;

 private:
  // One that stands for all ends.
  void join() {
    if (ends_.size() < 2) return;
    const auto all = static_cast<uint32_t>(operations.size());
    operations.push_back(
        {.processor = operations.back().processor, .line = operations.back().line});
    for (const uint32_t end : ends_) requirements.push_back({end, all, false});
    ends_ = {all};
  }

  const RankSchedule& schedule_;
  uint32_t first_;
  uint32_t last_;
  std::vector<uint32_t> ends_;  // of the time before
};

}  // namespace

void RankSchedule::add(const RankSchedule& other, const std::vector<int>& places, int times) {
  const auto place_of = [&](uint32_t rank) {
    return static_cast<uint32_t>(places[static_cast<std::size_t>(rank)]);
  };
  const auto first_group = static_cast<uint32_t>(groups_.size());
  const auto first_program = static_cast<uint32_t>(programs_.size());
  for (std::vector<int> group : other.groups_) {
    for (int& rank : group) rank = places[static_cast<std::size_t>(rank)];
    add_group(std::move(group));
  }
  programs_.insert(programs_.end(), other.programs_.begin(), other.programs_.end());
  const std::vector<uint32_t> calls = calls_of_groups(other);
  const auto count = static_cast<uint32_t>(other.operations_.size());
  for (uint32_t first = 0, last = 0; first < count; first = last) {
    const uint32_t rank = other.rank_of(first);
    while (last < count && other.rank_of(last) == rank) ++last;
    Repeated repeated(other, first, last);
    for (int time = 0; time < times; ++time)
      repeated.add_once([&](RankOperation& one) {
        if (one.verb == RankVerb::call) {
          RankCall call = one.call();
          call.number += static_cast<uint32_t>(time) * calls[call.group];
          call.group += first_group;
          call.program += first_program;
          const RankOperation moved = RankOperation::of(call);
          one.amount = moved.amount;
          one.peer = moved.peer;
          one.tag = moved.tag;
        } else if (one.verb != RankVerb::compute && one.peer != RankOperation::any) {
          one.peer = place_of(one.peer);
        }
      });
    write(place_of(rank), repeated.operations, repeated.requirements);
  }
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

double RankSchedule::sum_of(const std::function<double(double messages, double size_B)>& of) const {
  double sum = 0;
  for (const RankOperation& one : operations_)
    if (one.verb == RankVerb::send) sum += of(1, static_cast<double>(one.amount));
  for_each_call(*this, [&](const Traffic& call) {
    sum += of(static_cast<double>(call.messages), call.wire_B);
  });
  return sum;
}

}  // namespace sgdsim
