// Reads options into requests.
#include "calibrate/arguments.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "calibrate/tasks/pattern.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"
#include "sim/core/refusal.h"

namespace sgdsim::calibrate {

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from < list.size();) {
    const std::size_t end = std::min(list.find(',', from), list.size());
    words.push_back(list.substr(from, end - from));
    from = end + 1;
  }
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

namespace {

constexpr double most_memory_B = 256e9;

// Of a list that must name something.
std::vector<std::string> some_words_of(const std::string& list, const std::string& where) {
  std::vector<std::string> words = words_of(list);
  if (words.empty()) throw InputError(where, "expected at least one, got nothing");
  return words;
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
    algorithms.push_back(nccl_name(
        word, {"Ring", "Tree", "NVLS", "NVLSTree", "CollnetDirect", "CollnetChain", "PAT"},
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

ProductShape shape_of(const std::string& word) {
  std::string list = word;
  std::replace(list.begin(), list.end(), 'x', ',');
  const std::vector<int> sides = numbers_of(list, 1, 1 << 24, "--shape");
  if (sides.size() != 3 && sides.size() != 4)
    throw InputError("--shape",
                     "expected rows x columns x inner, as 4096x14336x512, and how many of them, as "
                     "512x4096x1024x8, got \"" +
                         word + "\"");
  const ProductShape shape{sides[0], sides[1], sides[2], sides.size() == 4 ? sides[3] : 1};
  const double most_B = 4. * static_cast<double>(shape.groups) *
                        (static_cast<double>(shape.rows) * static_cast<double>(shape.inner) +
                         static_cast<double>(shape.inner) * static_cast<double>(shape.columns) +
                         static_cast<double>(shape.rows) * static_cast<double>(shape.columns));
  if (most_B > most_memory_B)
    throw InputError("--shape", "\"" + word + "\" needs more than 256 GB of memory");
  // Its sums must be exact in every type: whole numbers up to that are.
  if (shape.inner > 1 << 16)
    throw InputError("--shape", "expected at most 65536 inside, got \"" + word + "\"");
  return shape;
}

}  // namespace

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
    refuse_idle({{"--algorithm", !request.algorithms.empty()},
                 {"--operation", !request.operations.empty()},
                 {"--nccl-algorithm", !arguments.nccl_algorithms.empty()},
                 {"--nccl-protocol", !arguments.nccl_protocols.empty()},
                 {"--nccl-channels", !arguments.nccl_channels.empty()}},
                "without --probe collectives");
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
  request.settings = settings_of(arguments);
  for (const std::string& word : words_of(arguments.shapes))
    request.shapes.push_back(shape_of(word));
  if (!request.shapes.empty() &&
      std::find(request.probes.begin(), request.probes.end(), "product") == request.probes.end())
    throw no_effect("--shape", "without --probe product");
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
  program.add_option("--shape", arguments.shapes,
                     "product: rows x columns x inner, and how many, e.g. "
                     "4096x14336x512,512x4096x1024x8 (default: square ones of the sizes)");
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

}  // namespace sgdsim::calibrate
