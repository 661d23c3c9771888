// Logs of other programs become files that `sgdsim fit` reads.
#include "app/import/measurement_imports.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "app/usage.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "study/collective/ranges.h"
#include "study/import/rank_files.h"
#include "study/write_text.h"
#include "traces/log_text.h"
#include "traces/measurement/registry.h"

namespace sgdsim {
namespace {

Measurement measurement_of(const MeasurementFormat& format, const MeasurementImport& arguments,
                           const std::vector<std::string>& files) {
  const auto& known = measured_operations();
  if (!arguments.operation.empty() &&
      std::find(known.begin(), known.end(), arguments.operation) == known.end())
    throw InputError("--operation", unknown_name("operation", arguments.operation, known));
  std::optional<int> ranks;
  if (!arguments.ranks.empty())
    ranks = static_cast<int>(parse_whole(arguments.ranks, 1, most_measured_ranks, "--ranks"));
  std::vector<MeasuredText> texts;
  for (const std::string& file : files)
    texts.push_back({read_log(file), file, ranks, arguments.operation});
  std::vector<MeasuredFiles> all = read_measurements(std::move(texts), format.name);
  Measurement together = std::move(all.front().measurement);
  for (std::size_t i = 1; i < all.size(); ++i) {
    Measurement& one = all[i].measurement;
    together.source += "; " + one.source;
    for (const std::string& note : one.notes) together.notes.push_back(all[i].files + ": " + note);
    for (Series& series : one.series) together.series.push_back(std::move(series));
  }
  if (all.size() > 1) tidy(together, files.front());
  if (!arguments.name.empty()) together.name = arguments.name;
  return together;
}

// What a file of ours cannot hold.
void check_ranks(Measurement& measurement, const std::string& file) {
  const auto unknown = std::count_if(measurement.series.begin(), measurement.series.end(),
                                     [](const Series& series) { return series.ranks == 0; });
  if (unknown == 0) return;
  if (static_cast<std::size_t>(unknown) == measurement.series.size())
    throw InputError(file, "does not say how many ranks took part; give --ranks");
  measurement.notes.push_back(std::to_string(unknown) +
                              " series left out: the number of their ranks is not known");
}

}  // namespace

void import_measurement(const MeasurementFormat& format, const MeasurementImport& arguments,
                        Streams streams) {
  const std::vector<std::string> files = files_of_ranks(arguments.files, format.name);
  OutputGuard(files, arguments.force)
      .claim("--out", arguments.out, {.schema = std::string(measurement_schema), .beginning = {}});
  Measurement measurement = measurement_of(format, arguments, files);
  check_ranks(measurement, files.front());
  for (const std::string& note : measurement.notes) streams.log << "sgdsim: note: " << note << '\n';
  write_text(to_text(measurement), arguments.out, streams.out);
}

void add_measurement_imports(CLI::App& import, Streams streams) {
  for (const MeasurementFormat& format : measurement_formats) {
    if (format.name == "sgdsim-json") continue;  // it is what they become
    CLI::App* one = import.add_subcommand(std::string(format.name),
                                          std::string(format.description) + ", as measured times.");
    auto arguments = std::make_shared<MeasurementImport>();
    one->add_option("FILE", arguments->files,
                    format.read_together == nullptr
                        ? "files to read; - is standard input"
                        : "files to read, one a rank, or their folder; - is standard input")
        ->required();
    one->add_option("-o,--out", arguments->out,
                    "measurement file to write (default: standard output)");
    add_force_option(*one, arguments->force);
    one->add_option("--name", arguments->name,
                    "name of the measurement (default: the name of the file)");
    one->add_option("--operation,--op", arguments->operation,
                    "operation, if the log does not state it");
    one->add_option("-p,--ranks", arguments->ranks,
                    "number of ranks, if the log does not state it");
    one->footer("Example:\n  sgdsim import " + std::string(format.name) + " " +
                std::string(format.example) + (format.name == "osu-log" ? " --ranks 4" : ""));
    one->callback(
        [arguments, format, streams] { import_measurement(format, *arguments, streams); });
  }
}

}  // namespace sgdsim
