// Everything that a page shows, as one JSON object that its script reads.
#pragma once

#include <string>
#include <vector>

#include "app/report/answer_file.h"

namespace sgdsim {

struct ReportRequest {
  std::vector<std::string> files;
  std::string title;
  std::vector<std::string> settings;  // --set and --axis of the sweep that was asked
  std::vector<std::string> axes;
  std::string command;  // that makes this page
};

// Figures that a page can do without come last in `left_out` and are dropped first if the page
// would be too large.
Json report_data(const ReportRequest& request, const std::vector<AnswerFile>& answers,
                 const std::vector<std::string>& left_out);

// The whole page: the template with the data in it, at most 14.5 MB if that can be.
std::string report_page(const ReportRequest& request);

}  // namespace sgdsim
