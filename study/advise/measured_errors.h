// How far off predicted changes were where the same change was measured.
//
// Of two measured runs that differ in one kind of thing, the ratio of their times is predicted and
// measured; the error of such a ratio is what an interval around a predicted gain rests on. Errors
// that both runs share (a trace that is too slow, a link that is too fast) cancel, as they do in a
// gain.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "study/advise/change.h"
#include "study/validate/case_file.h"

namespace sgdsim {

struct MeasuredErrors {
  ChangeKind kind = ChangeKind::own;
  int pairs = 0;
  double p90 = 0;  // nine of ten ratios were within a factor of 1 + p90
  std::string_view of;
};

// From the cases that ship (a test computes them again); they stand in apart.cpp. Null: nothing
// like it was ever measured.
const MeasuredErrors* measured_errors(ChangeKind kind);

// The same from cases. Rows that parameters were fitted on do not count.
MeasuredErrors errors_of_ratios(std::span<const CaseFile> cases, ChangeKind kind);

}  // namespace sgdsim
