// Records of training steps, of whatever program: a file, or a folder with a file for each rank.
#pragma once

#include <string>
#include <vector>

#include "models/diagnose/clocks.h"
#include "sim/core/fields.h"
#include "sim/work/step_record.h"
#include "study/watch.h"

namespace sgdsim {

struct FoundRecord {
  StepRecord record;
  diagnose::Clocks clocks = diagnose::Clocks::apart;
};

// Which kinds of records are read, for messages.
inline constexpr char record_formats[] =
    "a timeline of StragglerAnalysis, a timeline of sgdsim (run or layout --timeline), or a folder "
    "with a profile of PyTorch, a log of NCCL's Inspector or a trace of Chakra for each rank";

// The same of a field that takes one.
inline const char* record_field_says() {
  static const std::string says = "recorded steps: " + std::string(record_formats);
  return says.c_str();
}

// What is said of a record beside its name.
struct RecordWords {
  std::string steps;
  std::string layout;
  std::string names;
  int stage = -1;
  int exchanges = 0;
  bool clocks_may_be_far_apart = false;  // no field: --clocks aligned says so
};
Fields record_fields(RecordWords& words);

// InputError if it is no record. `watch` looks on while it is read, which may take long.
FoundRecord read_record(const std::string& file, const RecordWords& words = {},
                        const Watch& watch = {});
// By its beginning alone.
bool looks_like_record(const std::string& file);
// What they say of how a job is divided, if a record does not say it.
RecordWords division_of(const std::string& file, const RecordWords& words);
// InputError if the words say how a job is divided, which this record says itself.
void check_no_layout(const RecordWords& words, const std::string& file);

// Names of workers, for answers: a line "replica,stage,name" for each.
void name_workers(StepRecord& record, const std::string& file);

// "12,20-23" as numbers in growing order.
std::vector<int64_t> parse_steps(const std::string& text, const std::string& where);

}  // namespace sgdsim
