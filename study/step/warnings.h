// Warnings of one result, and of many that are printed together.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "study/step/experiment.h"

namespace sgdsim {

// What the reader must know before trusting a result: of the trace, the cluster, the compression,
// of what the models say of their own result, and of sizes that were never measured.
std::vector<std::string> warnings_of(const Experiment& experiment, const StepResult& result);

// The warnings of many results. Each sentence is kept once, with how many results have it.
class WarningTally {
 public:
  // `name` says whose they are: "point 3", "wfbp". Call it for results without warnings, too.
  void add(const std::vector<std::string>& warnings, const std::string& name);
  // One line per sentence; `results` is the plural of what the results are: "points".
  std::vector<std::string> lines(const std::string& results) const;
  void print(std::ostream& log, const std::string& results) const;

 private:
  struct Entry {
    std::string text;
    std::string first;  // the result that had it first
    int64_t count = 0;
  };
  std::vector<Entry> entries_;
  int64_t results_ = 0;
  int64_t left_out_ = 0;  // warnings beyond the sentences that are kept
};

}  // namespace sgdsim
