// `sgdsim import FORMAT FILE...` for every registered format of measurements.
#pragma once

#include "app/commands.h"

namespace sgdsim {

struct MeasurementFormat;

struct MeasurementImport {
  std::vector<std::string> files;
  std::string out = "-";
  std::string name;
  std::string operation;
  std::string ranks;
  bool force = false;
};

void import_measurement(const MeasurementFormat& format, const MeasurementImport& arguments,
                        Streams streams);

void add_measurement_imports(CLI::App& import, Streams streams);

}  // namespace sgdsim
