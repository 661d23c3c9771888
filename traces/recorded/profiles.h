// Profiles of PyTorch, one for each rank of a data-parallel job, as a record of its steps.
//
// A rank is a replica. Its forward pass is one operation, and its backward pass one for each bucket
// of gradients: up to the moment at which the bucket is ready, with the gaps in which the CPU was
// late. A bucket's all-reduce is an exchange of all ranks. What is left of the iteration after the
// last exchange (update, loading, idle time) is the optimizer. Other collectives count as
// computing.
#pragma once

#include <string>
#include <vector>

#include "sim/work/step_record.h"
#include "traces/kineto/steps.h"

namespace sgdsim {

class RankProfiles {
 public:
  // `format`: what the files are, for people.
  // `clocks_may_be_far_apart`: files whose steps began over a minute apart are of one run, too.
  explicit RankProfiles(bool clocks_may_be_far_apart, std::string format = "profiles of PyTorch")
      : clocks_may_be_far_apart_(clocks_may_be_far_apart), format_(std::move(format)) {}

  // One after another, so that nothing but steps is kept of a file.
  void add(const profiler::RankProfile& profile);
  // A file that could not be read, with the sentence that says why.
  void add_problem(const std::string& sentence) { notes_.push_back(sentence); }

  // InputError, naming `folder`, if no two ranks have a step in common.
  StepRecord record(const std::string& folder, const std::vector<int64_t>& steps);

 private:
  struct Bucket {
    int64_t ready_ns = 0;  // this and what follows: by the clock of the file
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    int64_t elements = -1;
  };
  struct Step {
    int64_t number = 0;
    int64_t start_ns = 0;
    int64_t forward_end_ns = 0;
    int64_t backward_end_ns = 0;
    int64_t exchanged_ns = 0;
    int64_t end_ns = 0;
    std::vector<Bucket> buckets;

    std::vector<int64_t> shape() const;
  };
  struct Rank {
    std::string file;
    int64_t rank = -1;
    int64_t ranks = 0;  // of the job; 0: not said
    bool is_cut_off = false;
    bool has_other_collectives = false;
    std::vector<Step> steps;
  };

  void settle_ranks();
  void leave_out_strangers();
  void note_what_is_missing(StepRecord& record) const;
  std::vector<int64_t> common_steps(const std::string& folder, const std::vector<int64_t>& wanted);
  static void add_step(StepRecord& record, int32_t replica, int32_t index, const Step& step);
  template <class Unfit>
  void leave_out(const Unfit& unfit);

  bool clocks_may_be_far_apart_ = false;
  std::string format_;
  std::vector<Rank> ranks_;
  std::vector<std::string> notes_;
};

}  // namespace sgdsim
