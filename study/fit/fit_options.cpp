// What may be asked of a fit, and which questions make no sense.
#include <algorithm>
#include <array>
#include <tuple>

#include "models/collective/network_defaults.h"
#include "models/collective/options.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"
#include "sim/core/refusal.h"
#include "study/collective/ranges.h"
#include "study/fit/fit_network.h"
#include "study/fit/fit_question.h"
#include "traces/measurement/registry.h"

namespace sgdsim {
namespace {

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const MeasurementFormat& format : measurement_formats) names.emplace_back(format.name);
  return names;
}

// "key=value" as an option of the algorithm, or nothing if it is one of another algorithm.
bool add_option(const std::string& text, const Algorithm& algorithm, CollectiveOptions& options) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    throw InputError("--option", "expected key=value, got \"" + text + "\"");
  CollectiveOptions with = options;
  set_option(with, text.substr(0, equals), text.substr(equals + 1), "--option");
  try {
    check_option_applies(algorithm, with, text.substr(0, equals), "--option");
  } catch (const InputError&) {
    return false;
  }
  options = with;
  return true;
}

}  // namespace

int pieces_of(const FitArguments& arguments) {
  if (arguments.pieces == "auto") return 0;
  return static_cast<int>(parse_whole(arguments.pieces, 1, most_pieces, "--segments"));
}

std::optional<int> ranks_of(const std::string& text, const std::string& where) {
  if (text.empty()) return std::nullopt;
  return static_cast<int>(parse_whole(text, 1, most_measured_ranks, where));
}

CollectiveOptions options_of(const FitArguments& arguments, const Algorithm& algorithm) {
  CollectiveOptions options;
  for (const std::string& option : arguments.options)
    if (!add_option(option, algorithm, options) && arguments.from_collective != "stated")
      throw InputError("--option", idle_word(option, "on " + arguments.from_collective));
  if (arguments.network.empty()) return options;
  const std::vector<std::string> given = options.given;
  options =
      with_network(options, named_in(network_kinds, "network", arguments.network, "--network"));
  options.given = given;
  return options;
}

std::vector<GivenOption> given_options(const FitArguments& arguments) {
  const FitArguments usual;
  const auto link = FitKind::link;
  const auto failures = FitKind::failures;
  std::vector<GivenOption> given;
  for (const auto& [option, is_given, of] :
       {std::tuple{"--from-collective", !arguments.from_collective.empty(), link},
        {"--option", !arguments.options.empty(), link},
        {"--gamma", !arguments.gamma.empty(), link},
        {"--start", !arguments.start.empty(), link},
        {"--network", !arguments.network.empty(), link},
        {"--rendezvous", !arguments.rendezvous.empty(), link},
        {"--segments", arguments.pieces != usual.pieces, link},
        {"--least-size", arguments.least_size != usual.least_size, link},
        {"--most-size", !arguments.most_size.empty(), link},
        {"--holdout", arguments.holdout != usual.holdout, link},
        {"--into", !arguments.into.empty(), link},
        {"--inside", !arguments.inside.empty(), link},
        {"--link", !arguments.link.empty(), link},
        {"--crossings", arguments.crossings != usual.crossings, link},
        {"--case", !arguments.case_file.empty(), link},
        {"--report", !arguments.report.empty(), link},
        {"--operation", !arguments.operation.empty(), link},
        {"--ranks", !arguments.ranks.empty(), link},
        {"--algorithm", !arguments.algorithm.empty(), link},
        {"--group", !arguments.group.empty(), link},
        {"--in-place", arguments.in_place, link},
        {"--input", !arguments.input.empty(), FitKind::series},
        {"--type", !arguments.type.empty(), FitKind::series},
        {"--placement", !arguments.placement.empty(), FitKind::series},
        {"--note", !arguments.note.empty(), FitKind::series},
        {"--cluster", !arguments.cluster.empty(), FitKind::nccl},
        {"--set", !arguments.settings.empty(), FitKind::nccl},
        {"--gpu", !arguments.gpu.empty(), FitKind::gpu},
        {"--units", !arguments.units.empty(), failures},
        {"--unit", !arguments.unit.empty(), failures},
        {"--since", !arguments.since.empty(), failures},
        {"--until", !arguments.until.empty(), failures}})
    if (is_given) given.push_back({option, of});
  return given;
}

void refuse_given(const FitArguments& arguments, const std::set<std::string>& refused) {
  for (const GivenOption& given : given_options(arguments))
    if (refused.contains(given.option) || given.of == FitKind::failures)
      throw no_effect(given.option, "with --from-collective " + arguments.from_collective);
}

namespace {

void check_link_into(const FitArguments& arguments) {
  if (!arguments.inside.empty() && arguments.into.empty())
    throw needs("--inside", "--into, the cluster whose links are fitted");
  if (!arguments.inside.empty() || arguments.from_collective == "hierarchical") {
    refuse_idle({{"--crossings", arguments.crossings != 1},
                 {"--gamma", !arguments.gamma.empty()},
                 {"--start", !arguments.start.empty()}},
                "here: the cluster says how often links are used, with `reduce` of its links and "
                "its `start`");
  }
  if (arguments.into.empty()) {
    return refuse_idle(
        {{"--link", !arguments.link.empty()}, {"--crossings", arguments.crossings != 1}},
        "without --into");
  }
  if (arguments.from_collective.empty()) throw no_effect("--into", "without --from-collective");
  if (arguments.link.empty()) throw needs("--into", "--link, which link it is");
  if (arguments.out.empty()) throw needs("--into", "--out, where the cluster goes");
  if (!arguments.case_file.empty())
    throw InputError("--case", "judges the fitted link by itself; fit once more without --into");
}

}  // namespace

void check(const FitArguments& arguments) {
  for (const GivenOption& given : given_options(arguments))
    if (given.of == FitKind::failures)
      throw InputError(given.option, "is for a log of failures, with the columns time and cause");
    else if (given.of == FitKind::nccl && arguments.from_collective != "nccl")
      throw InputError(given.option,
                       "is for --from-collective nccl; a link is put into a cluster by --into");
  check_link_into(arguments);
  pieces_of(arguments);
  ranks_of(arguments.ranks, "--ranks");
  if (!arguments.start.empty()) parse_duration(arguments.start, "--start");
  check_network(arguments);
  const std::string& holdout = arguments.holdout;
  if (holdout != "sizes" && holdout != "none" && holdout != "ranks" &&
      !holdout.starts_with("ranks="))
    throw InputError("--holdout",
                     "expected sizes, none, ranks or ranks=N,..., got \"" + holdout + "\"");
  const auto is_output = [](const std::string& file) { return file == "-"; };
  const std::array outputs{arguments.out, arguments.case_file, arguments.report};
  if (std::count_if(outputs.begin(), outputs.end(), is_output) > 1)
    throw InputError("--out, --case, --report", "standard output holds one of them only");
  const auto& known = measured_operations();
  if (!arguments.operation.empty() &&
      std::find(known.begin(), known.end(), arguments.operation) == known.end())
    throw InputError("--operation", unknown_name("operation", arguments.operation, known));
  if (arguments.from_collective == "nccl") return;
  if (!arguments.from_collective.empty()) {
    // Names and options are checked before any file is read.
    const bool as_stated = arguments.from_collective == "stated";
    const std::string name = as_stated ? "ring" : arguments.from_collective;
    options_of(arguments, algorithm_named(name, "--from-collective"));
    return;
  }
  refuse_idle({{"--gamma", !arguments.gamma.empty()},
               {"--start", !arguments.start.empty()},
               {"--network", !arguments.network.empty()},
               {"--rendezvous", !arguments.rendezvous.empty()},
               {"--case", !arguments.case_file.empty()},
               {"--option", !arguments.options.empty()}},
              "without --from-collective");
  if (holdout.starts_with("ranks"))
    throw needs("--holdout", "--from-collective: a curve says nothing about other counts", "ranks");
}

Fields fit_fields(FitArguments& arguments) {
  return {
      Field("file", arguments.files, "measurement files and logs; - is standard input")
          .needed()
          .files(FileWords::or_content)
          .option("FILE"),
      Field("input", arguments.input, "input format (default: detected from the content)")
          .one_of(format_names()),
      Field("operation", arguments.operation,
            "operation, if the log does not state it; also selects one of several")
          .option("--operation,--op"),
      Field("ranks", arguments.ranks,
            "number of ranks, if the log does not state it; also selects one of several")
          .option("-p,--ranks"),
      Field("algorithm", arguments.algorithm, "select one of several algorithms")
          .option("-a,--algorithm"),
      {"type", arguments.type, "select one of several data types"},
      {"group", arguments.group,
       "select one of several communicators or process groups, or those of a name"},
      {"placement", arguments.placement,
       "select one of several placements of ranks, e.g. \"GPUs\""},
      {"note", arguments.note, "select series whose note holds this text, e.g. \"calls in a row\""},
      {"in_place", arguments.in_place, "use the in-place columns of nccl-tests"},
      {"from_collective", arguments.from_collective,
       "fit the link below the collectives, assuming this algorithm for all of them, or for each "
       "the one that its file states (stated); nccl: fit the constants of NCCL's own model; pairs: "
       "a "
       "link for every pair of ranks"},
      {"option", arguments.options,
       "key=value of that algorithm, one of `sgdsim list options`; of NCCL's model: generation, "
       "gpu_link, nvls, collnet, nics, cpu"},
      Field("cluster", arguments.cluster,
            "nccl: the cluster that was measured, which --out holds with its constants")
          .option("-c,--cluster"),
      {"set", arguments.settings,
       "nccl: change a field of the cluster: nodes=16, nics_per_node=4, nic.bandwidth=100Gbps"},
      {"gamma", arguments.gamma,
       "time to reduce one byte, if known (default: fitted if the data determines it)"},
      {"start", arguments.start,
       "time that a run costs once, beside its messages, if known (default: fitted if the data "
       "determines it)"},
      {"network", arguments.network,
       "what sent the messages: tcp, mpi, gloo, nccl or paper, which the cluster then says, and by "
       "which sgdsim takes them to share ports"},
      {"rendezvous", arguments.rendezvous,
       "from which size on messages wait for an answer of the receiver, as MPI's do: a size, auto "
       "or off (default: auto with --network mpi, else off)"},
      {"segments", arguments.pieces, "number of segments: 1, 2, 3, 4 or auto (default)"},
      {"least_size", arguments.least_size, "leave out smaller sizes (default: 4 B)"},
      {"most_size", arguments.most_size, "leave out larger sizes (default: none)"},
      {"holdout", arguments.holdout,
       "rows that a second fit leaves out and must predict: sizes (default: every other size), "
       "ranks (the larger half of their counts), ranks=N,... or none"},
      {"name", arguments.name, "name stored in the --out file"},
      {"into", arguments.into,
       "cluster file to copy to --out, with the fitted link in place of --link"},
      {"link", arguments.link, "link of --into to replace, e.g. nic or gpu_link"},
      Field("inside", arguments.inside,
            "measurements inside a node: fit gpu_link of --into to them first")
          .files(FileWords::or_content),
      Field("crossings", arguments.crossings,
            "times that a message crosses this link between two ranks (default: 1)")
          .from(1, 1000),
      {"units", arguments.units,
       "of a log of failures: how many units it is of, with those that never failed"},
      {"unit", arguments.unit,
       "of a log of failures: what its units are: node (default), gpu, link, leaf or job"},
      {"since", arguments.since, "of a log of failures: when it begins, as 2026-03-01"},
      {"until", arguments.until, "of a log of failures: when it ends"},
      {"gpu", arguments.gpu,
       "a GPU of `sgdsim list gpus`, or a GPU file: write it with the products, memory and kernels "
       "that sgdsim-calibrate measured, and the attention that calibrate/time_attention.py did"}};
}

}  // namespace sgdsim
