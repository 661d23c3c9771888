// Reads the command line, measures, writes the measurement file.
#include "calibrate/command.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "calibrate/arguments.h"
#include "calibrate/processes/backends.h"
#include "calibrate/record.h"
#include "calibrate/session.h"
#include "calibrate/summary.h"
#include "calibrate/tasks/pattern.h"
#include "calibrate/tasks/tasks.h"
#include "calibrate/version.h"
#include "sim/core/error.h"
#include "sim/core/output.h"
#include "sim/core/quantity.h"
#include "sim/core/read_files.h"
#include "sim/core/refusal.h"

namespace sgdsim::calibrate {
namespace {

constexpr int exit_failure = 1;
constexpr int exit_bad_input = 2;
constexpr int exit_incomplete = 3;
constexpr int exit_interrupted = 130;

// What messages under way may still write to, and so outlives a failure.
struct Session {
  std::unique_ptr<Processes> processes;  // none: this one measures alone
  std::unique_ptr<Backend> backend;
};

std::unique_ptr<Backend> backend_of(const Arguments& arguments, Processes* processes) {
  const double patience_s = parse_duration(arguments.patience, "--patience").s();
  if (processes != nullptr) processes->set_patience(patience_s);
  const bool is_alone = processes == nullptr || processes->count() == 1;
  if (arguments.backend == "host") {
    if (!arguments.devices.empty()) throw no_effect("--device", "with --backend host");
    return is_alone ? host_backend() : in_step(host_process(*processes), *processes);
  }
  if (arguments.backend == "cuda") {
    const std::vector<int> devices = numbers_of(arguments.devices, 0, 1023, "--device");
    if (is_alone) return cuda_backend(devices, patience_s);
    return in_step(cuda_backend(devices, patience_s, processes), *processes);
  }
  throw InputError("--backend", unknown_name("backend", arguments.backend, {"cuda", "host"}));
}

struct LeftOut {
  std::vector<std::string> reasons;
  std::size_t without_room = 0;  // tasks; what cannot run here at all counts as not asked for
  Json asked;
};

// What was named must run; of the rest it is said why it is missing.
LeftOut leave_out_what_cannot_run(const Backend& backend, const Arguments& arguments,
                                  std::vector<Task>& tasks, std::ostream& log) {
  LeftOut left_out;
  std::vector<std::string>& reasons = left_out.reasons;
  const std::vector<std::string> named = words_of(arguments.algorithms);
  std::erase_if(tasks, [&](const Task& task) {
    const std::string why_not = backend.why_not(task.plan);
    const bool is_named = std::find(named.begin(), named.end(), task.algorithm) != named.end();
    if (!why_not.empty() && is_named)
      throw InputError("", text_of(task) + " cannot run: " + why_not);
    // All sizes of a series are left out for one reason, which is told once.
    const std::string reason = "left out: " + text_of_series(task) + ": " + why_not;
    if (!why_not.empty() && (reasons.empty() || reasons.back() != reason))
      reasons.push_back(reason);
    return !why_not.empty();
  });
  left_out.asked = asked_of(tasks);
  const std::vector<std::string> no_room = leave_out_what_has_no_room(backend, tasks);
  left_out.without_room = no_room.size();
  for (const std::string& reason : no_room) log << "sgdsim-calibrate: " << reason << '\n';
  reasons.insert(reasons.end(), no_room.begin(), no_room.end());
  const auto is_overhead = [](const Task& task) { return task.operation == "overhead"; };
  // Without what was asked for, the overheads beside it are not worth a run.
  const bool is_empty = std::all_of(tasks.begin(), tasks.end(), is_overhead);
  if (is_empty && !reasons.empty()) throw InputError("", reasons.front());
  return left_out;
}

std::string verdict_on(const std::vector<Task>& tasks, const Outcome& outcome,
                       std::size_t left_out) {
  const auto right = std::count_if(outcome.points.begin(), outcome.points.end(),
                                   [](const Measured& point) { return point.verified; });
  std::string text =
      std::to_string(right) + " of " + std::to_string(tasks.size()) + " results are right";
  if (!outcome.is_complete) text += "; not all were checked";
  if (left_out > 0) text += "; " + std::to_string(left_out) + " were left out";
  return text;
}

// On the terminal as in the file.
void say_what_went_wrong(const Arguments& arguments, const std::vector<Task>& tasks,
                         const Outcome& outcome, std::ostream& log) {
  const auto say = [&](const std::string& line) { log << "sgdsim-calibrate: " << line << '\n'; };
  for (const std::string& wrong : outcome.wrong) say(wrong);
  if (!outcome.failure.empty()) say("failed: " + printable(outcome.failure));
  for (const std::string& note : outcome.notes) say(note);
  for (const std::string& line : missing_of(tasks, outcome, arguments.verify_only)) say(line);
}

int measure_all(const Arguments& arguments, Session& session, std::ostream& out,
                std::ostream& log) {
  Processes* const processes = session.processes.get();
  const bool is_first = processes == nullptr || processes->is_first();
  std::vector<Task> tasks =
      tasks_of(request_of(arguments, processes == nullptr ? 1 : processes->count()));
  const MeasureOptions options = options_of(arguments);
  session.backend = backend_of(arguments, processes);
  Backend* const backend = session.backend.get();
  const Machine machine = backend->machine();
  const std::vector<DeviceState> before = backend->states();
  const LeftOut left_out = leave_out_what_cannot_run(*backend, arguments, tasks, log);
  const Signals signals;
  std::optional<Result> result;
  if (!options.verify_only && is_first) result.emplace(arguments.out, arguments.force, out);
  Progress progress(log, arguments.quiet);
  const Watcher watcher{[] { return is_interrupted(); },
                        [&](const std::string& line) { progress(line); }};
  const Outcome outcome = measure(*backend, tasks, options, watcher);
  if (processes != nullptr && !outcome.failure.empty())
    processes->tell({exit_failure, outcome.failure});
  say_what_went_wrong(arguments, tasks, outcome, log);
  if (arguments.verify_only) {
    log << "sgdsim-calibrate: " << verdict_on(tasks, outcome, left_out.without_room) << '\n';
  } else if (is_first) {
    const std::string name = arguments.name.empty() ? machine.backend : arguments.name;
    // A GPU that has failed might not answer, and not end the call.
    const std::vector<DeviceState> after =
        outcome.failure.empty() ? backend->states() : std::vector<DeviceState>();
    const Json record =
        record_of(*backend, machine, tasks, outcome,
                  {name, now(), options.cold, left_out.asked, before, after, left_out.reasons});
    const auto replace = Json::error_handler_t::replace;  // a device may have any name
    if (!result->write(record.dump(1, ' ', false, replace) + "\n", log)) return exit_failure;
    if (!arguments.quiet)
      for (const std::string& line :
           summary_of(tasks, outcome, [&](int ranks) { return backend->memories(ranks); }))
        log << line << '\n';
  }
  if (outcome.is_interrupted) return exit_interrupted;
  if (!outcome.wrong.empty() || !outcome.failure.empty()) return exit_failure;
  return arguments.verify_only && !outcome.is_complete ? exit_incomplete : 0;
}

// Reads the arguments and does what they say; what is wrong is said, to the other processes too.
int answer(const std::vector<std::string>& arguments, Session& session, std::ostream& out,
           std::ostream& log) {
  CLI::App program(
      "Measures collectives and their parts on GPUs, or on the threads of this machine.");
  program.name("sgdsim-calibrate");
  program.set_version_flag("--version", "sgdsim-calibrate " + std::string(version_number) +
                                            " (commit " + std::string(version_commit) + ", CUDA " +
                                            (version_has_cuda ? "yes" : "no") + ", MPI " +
                                            (version_has_mpi ? "yes" : "no") + ")");
  Arguments options;
  add_options(program, options);
  const auto fail = [&](int exit_code, const std::string& sentence) {
    log << "sgdsim-calibrate: " << printable(sentence) << '\n';
    if (session.processes) session.processes->tell({exit_code, sentence});
    return exit_code;
  };
  forget_reads();
  try {
    for (const std::string& argument : arguments)
      if (const std::string problem = problem_of_text(argument, true); !problem.empty())
        throw InputError("", "the argument \"" + argument.substr(0, 60) + "\" " + problem);
    program.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    options.has_ranks = program.count("--ranks") > 0;
    return measure_all(options, session, out, log);
  } catch (const CLI::Success& help) {
    program.exit(help, out, log);
    return 0;
  } catch (const CLI::ParseError& error) {
    log << "sgdsim-calibrate: " << printable(error.what()) << "\nsee: sgdsim-calibrate --help\n";
    return exit_bad_input;
  } catch (const InputError& error) {
    return fail(exit_bad_input, error.what());
  } catch (const EndedElsewhere& error) {
    return fail(error.exit_code, error.what());
  } catch (const std::exception& error) {
    return fail(exit_failure, std::string("failed: ") + error.what());
  }
}

// Processes wait for each other before their arguments are read, so that one speaks for all.
double early_patience_s(const std::vector<std::string>& arguments) {
  const auto at = std::find(arguments.begin(), arguments.end(), "--patience");
  if (at == arguments.end() || at + 1 == arguments.end()) return usual_patience_s;
  try {
    return parse_duration(*(at + 1), "--patience").s();
  } catch (const InputError&) {  // which is said later
    return usual_patience_s;
  }
}

}  // namespace

int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& log) {
  Session session;
  if (std::find(arguments.begin(), arguments.end(), "--mpi") == arguments.end())
    return answer(arguments, session, out, log);
  try {
    session.processes = std::make_unique<Processes>(mpi_messenger(), early_patience_s(arguments));
  } catch (const EndedElsewhere& elsewhere) {  // before this one had met all; it has been said
    return elsewhere.exit_code;
  } catch (const InputError& error) {
    log << "sgdsim-calibrate: " << error.what() << '\n';
    return exit_bad_input;
  } catch (const std::exception& error) {
    log << "sgdsim-calibrate: failed: " << printable(error.what()) << '\n';
    return exit_failure;
  }
  // The first process speaks for all.
  std::ostream nowhere(nullptr);
  const bool is_first = session.processes->is_first();
  const int exit_code =
      answer(arguments, session, is_first ? out : nowhere, is_first ? log : nowhere);
  out.flush();
  return session.processes->end(exit_code);
}

}  // namespace sgdsim::calibrate
