// `sgdsim import`: other programs' files as ours. Without the name of a format, the content tells.
#include <algorithm>
#include <functional>
#include <memory>

#include "app/commands.h"
#include "app/import/kineto_import.h"
#include "app/import/measurement_imports.h"
#include "app/import/profile_trace.h"
#include "app/import/steps_imports.h"
#include "app/import/trace_imports.h"
#include "app/usage.h"
#include "app/write_text.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "topologies/nccl_xml.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/words.h"
#include "traces/registry.h"
#include "traces/steps/registry.h"

namespace sgdsim {
namespace {

struct TopologyImport {
  std::string file;
  std::string out = "-";
  NcclImportOptions options;
  bool force = false;
};

void import_topology(const TopologyImport& arguments, Streams streams) {
  OutputGuard({arguments.file}, arguments.force)
      .claim("--out", arguments.out, {.schema = "sgdsim/cluster/1", .beginning = {}});
  const NcclImport import =
      import_nccl_xml(read_text(arguments.file), arguments.file, arguments.options);
  for (const std::string& note : import.notes) streams.log << "sgdsim: note: " << note << '\n';
  write_text(import.cluster.dump(2) + "\n", arguments.out, streams.out);
}

void add_topology_import(CLI::App& command, Streams streams) {
  auto arguments = std::make_shared<TopologyImport>();
  CLI::App* one = command.add_subcommand(
      "nccl-topology", "A topology file of NCCL (NCCL_TOPO_DUMP_FILE) as a cluster file.");
  one->add_option("FILE", arguments->file, "the XML file; - is standard input")->required();
  one->add_option("-o,--out", arguments->out, "cluster file to write (default: standard output)");
  add_force_option(*one, arguments->force);
  one->add_option("--nodes", arguments->options.nodes, "number of such machines (default: 1)");
  one->add_option("--name", arguments->options.name, "name of the cluster");
  one->footer("Example:\n  sgdsim import nccl-topology tests/data/nccl_regular.xml --nodes 4");
  one->callback([arguments, streams] { import_topology(*arguments, streams); });
}

// ---- files whose format is not named

constexpr std::string_view own_format = "sgdsim-json";  // known, and nothing to import

struct DetectedImport {
  std::vector<std::string> files;
  std::string out;
  std::string name;
  bool force = false;
};

// A format, whether a content looks like it, and what to do then.
struct ImportableFormat {
  std::string name;
  std::function<bool(const std::string&)> fits;
  bool takes_several = false;
  std::function<void(const DetectedImport&, Streams)> run;
};

std::string out_of(const DetectedImport& arguments) {
  return arguments.out.empty() ? "-" : arguments.out;
}

// Formats of measurements overlap, so that only the first that fits counts.
bool is_first_measurement(std::string_view name, const std::string& text) {
  for (const MeasurementFormat& format : measurement_formats)
    if (format.fits(text)) return format.name == name;
  return false;
}

std::vector<ImportableFormat> importable_formats() {
  std::vector<ImportableFormat> all;
  for (const TraceFormat& format : trace_formats) {
    if (format.has_own_command) {
      all.push_back({std::string(format.name), format.fits, true,
                     [](const DetectedImport& from, Streams streams) {
                       import_profiles(from.files, out_of(from), from.name, from.force, streams);
                     }});
      continue;
    }
    all.push_back(
        {std::string(format.name),
         [format](const std::string& text) { return format.fits != nullptr && format.fits(text); },
         false,
         [format](const DetectedImport& from, Streams streams) {
           TraceImport import;
           import.file = from.files.front();
           import.out = out_of(from);
           import.name = from.name;
           import.force = from.force;
           import_trace(format, import, streams);
         }});
  }
  for (const MeasurementFormat& format : measurement_formats)
    all.push_back(
        {std::string(format.name),
         [format](const std::string& text) { return is_first_measurement(format.name, text); },
         true,
         [format](const DetectedImport& from, Streams streams) {
           MeasurementImport import;
           import.files = from.files;
           import.out = out_of(from);
           import.name = from.name;
           import.force = from.force;
           import_measurement(format, import, streams);
         }});
  for (const StepsFormat& format : steps_formats)
    all.push_back({std::string(format.name), format.fits, true,
                   [format](const DetectedImport& from, Streams streams) {
                     if (!from.name.empty())
                       throw InputError("--name", "has no effect on " + std::string(format.name));
                     import_steps(format, {from.files, from.out, "table", from.force}, streams);
                   }});
  all.push_back({"nccl-topology",
                 [](const std::string& text) {
                   return text.find("<system") != std::string::npos &&
                          text.find("<cpu") != std::string::npos;
                 },
                 false,
                 [](const DetectedImport& from, Streams streams) {
                   TopologyImport import;
                   import.file = from.files.front();
                   import.out = out_of(from);
                   if (!from.name.empty()) import.options.name = from.name;
                   import.force = from.force;
                   import_topology(import, streams);
                 }});
  return all;
}

std::string names_of(const std::vector<ImportableFormat>& formats) {
  std::string names;
  for (const ImportableFormat& format : formats)
    if (format.name != own_format) names += (names.empty() ? "" : ", ") + format.name;
  return names;
}

const ImportableFormat& format_of(const std::string& file,
                                  const std::vector<ImportableFormat>& formats) {
  if (file == "-")
    throw InputError("import",
                     "standard input is read once; name its format: " + names_of(formats));
  if (is_profile(file))
    for (const ImportableFormat& format : formats)
      if (format.name == "kineto") return format;
  std::string text = read_text(file);
  if (!is_pickle(text)) make_plain(text);
  std::vector<ImportableFormat> found;
  const ImportableFormat* last = nullptr;
  for (const ImportableFormat& format : formats)
    if (format.fits(text)) {
      found.push_back(format);
      last = &format;
    }
  if (found.size() == 1) return *last;
  throw InputError(file, found.empty()
                             ? "its content is of no known format; known: " + names_of(formats)
                             : "its content may be " + names_of(found) +
                                   "; name the format: "
                                   "sgdsim import FORMAT FILE");
}

// A word that is no file may be meant as a format.
void check_word(const std::string& word, const std::vector<ImportableFormat>& formats,
                std::size_t words) {
  if (words < 2 || word.find_first_of("./") != std::string::npos || holds_something(word)) return;
  std::vector<std::string> known;
  for (const ImportableFormat& format : formats) known.push_back(format.name);
  throw InputError("import", unknown_name("format, and no file,", word, known));
}

void import_detected(const DetectedImport& arguments, Streams streams) {
  const std::vector<ImportableFormat> formats = importable_formats();
  if (arguments.files.empty())
    throw InputError("import",
                     "expected FILE, or a format and FILE; known formats: " + names_of(formats));
  check_word(arguments.files.front(), formats, arguments.files.size());
  const ImportableFormat& format = format_of(arguments.files.front(), formats);
  for (const std::string& file : arguments.files) {
    const ImportableFormat& other = format_of(file, formats);
    if (other.name != format.name)
      throw InputError(file, "is " + other.name + ", and " + arguments.files.front() + " is " +
                                 format.name + "; import them one by one");
  }
  if (arguments.files.size() > 1 && !format.takes_several)
    throw InputError(
        "import", format.name + " takes one file, got " + std::to_string(arguments.files.size()));
  if (format.name == own_format)
    throw InputError(arguments.files.front(), "is a file of sgdsim already");
  streams.log << "sgdsim: note: read as " << format.name << '\n';
  format.run(arguments, streams);
}

}  // namespace

void add_import_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand("import", "Convert files of other programs.");
  command->require_subcommand(0, 1);
  command->footer(
      "Examples:\n"
      "  sgdsim import tests/data/mllog.txt\n"
      "  sgdsim import nccl-topology tests/data/nccl_regular.xml --nodes 4");
  auto arguments = std::make_shared<DetectedImport>();
  command->add_option("FILE", arguments->files,
                      "files whose content tells their format, where none is named");
  command->add_option("-o,--out", arguments->out, "file to write (default: standard output)");
  add_force_option(*command, arguments->force);
  command->add_option("--name", arguments->name, "name of what is imported");
  add_topology_import(*command, streams);
  add_trace_imports(*command, streams);
  add_measurement_imports(*command, streams);
  add_steps_imports(*command, streams);
  command->callback([command, arguments, streams] {
    if (command->get_subcommands().empty()) import_detected(*arguments, streams);
  });
}

}  // namespace sgdsim
