// The command line of sgdsim-calibrate: its options, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "calibrate/measure.h"
#include "calibrate/tasks/tasks.h"

namespace sgdsim::calibrate {

struct Arguments {
  std::string backend = "cuda";
  std::string devices;
  std::string ranks = "2";
  bool has_ranks = false;
  bool mpi = false;
  std::string probes = "collectives";
  std::string algorithms;
  std::string operations;
  std::string types = "float32";
  std::string from = "1 KiB";
  std::string to = "16 MiB";
  int per_doubling = 1;
  std::string blocks = "64 KiB";
  bool overlap = false;
  std::string nccl_algorithms;
  std::string nccl_protocols;
  std::string nccl_channels;
  std::string shapes;
  double density = 0.001;
  std::string cache = "warm";
  double error_percent = 2;
  std::size_t least = 30;
  std::size_t most = 200;
  std::string time_limit;
  std::string patience = "60 s";
  bool verify_only = false;
  bool quiet = false;
  std::string name;
  std::string out = "-";
  bool force = false;
};

void add_options(CLI::App& program, Arguments& arguments);
// InputError with the option that is wrong.
Request request_of(const Arguments& arguments, int processes);
MeasureOptions options_of(const Arguments& arguments);
// Words between commas; of numbers, each within these bounds.
std::vector<std::string> words_of(const std::string& list);
std::vector<int> numbers_of(const std::string& list, int least, int most, const std::string& where);

}  // namespace sgdsim::calibrate
