// Two sorted lists, searched by halves.
#include "traces/kineto/launches.h"

#include <algorithm>
#include <tuple>

#include "traces/kineto/collective_kind.h"

namespace sgdsim::profiler {
namespace {

// Calls by external id, and calls by thread and start.
class Calls {
 public:
  explicit Calls(const std::vector<CollectiveCall>& calls) {
    for (const CollectiveCall& call : calls) {
      by_id_.push_back(&call);
      by_start_.push_back(&call);
    }
    std::stable_sort(by_id_.begin(), by_id_.end(),
                     [](auto* a, auto* b) { return a->external_id < b->external_id; });
    std::stable_sort(by_start_.begin(), by_start_.end(), [](auto* a, auto* b) {
      return std::tie(a->thread, a->start_ns) < std::tie(b->thread, b->start_ns);
    });
  }

  const CollectiveCall* of_id(int64_t id) const {
    if (id < 0) return nullptr;
    const auto found =
        std::lower_bound(by_id_.begin(), by_id_.end(), id,
                         [](auto* call, int64_t wanted) { return call->external_id < wanted; });
    return found == by_id_.end() || (*found)->external_id != id ? nullptr : *found;
  }

  // Those within which the launch happened, the innermost first: those that began before it.
  std::vector<const CollectiveCall*> around(const LaunchCall& launch) const {
    auto after = std::upper_bound(
        by_start_.begin(), by_start_.end(), launch, [](const LaunchCall& wanted, auto* call) {
          return std::tie(wanted.thread, wanted.at_ns) < std::tie(call->thread, call->start_ns);
        });
    constexpr int deepest = 8;
    std::vector<const CollectiveCall*> calls;
    for (int i = 0; i < deepest && after != by_start_.begin(); ++i) {
      const CollectiveCall* call = *--after;
      if (call->thread != launch.thread) break;
      if (call->end_ns >= launch.at_ns) calls.push_back(call);
    }
    return calls;
  }

 private:
  std::vector<const CollectiveCall*> by_id_;
  std::vector<const CollectiveCall*> by_start_;
};

}  // namespace

void fill_in(CommunicationFacts& facts, const CommunicationFacts& from) {
  if (facts.collective.empty()) facts.collective = from.collective;
  if (facts.group.empty()) facts.group = from.group;
  // Elements come with their type; what the kernel's name said of it counts only without another.
  if (facts.elements < 0 && from.elements >= 0) {
    facts.elements = from.elements;
    if (!from.type.empty()) facts.type = from.type;
  }
  if (facts.type.empty()) facts.type = from.type;
  if (facts.elements_out < 0) facts.elements_out = from.elements_out;
  if (facts.group_size == 0) facts.group_size = from.group_size;
}

Launches::Launches(ProfileRecords& records) : calls_(records.launches) {
  auto& calls = records.launches;
  std::sort(calls.begin(), calls.end(), [](const LaunchCall& a, const LaunchCall& b) {
    return std::tie(a.correlation, a.at_ns, a.thread) < std::tie(b.correlation, b.at_ns, b.thread);
  });
  const auto same = [](const LaunchCall& a, const LaunchCall& b) {
    return a.correlation == b.correlation;
  };
  const auto last = std::unique(calls.begin(), calls.end(), same);
  repeated_ = static_cast<std::size_t>(calls.end() - last);
  calls.erase(last, calls.end());
}

const LaunchCall* Launches::of(uint32_t correlation) const {
  const auto found = std::lower_bound(
      calls_.begin(), calls_.end(), correlation,
      [](const LaunchCall& call, uint32_t wanted) { return call.correlation < wanted; });
  return found == calls_.end() || found->correlation != correlation ? nullptr : &*found;
}

bool lacks_facts(const CommunicationFacts& facts, const std::string& kernel) {
  return kind_of(facts, kernel) == unknown_kind || facts.elements < 0 ||
         bytes_of_type(facts.type) == 0;
}

std::size_t complete_facts(ProfileRecords& records, const Launches& launches) {
  const Calls calls(records.calls);
  std::size_t incomplete = 0;
  for (const DeviceWork& work : records.work) {
    if (work.message == no_message) continue;
    DeviceMessage& message = records.messages[static_cast<std::size_t>(work.message)];
    if (!message.facts.is_complete())
      if (const auto* call = calls.of_id(message.external_id)) fill_in(message.facts, call->facts);
    const LaunchCall* launch =
        message.facts.is_complete() ? nullptr : launches.of(work.correlation);
    if (launch != nullptr)
      for (const auto* call : calls.around(*launch)) fill_in(message.facts, call->facts);
    if (lacks_facts(message.facts, message.kernel)) ++incomplete;
  }
  return incomplete;
}

}  // namespace sgdsim::profiler
