// Reads the command line, measures, writes the measurement file.
#include "calibrate/command.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fstream>
#include <unistd.h>

#include "calibrate/record.h"
#include "calibrate/summary.h"
#include "calibrate/tasks/pattern.h"
#include "calibrate/tasks/tasks.h"
#include "calibrate/version.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"

namespace sgdsim::calibrate {
namespace {

constexpr int exit_failure = 1;
constexpr int exit_bad_input = 2;
constexpr int exit_interrupted = 130;
constexpr double most_memory_B = 256e9;

// The only thing that a signal handler may touch.
volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int) { interrupted = 1; }

struct Arguments {
  std::string backend = "cuda";
  std::string devices;
  std::string ranks = "2";
  std::string probes = "collectives";
  std::string algorithms;
  std::string operations;
  std::string types = "float32";
  std::string from = "1 KiB";
  std::string to = "16 MiB";
  int per_doubling = 1;
  std::string blocks = "64 KiB";
  bool overlap = false;
  double density = 0.001;
  std::string cache = "warm";
  double error_percent = 2;
  std::size_t least = 10;
  std::size_t most = 200;
  std::string time_limit = "60 s";
  bool verify_only = false;
  bool quiet = false;
  std::string name;
  std::string out = "-";
};

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from < list.size();) {
    const std::size_t end = std::min(list.find(',', from), list.size());
    words.push_back(list.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

// Of a list that must name something.
std::vector<std::string> some_words_of(const std::string& list, const std::string& where) {
  std::vector<std::string> words = words_of(list);
  if (words.empty()) throw InputError(where, "expected at least one, got nothing");
  return words;
}

std::vector<int> numbers_of(const std::string& list, int least, int most,
                            const std::string& where) {
  std::vector<int> numbers;
  for (const std::string& word : words_of(list)) {
    std::size_t used = 0;
    int number = least - 1;
    try {
      number = std::stoi(word, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used != word.size() || number < least || number > most)
      throw InputError(where, "expected whole numbers from " + std::to_string(least) + " to " +
                                  std::to_string(most) + ", as 2,4,8, got \"" + word + "\"");
    numbers.push_back(number);
  }
  return numbers;
}

void check_known(const std::vector<std::string>& words, const std::vector<std::string>& known,
                 const std::string& what, const std::string& where) {
  for (const std::string& word : words)
    if (std::find(known.begin(), known.end(), word) == known.end())
      throw InputError(where, unknown_name(what, word, known));
}

std::vector<int64_t> sizes_of(const Arguments& arguments) {
  const auto from_B = static_cast<double>(parse_bytes(arguments.from, "--from").count());
  const auto to_B = static_cast<double>(parse_bytes(arguments.to, "--to").count());
  if (from_B < 1 || to_B < from_B)
    throw InputError("--to", "expected sizes from 1 B on, and --to not below --from");
  std::vector<int64_t> sizes;
  for (int step = 0;; ++step) {
    const double size_B =
        std::round(from_B * std::exp2(static_cast<double>(step) / arguments.per_doubling));
    if (size_B > to_B) return sizes;
    sizes.push_back(static_cast<int64_t>(size_B));
  }
}

Request request_of(const Arguments& arguments) {
  Request request;
  request.probes = some_words_of(arguments.probes, "--probe");
  check_known(request.probes, probe_names(), "probe", "--probe");
  std::vector<std::string> algorithms;
  std::vector<std::string> operations;
  for (const CollectiveKind& kind : collective_kinds()) {
    algorithms.push_back(kind.algorithm);
    for (const std::string& operation : kind.operations)
      if (std::find(operations.begin(), operations.end(), operation) == operations.end())
        operations.push_back(operation);
  }
  request.algorithms = words_of(arguments.algorithms);
  check_known(request.algorithms, algorithms, "algorithm", "--algorithm");
  request.operations = words_of(arguments.operations);
  check_known(request.operations, operations, "operation", "--operation");
  if (const auto& probes = request.probes;
      std::find(probes.begin(), probes.end(), "collectives") == probes.end())
    for (const auto& [list, option] : {std::pair(&request.algorithms, "--algorithm"),
                                       std::pair(&request.operations, "--operation")})
      if (!list->empty()) throw InputError(option, "has no effect without --probe collectives");
  some_words_of(arguments.ranks, "--ranks");
  request.ranks = numbers_of(arguments.ranks, 2, most_ranks, "--ranks");
  request.types.clear();
  for (const std::string& name : some_words_of(arguments.types, "--type"))
    request.types.push_back(type_named(name, "--type"));
  request.sizes_B = sizes_of(arguments);
  request.blocks_B.clear();
  for (const std::string& block : some_words_of(arguments.blocks, "--block")) {
    request.blocks_B.push_back(parse_bytes(block, "--block").count());
    if (request.blocks_B.back() < 4) throw InputError("--block", "expected at least 4 B");
  }
  request.overlaps = arguments.overlap;
  request.density = arguments.density;
  const double largest = static_cast<double>(request.sizes_B.back());
  const int ranks = *std::max_element(request.ranks.begin(), request.ranks.end());
  if (3 * largest * ranks > most_memory_B)
    throw InputError("--to",
                     "needs more than 256 GB of memory for " + std::to_string(ranks) + " ranks");
  for (const char* probe : {"gtopk", "top_k"})
    if (largest / 2 >= 4294967295. &&
        std::find(request.probes.begin(), request.probes.end(), probe) != request.probes.end())
      throw InputError("--to",
                       std::string(probe) + " numbers its entries with 32 bits; at most 8 GiB");
  return request;
}

void add_options(CLI::App& program, Arguments& arguments) {
  program.add_option("--backend", arguments.backend,
                     "cuda (default) or host: threads of this machine");
  program.add_option("--device", arguments.devices, "GPUs to use, as 0,1; default all");
  program.add_option("-p,--ranks", arguments.ranks,
                     "how many take part, as 2,4,8; more than GPUs: virtual ranks share them");
  program.add_option(
      "--probe", arguments.probes,
      "what to measure: collectives (default), gtopk, copy, fold, top_k, compress, overhead");
  program.add_option("-a,--algorithm", arguments.algorithms,
                     "ring, mst, be, lp, nccl; default all that can run here");
  program.add_option("--operation,--op", arguments.operations, "default: all that there are");
  program.add_option("--type", arguments.types, "float32 (default), float16, bfloat16");
  program.add_option("--from", arguments.from, "the smallest size; 1 KiB");
  program.add_option("--to", arguments.to, "the largest size; 16 MiB");
  program.add_option("--per-doubling", arguments.per_doubling, "sizes per doubling; 1")
      ->check(CLI::Range(1, 64));
  program.add_option("--block", arguments.blocks, "block sizes of lp, as 64KiB,1MiB; 64 KiB");
  program.add_flag("--overlap", arguments.overlap, "lp sums in a stream of its own");
  program
      .add_option("--density", arguments.density,
                  "gtopk, top_k: the part of the entries that is kept; 0.001")
      ->check(CLI::Range(1e-9, 1.));
  program.add_option("--cache", arguments.cache, "warm (default) or cold")
      ->check(CLI::IsMember({"warm", "cold"}));
  program
      .add_option("--error", arguments.error_percent,
                  "repeat until the median is sure to so many percent; 2")
      ->check(CLI::Range(0.01, 100.));
  program.add_option("--least", arguments.least, "repetitions at least; 10")
      ->check(CLI::Range(1, 1000000));
  program.add_option("--most", arguments.most, "repetitions at most; 200")
      ->check(CLI::Range(1, 1000000));
  program.add_option("--time-limit", arguments.time_limit, "for all repetitions; 60 s");
  program.add_flag("--verify-only", arguments.verify_only, "check results and time nothing");
  program.add_flag("-q,--quiet", arguments.quiet, "no progress and no summary");
  program.add_option("--name", arguments.name, "of the measurement");
  program.add_option("-o,--out", arguments.out, "the measurement file; default standard output");
  program.footer(
      "Examples:\n"
      "  sgdsim-calibrate --backend host --ranks 2,4 --to \"1 MiB\" --time-limit \"5 s\" --out "
      "m.json\n"
      "  sgdsim-calibrate --ranks 8 --probe collectives,copy,fold --type float32,float16 --out "
      "m.json\n"
      "Then: sgdsim fit m.json --from-collective stated --out link.json");
}

std::string now() {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

// A line every ten seconds.
class Progress {
 public:
  Progress(std::ostream& log, bool quiet) : log_(log), quiet_(quiet) {}
  void operator()(const std::string& line) {
    const auto now = std::chrono::steady_clock::now();
    if (quiet_ || now - last_ < std::chrono::seconds(10)) return;
    last_ = now;
    log_ << "sgdsim-calibrate: " << line << '\n';
  }

 private:
  std::ostream& log_;
  bool quiet_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Before anything is measured: hours must not be lost to a misspelt folder.
void check_can_write(const std::string& file) {
  if (file != "-" && !std::ofstream(file, std::ios::app))
    throw InputError("--out", "cannot write " + file);
}

void write_text(const std::string& text, const std::string& file, std::ostream& out) {
  if (file == "-") {
    out << text;
    return;
  }
  std::ofstream stream(file);
  stream << text;
  if (!stream.flush()) throw InputError("--out", "cannot write " + file);
}

std::unique_ptr<Backend> backend_of(const Arguments& arguments) {
  if (arguments.backend == "host") {
    if (!arguments.devices.empty())
      throw InputError("--device", "has no effect with --backend host");
    return host_backend();
  }
  if (arguments.backend == "cuda")
    return cuda_backend(numbers_of(arguments.devices, 0, 1023, "--device"));
  throw InputError("--backend", unknown_name("backend", arguments.backend, {"cuda", "host"}));
}

// What was named must run; of the rest it is said why it is missing.
std::vector<std::string> leave_out_what_cannot_run(const Backend& backend,
                                                   const Arguments& arguments,
                                                   std::vector<Task>& tasks) {
  std::vector<std::string> reasons;
  std::erase_if(tasks, [&](const Task& task) {
    const std::string why_not = backend.why_not(task.plan, task.type);
    if (!why_not.empty() && !arguments.algorithms.empty())
      throw InputError("", text_of(task) + " cannot run: " + why_not);
    if (!why_not.empty()) reasons.push_back("left out: " + text_of(task) + ": " + why_not);
    return !why_not.empty();
  });
  if (tasks.empty()) throw InputError("", reasons.front());
  return reasons;
}

std::string verdict_on(const std::vector<Task>& tasks, const Outcome& outcome) {
  const auto right = std::count_if(outcome.points.begin(), outcome.points.end(),
                                   [](const Measured& point) { return point.verified; });
  std::string text =
      std::to_string(right) + " of " + std::to_string(tasks.size()) + " results are right";
  if (!outcome.is_complete) text += "; not all were checked";
  return text;
}

int measure_all(const Arguments& arguments, std::ostream& out, std::ostream& log) {
  std::vector<Task> tasks = tasks_of(request_of(arguments));
  MeasureOptions options;
  options.rule = {arguments.error_percent / 100, arguments.least,
                  std::max(arguments.least, arguments.most)};
  options.cold = arguments.cache == "cold";
  options.time_limit_s = parse_duration(arguments.time_limit, "--time-limit").s();
  options.verify_only = arguments.verify_only;
  const std::unique_ptr<Backend> backend = backend_of(arguments);
  const std::vector<std::string> left_out = leave_out_what_cannot_run(*backend, arguments, tasks);
  if (!options.verify_only) check_can_write(arguments.out);
  Progress progress(log, arguments.quiet);
  const Watcher watcher{[] { return interrupted != 0; },
                        [&](const std::string& line) { progress(line); }};
  const auto before = std::signal(SIGINT, on_interrupt);
  const Outcome outcome = measure(*backend, tasks, options, watcher);
  std::signal(SIGINT, before);
  for (const std::string& wrong : outcome.wrong) log << "sgdsim-calibrate: " << wrong << '\n';
  if (arguments.verify_only) {
    log << "sgdsim-calibrate: " << verdict_on(tasks, outcome) << '\n';
  } else {
    const std::string name = arguments.name.empty() ? backend->machine().backend : arguments.name;
    const Json record = record_of(*backend, tasks, outcome, {name, now(), options.cold, left_out});
    write_text(record.dump(1) + "\n", arguments.out, out);
    if (!arguments.quiet)
      for (const std::string& line :
           summary_of(tasks, outcome, [&](int ranks) { return backend->memories(ranks); }))
        log << line << '\n';
  }
  if (interrupted != 0) return exit_interrupted;
  return outcome.wrong.empty() ? 0 : exit_failure;
}

}  // namespace

int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& log) {
  CLI::App program(
      "Measures collectives and their parts on GPUs, or on the threads of this machine.");
  program.name("sgdsim-calibrate");
  program.set_version_flag("--version", "sgdsim-calibrate " + std::string(version_number) +
                                            " (commit " + std::string(version_commit) + ", CUDA " +
                                            (version_has_cuda ? "yes" : "no") + ")");
  Arguments options;
  add_options(program, options);
  try {
    program.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return measure_all(options, out, log);
  } catch (const CLI::Success& help) {
    program.exit(help, out, log);
    return 0;
  } catch (const CLI::ParseError& error) {
    log << "sgdsim-calibrate: " << error.what() << "\nsee: sgdsim-calibrate --help\n";
    return exit_bad_input;
  } catch (const InputError& error) {
    log << "sgdsim-calibrate: " << error.what() << '\n';
    return exit_bad_input;
  } catch (const std::exception& error) {
    log << "sgdsim-calibrate: failed: " << error.what() << '\n';
    return exit_failure;
  }
}

}  // namespace sgdsim::calibrate
