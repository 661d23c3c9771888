// What is going to happen: sixteen bytes an event, events of one time in the order of planning.
#pragma once

#include <cstdint>

#include "sim/core/event_queue.h"

namespace sgdsim {

class Event {
 public:
  // `version`: of the subject's plans; an event of an old plan means nothing.
  explicit Event(uint32_t kind, uint32_t subject, uint32_t version = 0)
      : subject_(subject), word_((version << 4U) | kind) {}
  Event() = default;

  uint32_t kind() const { return word_ & 15U; }
  uint32_t subject() const { return subject_; }
  uint32_t version() const { return word_ >> 4U; }
  bool is_of(uint32_t version) const { return word_ >> 4U == (version & 0xfffffffU); }

 private:
  uint32_t subject_ = 0;
  uint32_t word_ = 0;
};
using Agenda = EventQueue<Event>;

}  // namespace sgdsim
