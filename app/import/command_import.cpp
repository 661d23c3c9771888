// `sgdsim import`: other programs' files as ours. Without the name of a format, the content tells.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "app/commands.h"
#include "app/import/execution_trace_import.h"
#include "app/import/kineto_import.h"
#include "app/import/measurement_imports.h"
#include "app/import/steps_imports.h"
#include "app/import/trace_imports.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/refusal.h"
#include "study/import/profile_trace.h"
#include "study/import/rank_files.h"
#include "study/write_text.h"
#include "topologies/nccl_xml.h"
#include "traces/kineto/execution_trace.h"
#include "traces/log_text.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/words.h"
#include "traces/registry.h"
#include "traces/steps/registry.h"
#include "traces/unread.h"

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

// Values and flags by the names that were typed.
struct DetectedImport {
  std::vector<std::string> files;
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, bool> flags;
};

// A format, and whether a content looks like it.
struct ImportableFormat {
  std::string name;
  std::function<bool(const std::string&)> fits;
  bool takes_several = false;
};

// Formats of measurements overlap, so that only the first that fits counts.
bool is_first_measurement(std::string_view name, const std::string& text) {
  for (const MeasurementFormat& format : measurement_formats)
    if (format.fits(text)) return format.name == name;
  return false;
}

std::vector<ImportableFormat> importable_formats() {
  std::vector<ImportableFormat> all;
  for (const TraceFormat& format : trace_formats)
    all.push_back(
        {std::string(format.name),
         [format](const std::string& text) { return format.fits != nullptr && format.fits(text); },
         format.has_own_command});
  for (const MeasurementFormat& format : measurement_formats)
    all.push_back(
        {std::string(format.name),
         [format](const std::string& text) { return is_first_measurement(format.name, text); },
         true});
  for (const StepsFormat& format : steps_formats)
    all.push_back({std::string(format.name), format.fits, true});
  all.push_back({std::string(execution_trace_format),
                 [](const std::string& text) { return profiler::is_execution_trace(text); },
                 false});
  all.push_back({"nccl-topology",
                 [](const std::string& text) {
                   return text.find("<system") != std::string::npos &&
                          text.find("<cpu") != std::string::npos;
                 },
                 false});
  return all;
}

std::string names_of(const std::vector<ImportableFormat>& formats) {
  std::string names;
  for (const ImportableFormat& format : formats)
    if (format.name != own_format) names += (names.empty() ? "" : ", ") + format.name;
  return names;
}

// Of profiles, which may be long, and of folders; empty: the whole text tells.
std::string_view format_without_text(const std::string& file) {
  if (is_profile(file)) return is_execution_trace_file(file) ? execution_trace_format : "kineto";
  if (!is_folder(file)) return {};
  const std::string_view of_ranks = rank_format_in(file);
  if (of_ranks.empty())
    throw InputError(file,
                     "holds no profile of PyTorch (.json or .json.gz), no log of NCCL's Inspector "
                     "and no dump of the Flight Recorder; name a file (a folder with traces of "
                     "Chakra is read by `sgdsim diagnose FOLDER`)");
  return of_ranks;
}

const ImportableFormat& format_of(const std::string& file,
                                  const std::vector<ImportableFormat>& formats) {
  if (file == "-")
    throw InputError("import",
                     "standard input is read once; name its format: " + names_of(formats));
  const std::string_view known_name = format_without_text(file);
  for (const ImportableFormat& format : formats)
    if (format.name == known_name) return format;
  std::string text = read_log(file);
  if (!is_pickle(text)) make_plain(text);
  std::vector<ImportableFormat> found;
  const ImportableFormat* last = nullptr;
  for (const ImportableFormat& format : formats)
    if (format.fits(text)) {
      found.push_back(format);
      last = &format;
    }
  if (found.size() == 1) return *last;
  if (found.empty()) refuse_timeline(file, "holds nothing to import; ");
  if (const std::string why = why_unread(text, file); found.empty() && !why.empty())
    throw InputError(file, why);
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

void add_formats(CLI::App& import, Streams streams) {
  add_topology_import(import, streams);
  add_trace_imports(import, streams);
  add_execution_trace_import(import, streams);
  add_measurement_imports(import, streams);
  add_steps_imports(import, streams);
}

// The same words for the command of the format.
void import_as(const std::string& format, const DetectedImport& arguments, Streams streams) {
  CLI::App import("", "sgdsim import");
  add_formats(import, streams);
  const CLI::App* command = import.get_subcommand(format);
  std::vector<std::string> words = {format};
  const auto add = [&](const std::string& name) {
    if (command->get_option_no_throw(name) == nullptr) throw no_effect(name, "on " + format);
    words.push_back(name);
  };
  for (const auto& [name, value] : arguments.values) {
    if (value.empty()) continue;
    add(name);
    words.insert(words.end(), value.begin(), value.end());
  }
  for (const auto& [name, is_given] : arguments.flags)
    if (is_given) add(name);
  words.emplace_back("--");
  words.insert(words.end(), arguments.files.begin(), arguments.files.end());
  try {
    import.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    throw InputError("import " + format, error.what());
  }
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
  import_as(format.name, arguments, streams);
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

// Options of all formats; which of them hold is known when the content is.
void add_options_of_formats(CLI::App& import, DetectedImport& arguments) {
  for (const CLI::App* format : import.get_subcommands([](const CLI::App*) { return true; }))
    for (const CLI::Option* option : format->get_options()) {
      const bool is_common = option->check_name("--out") || option->check_name("--name") ||
                             option->check_name("--force");
      for (const std::string& name : names_of(*option)) {
        if (import.get_option_no_throw(name) != nullptr) continue;
        CLI::Option* one = option->get_expected_max() == 0
                               ? import.add_flag(name, arguments.flags[name])
                               : import.add_option(name, arguments.values[name])
                                     ->expected(1, option->get_expected_max())
                                     ->allow_extra_args(option->get_expected_max() > 1);
        if (is_common)
          one->description(option->get_description());
        else
          one->group("");  // not in the help, which would be that of all formats
      }
    }
}

}  // namespace

void add_import_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand("import", "Convert files of other programs.");
  command->require_subcommand(0, 1);
  command->footer(
      "With FILE alone, the options of its format hold: sgdsim import FORMAT --help.\n"
      "Examples:\n"
      "  sgdsim import tests/data/mllog.txt\n"
      "  sgdsim import tests/data/kineto.json --model ResNet-50 --batch 32\n"
      "  sgdsim import nccl-topology tests/data/nccl_regular.xml --nodes 4");
  auto arguments = std::make_shared<DetectedImport>();
  command->add_option("FILE", arguments->files,
                      "files whose content tells their format, where none is named");
  add_formats(*command, streams);
  add_options_of_formats(*command, *arguments);
  command->callback([command, arguments, streams] {
    if (command->get_subcommands().empty()) import_detected(*arguments, streams);
  });
}

}  // namespace sgdsim
