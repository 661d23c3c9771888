// The command line as a whole: version, help, commands, exit codes.
//
// 0 ok; 1 our failure (the output could not be written, points of a sweep failed, a bug); 2 bad
// usage or bad input; 3 incomplete; 4 the simulated system is stuck or a limit was hit; 5
// predictions beyond tolerance; 130 interrupted.
#include <algorithm>
#include <exception>
#include <new>

#include "app/commands.h"
#include "app/help.h"
#include "app/interrupt.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/read_files.h"
#include "sim/core/stopper.h"
#include "sim/net/stuck.h"
#include "sim/play/schedules_in_time.h"
#include "study/failure.h"
#include "study/version.h"

namespace sgdsim {
namespace {

std::string version_text() {
  return "sgdsim " + std::string(version_number) + " (commit " + std::string(version_commit) +
         ", " + std::string(version_compiler) + ", CUDA " + (version_has_cuda ? "yes" : "no") + ")";
}

// They become names in files and lines on terminals.
void check_arguments(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments)
    if (const std::string problem = problem_of_text(argument, true); !problem.empty())
      throw InputError("", "the argument \"" + argument.substr(0, 60) + "\" " + problem);
}

void describe(CLI::App& program, Streams streams, int& exit_code) {
  program.name("sgdsim");
  program.set_version_flag("--version", version_text());
  program.require_subcommand(1);
  program.footer(
      "`sgdsim help COMMAND` tells more of each.\n"
      "Example:\n"
      "  sgdsim collective --algorithm ring --op allreduce --ranks 16 --bytes \"100 MB\" \\\n"
      "      --alpha \"45 us\" --beta \"0.8 ns/B\"\n"
      "Exit codes: 0 ok, 1 failure, 2 bad usage or input, 3 incomplete, 4 stuck or at a\n"
      "limit, 5 validation beyond tolerance, 130 interrupted.");
  add_run_command(program, streams);
  add_plan_command(program, streams);
  add_advise_command(program, streams);
  add_learn_command(program, streams, exit_code);
  add_sweep_command(program, streams, exit_code);
  add_merge_command(program, streams, exit_code);
  add_tune_command(program, streams, exit_code);
  add_need_command(program, streams);
  add_collective_command(program, streams);
  add_replay_command(program, streams, exit_code);
  add_traffic_command(program, streams, exit_code);
  add_goodput_command(program, streams, exit_code);
  add_diagnose_command(program, streams);
  add_compare_command(program, streams, exit_code);
  add_jobs_command(program, streams);
  add_list_command(program, streams);
  add_schema_command(program, streams);
  add_completion_command(program, streams);
  add_fit_command(program, streams);
  add_report_command(program, streams);
  add_plot_command(program, streams);
  add_export_command(program, streams);
  add_import_command(program, streams);
  add_model_command(program, streams);
  add_layout_command(program, streams, exit_code);
  add_trace_command(program, streams, exit_code);
  add_validate_command(program, streams, exit_code);
  refuse_empty_values(program);
  arrange_help(program);
}

}  // namespace

int run_program(const std::vector<std::string>& given, Streams streams) {
  const std::vector<std::string> arguments = with_help_asked(given);
  forget_reads();
  CLI::App program("A trace-driven simulator of distributed SGD.");
  int exit_code = 0;
  describe(program, streams, exit_code);
  try {
    check_arguments(arguments);
    // CLI11 takes a vector of arguments from its end.
    program.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& help) {
    const std::string unknown = unknown_command(program, arguments);
    if (!unknown.empty()) {
      streams.log << "sgdsim: " << printable(unknown) << '\n';
      return exit_bad_input;
    }
    program.exit(help, streams.out, streams.log);
  } catch (const CLI::ParseError& error) {
    streams.log << "sgdsim: " << printable(usage_problem(program, arguments, error)) << '\n';
    return exit_bad_input;
  } catch (const NetworkStuck& stuck) {
    streams.log << "sgdsim: " << stuck_text(stuck) << '\n';
    return exit_stuck;
  } catch (const ScheduleStuck& stuck) {
    streams.log << "sgdsim: " << printable(stuck.what()) << '\n';
    return exit_stuck;
  } catch (const InputError& error) {
    streams.log << "sgdsim: " << printable(error.what()) << '\n';
    return exit_bad_input;
  } catch (const LimitReached& limit) {
    streams.log << "sgdsim: " << limit.what() << '\n';
    return exit_stuck;
  } catch (const Interrupted& interrupted) {
    streams.log << "sgdsim: " << interrupted.what() << '\n';
    return exit_interrupted;
  } catch (const std::bad_alloc&) {
    streams.log << "sgdsim: failed: there is not enough memory\n";
    return exit_failure;
  } catch (const std::exception& error) {
    streams.log << "sgdsim: failed: " << printable(failure_text(error)) << '\n';
    return exit_failure;
  }
  if (!streams.out.flush()) {
    streams.log << "sgdsim: the output could not be written\n";
    return exit_failure;
  }
  return exit_code;
}

}  // namespace sgdsim
