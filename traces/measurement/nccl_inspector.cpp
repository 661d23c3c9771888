// What NCCL's Inspector plug-in writes in a running job: JSON lines, one file a process.
//
//   {"header":{"id":"0x7f8c","comm_name":"dp","rank":2,"n_ranks":8,"nnodes":1},"metadata":{...},
//    "coll_perf":{"coll":"AllReduce","coll_sn":1407,"coll_msg_size_bytes":17179869184,
//    "coll_exec_time_us":61974,"coll_algobw_gbs":277.210914,"coll_busbw_gbs":485.119099}}
//
// The size of an all-gather or a reduce-scatter is that of one rank in some versions and of all
// ranks in others: the bandwidth of the same line tells which, and must agree with one of them. The
// plug-in leaves out small collectives and, unless told otherwise, those that no GPU timed, so that
// sequence numbers have gaps.
#include <algorithm>
#include <cmath>
#include <set>

#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"
#include "traces/json_members.h"
#include "traces/measurement/joined_ranks.h"
#include "traces/measurement/nccl_rows.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

constexpr double most_apart = 0.005;        // of two bandwidths that agree
constexpr double rounding_GBps = 0.000001;  // six decimals are printed
constexpr std::size_t longest_label = 120;
constexpr int64_t latest_stamp_us = int64_t{1} << 53;

// Of the communicator and the rank that wrote a line.
struct InspectorHeader {
  std::string id;
  std::string label;  // "dp 0x7f8c, 2 nodes"
  int ranks = 0;
  int rank = 0;
};

std::optional<InspectorHeader> header_of(const Json& line) {
  const auto found = line.find("header");
  if (found == line.end() || !found->is_object()) return std::nullopt;
  const auto ranks = whole_member(*found, "n_ranks", 1, most_measured_ranks);
  const auto rank = whole_member(*found, "rank", 0, most_measured_ranks);
  InspectorHeader header;
  header.id = text_member(*found, "id");
  if (!ranks || !rank || *rank >= *ranks || header.id.empty()) return std::nullopt;
  header.ranks = static_cast<int>(*ranks);
  header.rank = static_cast<int>(*rank);
  const std::string name = text_member(*found, "comm_name");
  if (!name.empty() && name != "unknown") header.label = name + " ";
  header.label += header.id;
  if (const auto nodes = whole_member(*found, "nnodes", 1, most_measured_ranks))
    header.label += ", " + counted(*nodes, "node");
  return header.label.size() <= longest_label ? std::optional(header) : std::nullopt;
}

// busbw is algbw times this.
double factor_of(const std::string& operation, int ranks) {
  const double others = 1 - 1 / static_cast<double>(ranks);
  if (operation == "allreduce") return 2 * others;
  if (operation == "broadcast" || operation == "reduce" || operation == "copy") return 1;
  return others;
}

bool is_divided(const std::string& operation) {
  return operation != "allreduce" && factor_of(operation, 2) != 1;
}

class InspectorReader {
 public:
  void read(const MeasuredText& text);
  void finish(Measurement& measurement);

 private:
  enum class Verdict { taken, broken, contradicts, other };
  Verdict read_line(const Json& line, const std::string& where);
  Verdict read_perf(const InspectorHeader& header, const Json& perf, const std::string& prefix,
                    const std::string& where);
  std::optional<Bytes> size_of(const std::string& operation, int ranks, int64_t size_B, double us,
                               std::optional<double> busbw_GBps, const std::string& where);
  void add_gaps(Measurement& measurement) const;

  RankJoin join_;
  std::string first_contradiction_;
  int64_t lines_ = 0;
  int64_t broken_ = 0;
  int64_t contradicting_ = 0;
  int64_t other_ = 0;
  int64_t cut_off_ = 0;
  int64_t by_processor_ = 0;
  int64_t per_rank_ = 0;
  int64_t in_all_ = 0;
  int64_t unchecked_ = 0;
};

// The size in the words of nccl-tests, empty if the line contradicts itself.
std::optional<Bytes> InspectorReader::size_of(const std::string& operation, int ranks,
                                              int64_t size_B, double us,
                                              std::optional<double> busbw_GBps,
                                              const std::string& where) {
  const double factor = factor_of(operation, ranks);
  const double as_printed_GBps = static_cast<double>(size_B) / us * factor / 1e3;
  const bool fits_int = size_B <= (int64_t{1} << 62) / ranks;
  const auto agrees = [&](double GBps) {
    return std::abs(GBps - *busbw_GBps) <= most_apart * GBps + rounding_GBps;
  };
  if (!busbw_GBps || factor == 0) {
    // Nothing tells the sizes apart; the plug-in's own rule is per rank.
    ++unchecked_;
    if (!is_divided(operation)) return Bytes(size_B);
    ++per_rank_;
    return fits_int ? std::optional(Bytes(size_B * ranks)) : std::nullopt;
  }
  if (is_divided(operation) && ranks > 1 && fits_int && agrees(as_printed_GBps * ranks)) {
    ++per_rank_;
    // Of all-to-all a rank sends what it receives: n parts of this size.
    return Bytes(size_B * ranks);
  }
  if (agrees(as_printed_GBps)) {
    if (is_divided(operation)) ++in_all_;
    return Bytes(size_B);
  }
  if (first_contradiction_.empty())
    first_contradiction_ = where + " states " + number_text(*busbw_GBps) +
                           " GB/s; its size, time and ranks give " + number_text(as_printed_GBps) +
                           " GB/s" +
                           (is_divided(operation) ? ", or " + number_text(as_printed_GBps * ranks) +
                                                        " GB/s if the size is that of one rank"
                                                  : "");
  return std::nullopt;
}

InspectorReader::Verdict InspectorReader::read_perf(const InspectorHeader& header, const Json& perf,
                                                    const std::string& prefix,
                                                    const std::string& where) {
  const auto key = [&](const char* name) { return prefix + name; };
  const bool is_copy = prefix == "p2p";
  const std::string name = lower(text_member(perf, prefix));
  const std::string operation = is_copy ? "copy" : nccl_operation_in(name);
  if (operation.empty() || (!is_copy && operation == "copy") ||
      (is_copy && name != "send" && name != "recv"))
    return Verdict::other;
  const auto number = whole_member(perf, key("_sn"), 0, INT64_MAX);
  const auto size_B = whole_member(perf, key("_msg_size_bytes"), 0, int64_t{1} << 62);
  const auto us = number_member(perf, key("_exec_time_us"));
  const auto peer =
      is_copy ? whole_member(perf, "p2p_peer", 0, header.ranks - 1) : std::optional<int64_t>(0);
  const auto time = us ? measured_time(*us) : std::nullopt;
  if (!number || !size_B || *size_B == 0 || !time || !peer) return Verdict::broken;
  const auto size =
      size_of(operation, header.ranks, *size_B, *us, number_member(perf, key("_busbw_gbs")), where);
  if (!size) return Verdict::contradicts;
  std::string algorithm = lower(text_member(perf, key("_algo")));
  if (algorithm == "unknown" || algorithm.size() > longest_label) algorithm.clear();
  RankEntry entry;
  entry.kind = join_.kind_of({operation, algorithm, "", header.label, is_copy ? 2 : header.ranks});
  entry.number = static_cast<uint64_t>(*number);
  entry.rank = header.rank;
  entry.size = *size;
  entry.time = *time;
  if (is_copy) {
    const auto from = static_cast<uint64_t>(name == "send" ? header.rank : *peer);
    const auto to = static_cast<uint64_t>(name == "send" ? *peer : header.rank);
    entry.part = from << 32U | to;
    entry.copied = *size;
  }
  if (const auto stamps = perf.find("event_trace_ts");
      stamps != perf.end() && stamps->is_object()) {
    entry.start_us = whole_member(*stamps, key("_start_ts"), 1, latest_stamp_us).value_or(0);
    entry.stop_us = whole_member(*stamps, key("_stop_ts"), 1, latest_stamp_us).value_or(0);
  }
  const std::string source = text_member(perf, key("_timing_source"));
  if (source == "kernel_cpu" || source == "collective_cpu") ++by_processor_;
  join_.add(entry);
  return Verdict::taken;
}

InspectorReader::Verdict InspectorReader::read_line(const Json& line, const std::string& where) {
  if (!line.is_object()) return Verdict::broken;
  const auto header = header_of(line);
  if (!header) return Verdict::broken;
  if (line.contains("dump_stats")) return Verdict::taken;  // counts of what was written
  for (const char* const prefix : {"coll", "p2p"}) {
    const auto perf = line.find(std::string(prefix) + "_perf");
    if (perf == line.end()) continue;
    return perf->is_object() ? read_perf(*header, *perf, prefix, where) : Verdict::broken;
  }
  return Verdict::other;
}

void InspectorReader::read(const MeasuredText& text) {
  LineReader lines(text.text);
  int64_t number = 0;
  for (std::string_view line; lines.next(line);) {
    ++number;
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    ++lines_;
    const std::string where = text.file + ": line " + std::to_string(number);
    const auto json = foreign_value(line, where);
    switch (read_line(json.value_or(Json()), where)) {
      case Verdict::taken:
        break;
      case Verdict::broken:
        ++(!json && lines.was_cut_off() ? cut_off_ : broken_);
        break;
      case Verdict::contradicts:
        ++contradicting_;
        break;
      case Verdict::other:
        ++other_;
        break;
    }
  }
}

// Numbers count the collectives of a kind in a communicator.
void InspectorReader::add_gaps(Measurement& measurement) const {
  struct Seen {
    std::set<uint64_t> numbers;
  };
  std::map<std::pair<std::string, std::string>, Seen> all;
  for (const RankEntry& entry : join_.entries()) {
    const JoinedKind& kind = join_.kind(entry.kind);
    if (kind.operation != "copy") all[{kind.group, kind.operation}].numbers.insert(entry.number);
  }
  double missing = 0;
  for (const auto& [kind, seen] : all)
    missing += static_cast<double>(*seen.numbers.rbegin() - *seen.numbers.begin() + 1) -
               static_cast<double>(seen.numbers.size());
  if (missing > 0)
    measurement.notes.push_back(
        "gaps in coll_sn: " + number_text(missing) +
        (missing == 1 ? " collective is" : " collectives are") +
        " missing (the plug-in leaves out small ones, those that no GPU timed, and what its "
        "buffer cannot hold)");
}

void InspectorReader::finish(Measurement& measurement) {
  const auto note = [&](int64_t count, const std::string& text) {
    if (count > 0) measurement.notes.push_back(dropped_note(count, text));
  };
  note(cut_off_, "the file ends within the line");
  note(broken_, "no line of NCCL's Inspector");
  note(other_, "no collective and no message known here");
  note(contradicting_, first_contradiction_);
  const auto remark = [&](int64_t count, const std::string& text) {
    if (count > 0) measurement.notes.push_back(counted(count, "line") + text);
  };
  remark(by_processor_, " timed by the processor, not by the GPU");
  remark(unchecked_, " without a bandwidth to check the size by");
  if (in_all_ > 0 && per_rank_ > 0)
    measurement.notes.emplace_back("sizes of all-gather and alike are those of one rank in " +
                                   counted(per_rank_, "line") + " and of all ranks in " +
                                   std::to_string(in_all_) + ", as their bandwidths tell");
  add_gaps(measurement);
  join_.finish(measurement);
}

}  // namespace

bool is_nccl_inspector(std::string_view text) {
  return text.find("\"header\"") != std::string_view::npos &&
         (text.find("\"coll_perf\"") != std::string_view::npos ||
          text.find("\"p2p_perf\"") != std::string_view::npos);
}

Measurement nccl_inspector_files(std::span<const MeasuredText> texts) {
  Measurement measurement;
  measurement.source = "NCCL Inspector " + texts.front().file;
  if (texts.size() > 1) measurement.source += " and " + std::to_string(texts.size() - 1) + " more";
  InspectorReader reader;
  for (const MeasuredText& text : texts) reader.read(text);
  reader.finish(measurement);
  tidy(measurement, texts.front().file);
  return measurement;
}

Measurement nccl_inspector(const MeasuredText& text) { return nccl_inspector_files({&text, 1}); }

}  // namespace sgdsim
