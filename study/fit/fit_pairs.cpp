// Series "from 0 to 1" and "between 0 and 1, both ways" into lines, and lines into a cluster.
#include "study/fit/fit_pairs.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "sim/core/error.h"
#include "sim/core/fields.h"
#include "sim/core/quantity.h"
#include "study/fit/fit_checks.h"
#include "study/fit/fit_report.h"
#include "study/fit/fit_series.h"
#include "study/table.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

constexpr double shared_ways = 1.1;  // from there on a warning says that directions share

const std::set<std::string> of_links{
    "--gamma",  "--start",     "--segments",  "--into",    "--inside",    "--link",
    "--case",   "--crossings", "--report",    "--set",     "--holdout",   "--algorithm",
    "--option", "--cluster",   "--operation", "--network", "--rendezvous"};

struct Ends {
  int from = 0;
  int to = 0;
  bool both_ways = false;
};

// Of the names that sgdsim-calibrate gives; nothing of other copies.
std::optional<Ends> ends_of(const Series& series) {
  Ends ends;
  int used = -1;
  const std::string& name = series.algorithm;
  if (std::sscanf(name.c_str(), "from %d to %d%n", &ends.from, &ends.to, &used) != 2 || used < 0) {
    ends.both_ways = true;
    used = -1;
    if (std::sscanf(name.c_str(), "between %d and %d, both ways%n", &ends.from, &ends.to, &used) !=
            2 ||
        used < 0)
      return std::nullopt;
  }
  const bool is_whole = used == static_cast<int>(name.size());
  if (series.operation != "copy" || !is_whole || ends.from == ends.to || ends.from < 0 ||
      ends.to < 0)
    return std::nullopt;
  return ends;
}

void check_ends(const Series& series, const Ends& ends) {
  if (ends.from >= series.ranks || ends.to >= series.ranks)
    throw InputError("--from-collective", "\"" + series.algorithm + "\" is not among " +
                                              std::to_string(series.ranks) + " ranks");
}

using Pairs = std::map<std::pair<int, int>, const Series*>;

struct Found {
  int ranks = 0;
  Pairs one_way;
  Pairs both_ways;  // the smaller rank first
};

void put(Pairs& pairs, std::pair<int, int> ends, const Series& series) {
  const auto [place, is_new] = pairs.emplace(ends, &series);
  if (is_new) return;
  throw InputError(series.note == place->second->note ? "--placement" : "--note",
                   "a pair was measured in several ways: " + kinds_of({*place->second, series}) +
                       "; choose one");
}

// Copy engines are taken where the multiprocessors copied, too, and nobody chose.
bool is_left(const FitArguments& arguments, const Series& series, bool has_engines) {
  return arguments.note.empty() && has_engines && !series.note.empty();
}

Found found_in(const FitArguments& arguments, const std::vector<Series>& all) {
  Found found;
  const bool has_engines = std::any_of(all.begin(), all.end(), [](const Series& series) {
    return ends_of(series) && series.note.empty();
  });
  for (const Series& series : all) {
    const auto ends = ends_of(series);
    if (!ends || is_left(arguments, series, has_engines)) continue;
    check_ends(series, *ends);
    if (found.ranks > 0 && series.ranks != found.ranks)
      throw InputError("--ranks", "pairs among " + std::to_string(found.ranks) + " and among " +
                                      std::to_string(series.ranks) + " ranks; choose one");
    found.ranks = series.ranks;
    if (ends->both_ways)
      put(found.both_ways, std::minmax(ends->from, ends->to), series);
    else
      put(found.one_way, {ends->from, ends->to}, series);
  }
  if (found.one_way.empty())
    throw InputError("--from-collective",
                     "no message \"from 0 to 1\" was measured; sgdsim-calibrate --probe pairs "
                     "measures them. There are: " +
                         kinds_of(all));
  return found;
}

std::vector<FitRow> rows_of(const Series& series) {
  std::vector<FitRow> rows;
  for (const MeasuredPoint& point : series.points) {
    rows.push_back(
        curve_row(static_cast<double>(point.size.count()), static_cast<double>(point.time.ps())));
    rows.back().weight = weight_of_row(point.error);
  }
  return rows;
}

Fit line_of(const Series& series) {
  try {
    return fit_pieces(rows_of(series), 1);
  } catch (const InputError& error) {
    throw InputError(kinds_of({series}), error.what());
  }
}

std::optional<double> both_ways_of(const Found& found, int from, int to) {
  const auto both = found.both_ways.find(std::minmax(from, to));
  if (both == found.both_ways.end()) return std::nullopt;
  const MeasuredPoint& last = both->second->points.back();
  for (const MeasuredPoint& alone : found.one_way.at({from, to})->points)
    if (alone.size == last.size) return last.time.s() / alone.time.s();
  return std::nullopt;
}

void check_whole(const Found& found) {
  const auto ranks = static_cast<std::size_t>(found.ranks);
  const std::size_t missing = ranks * (ranks - 1) - found.one_way.size();
  if (missing == 0) return;
  int from = 0;
  int to = 1;
  while (found.one_way.contains({from, to})) {
    if (++to == from) ++to;
    if (to >= found.ranks) ++from, to = 0;
  }
  throw InputError("--from-collective", std::to_string(missing) +
                                            " of all pairs were not measured, as " +
                                            std::to_string(from) + " to " + std::to_string(to) +
                                            "; a cluster needs all of them");
}

std::string vertex_of(int rank) { return "gpu" + std::to_string(rank); }

std::string link_name(const MeasuredPair& pair) {
  return std::to_string(pair.from) + "_to_" + std::to_string(pair.to);
}

Json cluster_of(const PairsFit& fit, const Found& found) {
  Json vertices = Json::array();
  for (int rank = 0; rank < fit.ranks; ++rank)
    vertices.push_back({{"name", vertex_of(rank)}, {"kind", "gpu"}, {"forwards", false}});
  Json links = Json::object();
  Json edges = Json::array();
  for (const MeasuredPair& pair : fit.pairs) {
    links[link_name(pair)] = {{"latency", to_text(Duration::nearest_ps(1e6 * pair.alpha_us))},
                              {"bandwidth", to_text(Bandwidth::Bps(1e9 * pair.GBps))}};
    edges.push_back({{"from", vertex_of(pair.from)},
                     {"to", vertex_of(pair.to)},
                     {"link", link_name(pair)},
                     {"one_way", true}});
  }
  const Series& any = *found.one_way.begin()->second;
  std::string source = "Messages between all pairs";
  if (!any.placement.empty()) source += " (" + any.placement + ")";
  source += ", fitted by sgdsim fit to";
  for (const std::string& one : fit.sources)
    source += (&one == &fit.sources.front() ? " " : ", ") + one;
  return {{"schema", "sgdsim/cluster/1"},
          {"name", fit.name},
          {"source", source},
          {"shape", "explicit"},
          {"gpus_per_node", fit.ranks},
          {"vertices", vertices},
          {"links", links},
          {"edges", edges}};
}

void note_shared_ways(PairsFit& fit) {
  const MeasuredPair* most = nullptr;
  std::size_t shared = 0;
  for (const MeasuredPair& pair : fit.pairs) {
    if (!pair.both_ways || *pair.both_ways < shared_ways) continue;
    ++shared;
    if (most == nullptr || *pair.both_ways > *most->both_ways) most = &pair;
  }
  if (most == nullptr) return;
  fit.notes.push_back("both directions slow each other down between " + std::to_string(shared) +
                      " of " + std::to_string(fit.pairs.size()) + " pairs, most between " +
                      std::to_string(most->from) + " and " + std::to_string(most->to) + " (" +
                      rounded(*most->both_ways, 3) + " times as long); in the cluster they do not");
}

}  // namespace

bool is_of_pairs(const FitArguments& arguments) { return arguments.from_collective == "pairs"; }

PairsFit fit_pairs(const FitArguments& arguments) {
  refuse_given(arguments, of_links);
  FitAnswer read;
  read.name = arguments.name;
  ReadSeries series = read_series(arguments, read);
  keep_sizes(series.chosen, arguments);
  PairsFit fit;
  fit.name = read.name.empty() ? "pairs" : read.name;
  fit.sources = read.sources;
  fit.notes = read.notes;
  const Found found = found_in(arguments, series.chosen);
  check_whole(found);
  fit.ranks = found.ranks;
  std::vector<double> errors;
  for (const auto& [ends, one] : found.one_way) {
    const Fit line = line_of(*one);
    const FitPiece& piece = line.pieces.front();
    if (piece.beta_ps.value <= 0)
      throw InputError(kinds_of({*one}), "takes no time per byte; measure larger messages, too");
    fit.pairs.push_back({.from = ends.first,
                         .to = ends.second,
                         .alpha_us = piece.alpha_ps.value / 1e6,
                         .GBps = 1e3 / piece.beta_ps.value,
                         .rms = line.rms,
                         .both_ways = both_ways_of(found, ends.first, ends.second)});
    for (const double error : errors_of(line, rows_of(*one))) errors.push_back(error);
  }
  fit.errors = summary_of(errors);
  note_shared_ways(fit);
  fit.file = cluster_of(fit, found);
  read_cluster(Value(fit.file, "the fitted cluster", ""));
  return fit;
}

Fields fields_of(const MeasuredPair& one) {
  return {{"from", one.from, "the rank that sends"},
          {"to", one.to, "the rank that receives"},
          Field("alpha_us", one.alpha_us, "start-up of a message").at_least(0),
          Field("bandwidth_GBps", one.GBps, "bytes of a message over its time, without its start")
              .at_least(0),
          Field("rms_percent", 100 * one.rms, "of the line's relative errors").at_least(0),
          Field("both_ways", one.both_ways,
                "times as long with a message the other way; of the largest size")
              .at_least(0)};
}

Fields fields_of(const PairsFit& fit) {
  return {answer_kind("sgdsim/pairs-fit/1"),
          {"name", fit.name, "name of --name, or the file"},
          {"sources", fit.sources, "what was fitted"},
          {"ranks", fit.ranks, "among how many"},
          {"pairs", fit.pairs, "each pair and direction"},
          Field("median_percent", 100 * fit.errors.median, "of the lines' errors on their rows")
              .at_least(0),
          Field("max_percent", 100 * fit.errors.max, "the largest of them").at_least(0),
          {"warnings", fit.notes, "what was left out, and what the answer rests on"}};
}

Json to_json(const PairsFit& fit) { return to_json_by_fields(fit); }
Json schema_of_pairs_fits() { return schema_of_record<PairsFit>(); }

void print(std::ostream& out, const PairsFit& fit) {
  const auto table_of = [&](const char* what, const auto& cell) {
    std::vector<std::string> head{what};
    for (int to = 0; to < fit.ranks; ++to) head.push_back("to " + std::to_string(to));
    Table table(head);
    std::size_t next = 0;
    for (int from = 0; from < fit.ranks; ++from) {
      std::vector<std::string> row{"from " + std::to_string(from)};
      for (int to = 0; to < fit.ranks; ++to)
        row.push_back(from == to ? "-" : cell(fit.pairs[next++]));
      table.add(row);
    }
    table.print(out);
  };
  out << fit.name << ": a link for each of " << fit.pairs.size() << " pairs, median error "
      << rounded(100 * fit.errors.median, 3) << " %\n\n";
  table_of("GB/s", [](const MeasuredPair& pair) { return rounded(pair.GBps); });
  out << '\n';
  table_of("start-up", [](const MeasuredPair& pair) { return short_duration(pair.alpha_us); });
}

}  // namespace sgdsim
