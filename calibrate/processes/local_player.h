// Plays one process's part of a plan in memory: all its streams in turns, by one thread.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "calibrate/element.h"
#include "calibrate/processes/local_plan.h"
#include "calibrate/processes/messenger.h"

namespace sgdsim::calibrate {

class LocalPlayer {
 public:
  // at(place): where it lies, of ranks of this process.
  LocalPlayer(Messenger& messenger, std::function<std::byte*(const Place&)> at)
      : messenger_(messenger), at_(std::move(at)) {}

  void load(LocalPlan plan, Type type);
  // Begins anew.
  void start();
  int streams() const { return static_cast<int>(plan_.streams.size()); }
  // Lets a stream go on as far as it can; whether it has done anything.
  bool advance(int stream);
  // The same of what is to be sent.
  bool advance_sends();
  bool is_done() const;

 private:
  struct Sent {
    LocalStep step;
    std::optional<int> message;  // none: it waits for those before it
  };
  struct Stream {
    std::size_t next = 0;
    std::optional<int> coming;  // the message that it waits for
  };

  bool has_done(Stream& stream, const LocalStep& step);
  bool is_still_sent(const Step& step) const;

  Messenger& messenger_;
  std::function<std::byte*(const Place&)> at_;
  LocalPlan plan_;
  Type type_ = Type::float32;
  std::vector<Stream> streams_;
  std::vector<bool> passed_;             // by event
  std::vector<std::deque<Sent>> sends_;  // by rank, which has one message under way
};

}  // namespace sgdsim::calibrate
