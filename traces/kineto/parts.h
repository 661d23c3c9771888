// What a step's time was spent on, moment by moment.
//
// Each moment of the iteration counts once, as the first of these that is true of it: the last
// gradient is ready and buckets are still exchanged (exposed; but not where only another collective
// runs), a kernel computes, another collective runs, bytes are copied, the CPU waits for the next
// batch, nothing. So the parts add up to the iteration. An all-reduce of gradients before the last
// gradient delays nothing: what runs beside it counts.
#pragma once

#include "traces/kineto/open_step.h"
#include "traces/kineto/spans.h"

namespace sgdsim::profiler {

class Activity {
 public:
  explicit Activity(const ProfileRecords& records);
  // Fills in the parts of a step that begins at this time of the file, and what of each message
  // nothing hides.
  void divide(int64_t zero_ns, ProfiledStep& step) const;

 private:
  Spans others_between(int64_t zero_ns, const ProfiledStep& step) const;

  Spans computing_;
  Spans copying_;
  Spans loading_;
  Spans communicating_;
};

}  // namespace sgdsim::profiler
