// Processes for tests: forked, with the stand-in of MPI between them.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/json.h"

namespace sgdsim::mpi_on_host {

// What a test asks of one process. Calls of MPI are numbered from 1; those that ask in vain are not
// counted.
struct Behaviour {
  static constexpr int never = std::numeric_limits<int>::max();
  int fails_at = never;  // this call answers with an error
  bool fails_for_ever = false;
  int hangs_at = never;        // from this call on nothing arrives and nothing leaves
  int dies_at = never;         // kill -9
  int interrupted_at = never;  // SIGTERM
  int damages_at = never;      // a byte of the next message of 300 B or more that is sent
  int looks = 0;               // how often a message that has come is not there yet
  int node = 0;
};

struct Answered {
  int exit_code = 0;      // 128 + signal of one that was killed
  int calls = 0;          // of MPI
  bool has_left = false;  // by MPI_Finalize
  std::string log;
};

struct Ran {
  std::vector<Answered> processes;
  std::optional<Json> record;  // of --out, if it was written
};

// sgdsim-calibrate with these words and --mpi in as many processes as there are behaviours;
// `before` is called in each. A process that does not end within 120 s is killed.
Ran run_processes(
    const std::vector<Behaviour>& behaviours, std::vector<std::string> words,
    const std::function<void(int process)>& before = [](int) {});

}  // namespace sgdsim::mpi_on_host
