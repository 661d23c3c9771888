// `sgdsim import FORMAT` for every registered format of traces.
#pragma once

#include <string>

#include "app/commands.h"

namespace sgdsim {

struct TraceFormat;

// A file, and what its format does not know.
struct TraceImport {
  std::string file;
  std::string out = "-";
  std::string forward;
  std::string name;
  std::string model;
  std::string device;
  int64_t batch = 0;
  bool force = false;
};

void import_trace(const TraceFormat& format, const TraceImport& arguments, Streams streams);

void add_trace_imports(CLI::App& import, Streams streams);

}  // namespace sgdsim
