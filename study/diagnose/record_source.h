// Records of training steps, of whatever program: a file, or a folder with a file for each rank.
#pragma once

#include <string>
#include <vector>

#include "sim/work/step_record.h"
#include "study/watch.h"

namespace sgdsim {

struct FoundRecord {
  StepRecord record;
  bool clocks_agree = false;  // the program that wrote it says so, or there is one clock
};

// Which kinds of records are read, for messages.
inline constexpr char record_formats[] =
    "a timeline of StragglerAnalysis, a timeline of sgdsim (run or layout --timeline), or a folder "
    "with a profile of PyTorch for each rank";

// The same of a field that takes one.
inline const char* record_field_says() {
  static const std::string says = "recorded steps: " + std::string(record_formats);
  return says.c_str();
}

// `steps`: the numbers that are kept; empty: all. InputError if it is no record. `watch` looks on
// while it is read, which may take long.
FoundRecord read_record(const std::string& file, const std::vector<int64_t>& steps,
                        const Watch& watch = {});

// Names of workers, for answers: a line "replica,stage,name" for each.
void name_workers(StepRecord& record, const std::string& file);

// "12,20-23" as numbers in growing order.
std::vector<int64_t> parse_steps(const std::string& text, const std::string& where);

}  // namespace sgdsim
