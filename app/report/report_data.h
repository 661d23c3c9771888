// Everything that a page shows, as one JSON object that its script reads.
#pragma once

#include <string>
#include <vector>

namespace sgdsim {

struct ReportRequest {
  std::vector<std::string> files;
  std::string title;
  std::vector<std::string> settings;  // --set and --axis of the sweep that was asked
  std::vector<std::string> axes;
  std::string command;  // that makes this page
};

// The whole page: the template with the data in it, at most 14.5 MB if that can be: figures that
// are missed least are left out then. `notes`: what the page says of the files, for who writes it.
std::string report_page(const ReportRequest& request, std::vector<std::string>* notes = nullptr);

}  // namespace sgdsim
