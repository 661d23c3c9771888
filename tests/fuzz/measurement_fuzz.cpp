// Whatever bytes come, the readers of measurements answer with one or with an InputError, and what
// they read can be fitted.
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "models/link/fit.h"
#include "sim/core/error.h"
#include "traces/measurement/registry.h"

namespace sgdsim {
namespace {

void fit_all(const Measurement& measurement) {
  for (const Series& series : measurement.series) {
    std::vector<FitRow> rows;
    for (const MeasuredPoint& point : series.points)
      rows.push_back(
          curve_row(static_cast<double>(point.size.count()), static_cast<double>(point.time.ps())));
    assert(!rows.empty());
    if (rows.size() >= 2) fit_pieces(rows, 0);
  }
}

}  // namespace
}  // namespace sgdsim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace sgdsim;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  for (const MeasurementFormat& format : measurement_formats)
    for (const bool told : {false, true}) {
      try {
        const std::string operation = told ? "allreduce" : "";
        fit_all(format.read({text, "fuzz.log", told ? std::optional(8) : std::nullopt, operation}));
      } catch (const InputError&) {
        // A refusal is an answer.
      }
    }
  return 0;
}
