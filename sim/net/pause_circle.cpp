// Who waits for whom, without those that can go on.
#include "sim/net/pause_circle.h"

#include <algorithm>

namespace sgdsim {

void PauseCircles::find_ports_of_vertices() {
  place_.resize(ports_.count());
  for (uint32_t number = 0; number < ports_.count(); ++number) {
    // Roads are pairs, there and back.
    const auto vertex = static_cast<std::size_t>(ports_[number ^ 1U].to);
    if (vertex >= ports_of_.size()) ports_of_.resize(vertex + 1);
    ports_of_[vertex].push_back(number);
  }
}

PauseCircles::Waiter PauseCircles::who_waits_as(uint32_t number) const {
  Waiter waiter;
  for (const uint32_t next : ports_of_[static_cast<std::size_t>(ports_[number].to)]) {
    const PacketPort& port = ports_[next];
    if (!port.has_told_to_wait) continue;
    uint64_t bytes = 0;
    for (const PacketQueue& queue : port.queues)
      for (uint32_t one = queue.first; one != Packet::none; one = pool_[one].next)
        if (pool_[one].road == number) bytes += pool_[one].size_B;
    if (bytes > 0) waiter.waits.push_back({next, bytes});
  }
  return waiter;
}

bool PauseCircles::frees_itself(const Waiter& waiter) const {
  uint64_t bytes = 0;
  for (const Wait& wait : waiter.waits)
    if (waiters_[place_[wait.port] - 1].second.is_stuck) bytes += wait.bytes;
  return bytes <= ports_.rules().resume_below_B;
}

std::vector<uint32_t> PauseCircles::with(uint32_t first) {
  if (ports_of_.empty()) find_ports_of_vertices();
  for (const auto& [number, waiter] : waiters_) place_[number] = 0;
  waiters_.clear();
  const auto add = [&](uint32_t number) {
    if (place_[number] > 0) return;
    waiters_.emplace_back(number, who_waits_as(number));
    place_[number] = static_cast<uint32_t>(waiters_.size());
  };
  add(first);
  for (std::size_t i = 0; i < waiters_.size(); ++i) {
    const std::vector<Wait> waits = waiters_[i].second.waits;
    for (const Wait& wait : waits) add(wait.port);
  }
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (auto& [number, waiter] : waiters_)
      if (waiter.is_stuck && frees_itself(waiter)) {
        waiter.is_stuck = false;
        has_changed = true;
      }
  }
  std::vector<uint32_t> circle;
  if (!waiters_.front().second.is_stuck) return circle;
  for (uint32_t number = first;; number = stuck_behind(number)) {
    const auto again = std::find(circle.begin(), circle.end(), number);
    if (again != circle.end()) return {again, circle.end()};
    circle.push_back(number);
  }
}

uint32_t PauseCircles::stuck_behind(uint32_t number) const {
  const std::vector<Wait>& waits = waiters_[place_[number] - 1].second.waits;
  return std::find_if(
             waits.begin(), waits.end(),
             [&](const Wait& wait) { return waiters_[place_[wait.port] - 1].second.is_stuck; })
      ->port;
}

}  // namespace sgdsim
