// The commands of `sgdsim`: one file and one line each.
//
// A command adds its options to the parser and, if it is the one that was called, does its work in
// its callback: results go to `out`, everything else to `log`. Bad input is an InputError, which
// the program turns into exit code 2; a command whose result is a verdict sets `exit_code`.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "study/answer.h"

namespace CLI {
class App;
}

namespace sgdsim {

struct Streams {
  std::ostream& out;
  std::ostream& log;
};

void add_collective_command(CLI::App& program, Streams streams);
void add_run_command(CLI::App& program, Streams streams);
void add_plan_command(CLI::App& program, Streams streams);
void add_advise_command(CLI::App& program, Streams streams);
void add_learn_command(CLI::App& program, Streams streams, int& exit_code);
void add_sweep_command(CLI::App& program, Streams streams, int& exit_code);
void add_merge_command(CLI::App& program, Streams streams, int& exit_code);
void add_tune_command(CLI::App& program, Streams streams, int& exit_code);
void add_replay_command(CLI::App& program, Streams streams, int& exit_code);
void add_traffic_command(CLI::App& program, Streams streams, int& exit_code);
void add_diagnose_command(CLI::App& program, Streams streams);
void add_compare_command(CLI::App& program, Streams streams, int& exit_code);
void add_jobs_command(CLI::App& program, Streams streams);
Json schema_of_lists();  // sgdsim/list/1
void add_list_command(CLI::App& program, Streams streams);
void add_schema_command(CLI::App& program, Streams streams);
void add_report_command(CLI::App& program, Streams streams);
void add_plot_command(CLI::App& program, Streams streams);
void add_fit_command(CLI::App& program, Streams streams);
void add_export_command(CLI::App& program, Streams streams);
void add_import_command(CLI::App& program, Streams streams);
void add_model_command(CLI::App& program, Streams streams);
void add_layout_command(CLI::App& program, Streams streams, int& exit_code);
void add_need_command(CLI::App& program, Streams streams);
void add_goodput_command(CLI::App& program, Streams streams, int& exit_code);
void add_trace_command(CLI::App& program, Streams streams, int& exit_code);
void add_completion_command(CLI::App& program, Streams streams);
void add_validate_command(CLI::App& program, Streams streams, int& exit_code);

// The whole program: parses, runs, and returns the exit code.
int run_program(const std::vector<std::string>& arguments, Streams streams);

}  // namespace sgdsim
