// A stream that must wait is asked again later.
#include "calibrate/processes/local_player.h"

#include <algorithm>

#include "calibrate/host_steps.h"

namespace sgdsim::calibrate {

void LocalPlayer::load(LocalPlan plan, Type type) {
  plan_ = std::move(plan);
  type_ = type;
  start();
}

void LocalPlayer::start() {
  streams_.assign(plan_.streams.size(), {});
  passed_.assign(static_cast<std::size_t>(plan_.events), false);
  sends_.assign(static_cast<std::size_t>(plan_.ranks), {});
}

bool LocalPlayer::advance(int number) {
  Stream& stream = streams_[static_cast<std::size_t>(number)];
  const auto& steps = plan_.streams[static_cast<std::size_t>(number)];
  const std::size_t before = stream.next;
  while (stream.next < steps.size() && has_done(stream, steps[stream.next])) ++stream.next;
  return stream.next > before;
}

bool LocalPlayer::has_done(Stream& stream, const LocalStep& local) {
  const Step& step = local.step;
  if (local.kind == LocalStep::Kind::send) {
    sends_[static_cast<std::size_t>(step.from.rank)].push_back({local, {}});
    advance_sends();
    return true;
  }
  if (step.act == Act::await) return passed_[static_cast<std::size_t>(step.event)];
  if (step.act == Act::mark) return passed_[static_cast<std::size_t>(step.event)] = true;
  if (!stream.coming && is_still_sent(step)) return false;
  if (local.kind == LocalStep::Kind::step) {
    play_in_memory(step, type_, at_);
    return true;
  }
  if (!stream.coming)
    stream.coming = messenger_.receive(local.process, local.tag, at_(step.to),
                                       static_cast<std::size_t>(step.bytes));
  if (!messenger_.is_done(*stream.coming)) return false;
  stream.coming.reset();
  return true;
}

// Whether the step would overwrite what a message has not taken yet.
bool LocalPlayer::is_still_sent(const Step& step) const {
  const auto& sends = sends_[static_cast<std::size_t>(step.to.rank)];
  return std::any_of(sends.begin(), sends.end(), [&](const Sent& sent) {
    return writes_into(step, sent.step.step.from, sent.step.step.bytes);
  });
}

bool LocalPlayer::advance_sends() {
  bool has_advanced = false;
  for (auto& sends : sends_)
    while (!sends.empty()) {
      Sent& first = sends.front();
      const Step& step = first.step.step;
      if (!first.message)
        first.message = messenger_.send(first.step.process, first.step.tag, at_(step.from),
                                        static_cast<std::size_t>(step.bytes));
      if (!messenger_.is_done(*first.message)) break;
      sends.pop_front();
      has_advanced = true;
    }
  return has_advanced;
}

bool LocalPlayer::is_done() const {
  for (std::size_t i = 0; i < streams_.size(); ++i)
    if (streams_[i].next < plan_.streams[i].size()) return false;
  return std::all_of(sends_.begin(), sends_.end(), [](const auto& all) { return all.empty(); });
}

}  // namespace sgdsim::calibrate
