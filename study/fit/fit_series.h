// The series that a fit is asked for, of all that its files hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "study/fit/fit_question.h"

namespace sgdsim {

struct ReadSeries {
  std::vector<Series> chosen;
  std::vector<Series> overheads;  // of whatever operation was asked for
};

std::vector<MeasuredFiles> read_files(const FitArguments& arguments);
// InputError if nothing is left.
ReadSeries read_series(const FitArguments& arguments, FitAnswer& answer);

// Points from --least-size on (below, sizes are rounded to what a type or a protocol needs), and up
// to --most-size if it is given.
void keep_sizes(std::vector<Series>& all, const FitArguments& arguments);

// A run without a message (""), or one of many empty kernels ("launch").
bool is_overhead(const Series& series, std::string_view of);

// "allreduce ring float32 among 8; ..."
std::string kinds_of(const std::vector<Series>& all);

}  // namespace sgdsim
