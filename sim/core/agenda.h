// What is going to happen: sixteen bytes an event, events of one time in the order of planning.
#pragma once

#include <cstdint>

#include "sim/core/event_queue.h"

namespace sgdsim {

class Event {
 public:
  static constexpr uint32_t kinds_of_actor = 8;
  static constexpr uint32_t actors = 8;  // the first one is the network
  static constexpr uint32_t last_version = 0x3ffffff;

  // `version`: of the subject's plans; an event of an old plan means nothing.
  explicit Event(uint32_t kind, uint32_t subject, uint32_t version = 0)
      : subject_(subject), word_((version << 6U) | kind) {}
  Event() = default;

  // Those of different actors differ, too.
  uint32_t kind() const { return word_ & 63U; }
  uint32_t actor() const { return kind() / kinds_of_actor; }
  uint32_t kind_of_actor() const { return kind() % kinds_of_actor; }
  uint32_t subject() const { return subject_; }
  uint32_t version() const { return word_ >> 6U; }
  bool is_of(uint32_t version) const { return word_ >> 6U == (version & last_version); }

 private:
  uint32_t subject_ = 0;
  uint32_t word_ = 0;
};
using Agenda = EventQueue<Event>;

}  // namespace sgdsim
