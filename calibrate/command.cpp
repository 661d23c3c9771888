// Reads the command line, measures, writes the measurement file.
#include "calibrate/command.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cctype>
#include <optional>

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

namespace sgdsim::calibrate {
namespace {

constexpr int exit_failure = 1;
constexpr int exit_bad_input = 2;
constexpr int exit_incomplete = 3;
constexpr int exit_interrupted = 130;
constexpr double most_memory_B = 256e9;

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

// As NCCL's environment spells them, whatever the case.
std::string nccl_name(const std::string& word, const std::vector<std::string>& known,
                      const std::string& what, const std::string& where) {
  const auto lower = [](std::string text) {
    for (char& letter : text) letter = static_cast<char>(std::tolower(letter));
    return text;
  };
  for (const std::string& name : known)
    if (lower(name) == lower(word)) return name;
  throw InputError(where, unknown_name(what, word, known));
}

// Every combination of what was named; NCCL's own choice where nothing was.
std::vector<LibrarySetting> settings_of(const Arguments& arguments) {
  std::vector<std::string> algorithms;
  for (const std::string& word : words_of(arguments.nccl_algorithms))
    algorithms.push_back(nccl_name(word, {"Ring", "Tree", "NVLS", "NVLSTree", "CollnetDirect",
                                          "CollnetChain", "PAT"},
                                   "algorithm of NCCL", "--nccl-algorithm"));
  std::vector<std::string> protocols;
  for (const std::string& word : words_of(arguments.nccl_protocols))
    protocols.push_back(
        nccl_name(word, {"LL", "LL128", "Simple"}, "protocol of NCCL", "--nccl-protocol"));
  std::vector<int> channels = numbers_of(arguments.nccl_channels, 1, 64, "--nccl-channels");
  if (algorithms.empty()) algorithms.emplace_back();
  if (protocols.empty()) protocols.emplace_back();
  if (channels.empty()) channels.push_back(0);
  std::vector<LibrarySetting> settings;
  for (const std::string& algorithm : algorithms)
    for (const std::string& protocol : protocols)
      for (const int count : channels) settings.push_back({algorithm, protocol, count});
  return settings;
}

Request request_of(const Arguments& arguments, int processes) {
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
    for (const auto& [is_given, option] :
         {std::pair(!request.algorithms.empty(), "--algorithm"),
          std::pair(!request.operations.empty(), "--operation"),
          std::pair(!arguments.nccl_algorithms.empty(), "--nccl-algorithm"),
          std::pair(!arguments.nccl_protocols.empty(), "--nccl-protocol"),
          std::pair(!arguments.nccl_channels.empty(), "--nccl-channels")})
      if (is_given) throw InputError(option, "has no effect without --probe collectives");
  const std::string ranks =
      arguments.has_ranks ? arguments.ranks : std::to_string(std::clamp(processes, 2, most_ranks));
  some_words_of(ranks, "--ranks");
  request.ranks = numbers_of(ranks, 2, most_ranks, "--ranks");
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
  request.library = settings_of(arguments);
  request.density = arguments.density;
  const double largest = static_cast<double>(request.sizes_B.back());
  const int most = *std::max_element(request.ranks.begin(), request.ranks.end());
  if (3 * largest * most > most_memory_B)
    throw InputError("--to",
                     "needs more than 256 GB of memory for " + std::to_string(most) + " ranks");
  for (const char* probe : {"gtopk", "top_k"})
    if (largest / 2 >= 4294967295. &&
        std::find(request.probes.begin(), request.probes.end(), probe) != request.probes.end())
      throw InputError("--to",
                       std::string(probe) + " numbers its entries with 32 bits; at most 8 GiB");
  return request;
}

// CLI::Range takes "nan", which is neither too small nor too large.
CLI::Validator range(double least, double most) {
  return {[least, most](std::string& text) {
            double number = std::nan("");
            const bool is_number = CLI::detail::lexical_cast(text, number);
            if (is_number && number >= least && number <= most) return std::string();
            return "expected a number from " + number_text(least) + " to " + number_text(most) +
                   ", got \"" + text + "\"";
          },
          ""};
}

void add_options(CLI::App& program, Arguments& arguments) {
  program.add_option("--backend", arguments.backend,
                     "cuda (default) or host: threads of this machine");
  program.add_option("--device", arguments.devices, "GPUs to use, e.g. 0,1 (default: all)");
  program.add_option(
      "-p,--ranks", arguments.ranks,
      "numbers of ranks, e.g. 2,4,8 (default: 2, or one a process); ranks share GPUs if there are "
      "fewer");
  program.add_flag("--mpi", arguments.mpi,
                   "this is one of several processes that mpirun or srun has started");
  program.add_option("--probe", arguments.probes,
                     "what to measure: collectives (default), gtopk, copy, pairs, fold, top_k, "
                     "compress, overhead, product, overlap");
  program.add_option("-a,--algorithm", arguments.algorithms,
                     "ring, mst, be, lp, direct, nccl (default: all that can run here)");
  program.add_option("--operation,--op", arguments.operations,
                     "operations to measure (default: all)");
  program.add_option("--type", arguments.types, "float32 (default), float16, bfloat16");
  program.add_option("--from", arguments.from, "smallest size (default: 1 KiB)");
  program.add_option("--to", arguments.to, "largest size (default: 16 MiB)");
  program.add_option("--per-doubling", arguments.per_doubling, "sizes per doubling (default: 1)")
      ->check(CLI::Range(1, 64).description(""));
  program.add_option("--block", arguments.blocks,
                     "block sizes of lp, e.g. 64KiB,1MiB (default: 64 KiB)");
  program.add_flag("--overlap", arguments.overlap, "lp: sum in a separate stream");
  program.add_option("--nccl-algorithm", arguments.nccl_algorithms,
                     "how NCCL is told to do it, e.g. ring,tree,nvls (default: as it likes)");
  program.add_option("--nccl-protocol", arguments.nccl_protocols,
                     "its protocols, e.g. ll,ll128,simple (default: as it likes)");
  program.add_option("--nccl-channels", arguments.nccl_channels,
                     "its numbers of channels, e.g. 2,8,16 (default: as it likes)");
  program
      .add_option("--density", arguments.density,
                  "gtopk, top_k: fraction of the entries kept (default: 0.001)")
      ->check(range(1e-9, 1));
  program.add_option("--cache", arguments.cache, "warm (default) or cold")
      ->check(CLI::IsMember({"warm", "cold"}));
  program
      .add_option("--error", arguments.error_percent,
                  "repeat until the median is known to this many percent (default: 2)")
      ->check(range(0.01, 100));
  program.add_option("--least", arguments.least, "minimum number of repetitions (default: 30)")
      ->check(CLI::Range(1, 1000000).description(""));
  program.add_option("--most", arguments.most, "maximum number of repetitions (default: 200)")
      ->check(CLI::Range(1, 1000000).description(""));
  program.add_option("--time-limit", arguments.time_limit,
                     "time limit of verification and repetitions together (default: 60 s; none "
                     "with --verify-only)");
  program.add_option(
      "--patience", arguments.patience,
      "give up what a GPU or another process has not ended within this time (default: "
      "60 s)");
  program.add_flag("--verify-only", arguments.verify_only, "check the results, measure no times");
  program.add_flag("-q,--quiet", arguments.quiet, "print no progress and no summary");
  program.add_option("--name", arguments.name,
                     "name stored in the measurement file (default: the backend)");
  program.add_option("-o,--out", arguments.out,
                     "measurement file to write (default: standard output)");
  program.add_flag("--force", arguments.force, "replace an output file that holds something else");
  program.footer(
      "Examples:\n"
      "  sgdsim-calibrate --backend host --ranks 2,4 --to \"1 MiB\" --time-limit \"5 s\" --out "
      "m.json\n"
      "  sgdsim-calibrate --ranks 8 --probe collectives,copy,fold --type float32,float16 --out "
      "m.json\n"
      "Then: sgdsim fit m.json --from-collective stated --out link.json");
}

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
    if (!arguments.devices.empty())
      throw InputError("--device", "has no effect with --backend host");
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
    if (!why_not.empty()) reasons.push_back("left out: " + text_of(task) + ": " + why_not);
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

MeasureOptions options_of(const Arguments& arguments) {
  MeasureOptions options;
  if (arguments.most < arguments.least)
    throw InputError("--most", "expected at least --least, which is " +
                                   std::to_string(arguments.least) + ", got " +
                                   std::to_string(arguments.most));
  options.rule = {arguments.error_percent / 100, arguments.least, arguments.most};
  options.cold = arguments.cache == "cold";
  options.verify_only = arguments.verify_only;
  options.time_limit_s = arguments.verify_only ? 1e9 : 60;
  if (!arguments.time_limit.empty())
    options.time_limit_s = parse_duration(arguments.time_limit, "--time-limit").s();
  return options;
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
