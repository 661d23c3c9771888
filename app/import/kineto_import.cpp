// Options, outputs, and what people read of a recording.
#include "app/import/kineto_import.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/field_options.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "study/import/kineto_report.h"
#include "study/import/profile_question.h"
#include "study/validate/case_file.h"
#include "study/write_text.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

struct KinetoArguments {
  ProfileWords words;
  std::string out = "-";
  std::string case_file;
  bool force = false;
};

void check_outputs(const KinetoArguments& arguments, const ProfileFiles& files) {
  OutputGuard guard(files.all, arguments.force);
  guard.claim("--out", arguments.out, {.schema = trace_schema, .beginning = {}});
  guard.claim("--case", arguments.case_file, {.schema = case_schema, .beginning = {}});
  if (arguments.out == "-" && arguments.case_file == "-")
    throw InputError("--case", "standard output already takes the trace; give --out a file");
}

// What was imported is kept whatever becomes of the case.
void write_case(const KinetoArguments& arguments, const ImportedProfile& imported,
                Streams streams) {
  try {
    const Json json = case_of(arguments.words, imported, arguments.case_file);
    write_text(json.dump(1) + "\n", arguments.case_file, streams.out);
  } catch (const InputError& error) {
    throw InputError("", std::string(error.what()) + "; no case was written" +
                             (arguments.out == "-" ? "" : ", but " + arguments.out + " was"));
  }
}

void import_kineto(const KinetoArguments& arguments, Streams streams) {
  const ProfileFiles files = profile_files(arguments.words);
  check_outputs(arguments, files);
  RecordedProfiles profiles = read_profiles(arguments.words, files);
  print_recording(profiles.recording, streams.log);
  const ImportedProfile imported = import_profile(arguments.words, std::move(profiles));
  for (const std::string& note : imported.step.trace.notes)
    streams.log << "sgdsim: note: " << note << '\n';
  write_text(to_text(imported.step.trace), arguments.out, streams.out);
  if (!arguments.case_file.empty()) write_case(arguments, imported, streams);
}

}  // namespace

void add_kineto_import(CLI::App& import, Streams streams) {
  CLI::App* one = import.add_subcommand(
      "kineto", "Traces of PyTorch's profiler (Kineto), as a trace file and a case.");
  auto arguments = std::make_shared<KinetoArguments>();
  add_options(*one, profile_fields(arguments->words));
  one->add_option("-o,--out", arguments->out, "trace file to write (default: standard output)");
  add_force_option(*one, arguments->force);
  one->add_option("--case", arguments->case_file,
                  "case to write: the recorded step, for sgdsim validate");
  one->get_option("--cluster")->needs("--case");
  one->get_option("--execution-trace")->allow_extra_args();
  one->footer("Example:\n  sgdsim import kineto tests/data/kineto.json --case results/step.json");
  one->callback([arguments, streams] { import_kineto(*arguments, streams); });
}

}  // namespace sgdsim
