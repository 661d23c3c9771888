// Our own measurement files: what sgdsim-calibrate and `sgdsim import` write. Read strictly, as
// every file of ours.
#include "sim/core/error.h"
#include "sim/core/fields.h"
#include "traces/measurement/registry.h"

namespace sgdsim {
namespace {

constexpr double most_flop = 1e24;
constexpr double most_part = 1e9;  // of errors and rates
constexpr int64_t most_nccl_channels = 1024;
constexpr int64_t largest_B = int64_t{1} << 62;
constexpr int64_t most_samples = 1'000'000'000;

void check_time(const Value& value) {
  if (!measured_time(value.number(0, longest_us))) value.fail("expected a time above 0");
}

// What `fit` does not use is read all the same, so that a file that holds nonsense is refused.
struct PointFields {
  int64_t size_B = 0;
  double time_us = 0;
  std::optional<double> flop = {};
  std::optional<double> relative_error = {};
  std::optional<std::vector<double>> samples_us = {};
  std::optional<std::vector<int64_t>> outliers = {};
  std::optional<std::vector<int64_t>> visits = {};
  std::optional<std::vector<double>> interval_us = {};
  std::optional<double> spread = {};
  std::optional<std::vector<double>> clocks_MHz = {};
  std::optional<std::vector<int64_t>> slow = {};
  std::optional<int64_t> moved_B = {};
  std::optional<int64_t> rounds = {};
  std::optional<bool> verified = {};
};

Fields fields_of(PointFields& o) {
  return {
      Field("size_B", o.size_B,
            "bytes of the message; of all-gather, reduce-scatter, all-to-all, gather and scatter "
            "those of all ranks; of gtopk those of the pairs that a rank sends; of top_k and "
            "compress those of the data; of product those of all three matrices; of overlap those "
            "of the message; of attention those of queries, keys, values and output")
          .needed()
          .from(0, largest_B),
      Field("time_us", o.time_us,
            "time of one operation, in us: the median of the medians of visits, or of the samples "
            "where there are no visits")
          .needed()
          .from(0, longest_us)
          .also(check_time),
      Field("flop", o.flop,
            "of attention: multiplications and additions of its matrix products on the scores that "
            "the mask leaves, two products forward and five backward")
          .from(1, most_flop),
      Field("relative_error", o.relative_error,
            "half the width of the 95 % confidence interval of the time, over the time; sgdsim fit "
            "weights rows by it")
          .from(0, most_part),
      Field("samples_us", o.samples_us, "every repetition, in the order of measurement")
          .from(0, longest_us),
      Field("outliers", o.outliers, "which samples, from 0, lie far from the others; they are kept")
          .from(0, most_samples),
      Field("visits", o.visits,
            "how many samples were taken at each visit, in order; those of a visit follow each "
            "other at once, other points are measured between visits")
          .from(1, most_samples),
      Field("interval_us", o.interval_us,
            "the 95 % confidence interval of the time, from the medians of at least six visits")
          .from(0, longest_us)
          .entries(2, 2, "ends of an interval"),
      Field("spread", o.spread, "the standard deviation of the medians of visits, over the time")
          .from(0, most_part),
      Field("clocks_MHz", o.clocks_MHz,
            "the mean rate of the GPU's multiprocessors during each sample, by their own counters")
          .from(0, most_part),
      Field("slow", o.slow,
            "which samples, from 0, were taken at less than 75 % of the highest clock rate; they "
            "are kept")
          .from(0, most_samples),
      Field("moved_B", o.moved_B,
            "bytes that copies and sums read and write in memory, all ranks together: 2 for each "
            "byte copied, 3 for each summed; not given where there is other work")
          .from(0, largest_B),
      Field("rounds", o.rounds,
            "each sample is the mean of this many runs, one after the other between two looks at "
            "the clock; 1 if not given")
          .from(1, most_samples),
      {"verified", o.verified,
       "whether the result was checked on predictable data before it was timed"}};
}

struct StateFields {
  std::string when = {};
  std::string device = {};
  std::string driver = {};
  std::optional<double> temperature_C = {};
  std::optional<double> power_W = {};
  std::optional<double> power_limit_W = {};
  std::optional<double> clock_MHz = {};
  std::optional<double> memory_clock_MHz = {};
  std::optional<bool> ecc = {};
  std::optional<int64_t> ecc_errors = {};
  std::optional<bool> mig = {};
  std::optional<int64_t> processes = {};
  std::vector<std::string> slowed_by = {};
};

Fields fields_of(StateFields& o) {
  return {Field("when", o.when, "before or after the measurement")
              .needed()
              .called("moment")
              .one_of({"before", "after"}),
          Field("device", o.device, "where the GPU is: its PCI bus number").needed(),
          {"driver", o.driver, "version of the driver"},
          {"temperature_C", o.temperature_C, "temperature of the GPU"},
          Field("power_W", o.power_W, "what it draws").at_least(0),
          Field("power_limit_W", o.power_limit_W, "what it may draw").at_least(0),
          Field("clock_MHz", o.clock_MHz, "rate of its multiprocessors at that moment").at_least(0),
          Field("memory_clock_MHz", o.memory_clock_MHz, "rate of its memory").at_least(0),
          {"ecc", o.ecc, "whether its memory corrects errors"},
          Field("ecc_errors", o.ecc_errors,
                "errors that could not be corrected, since the driver was loaded")
              .at_least(0),
          {"mig", o.mig, "whether the GPU is divided"},
          Field("processes", o.processes,
                "how many processes compute on it, sgdsim-calibrate among them")
              .at_least(0),
          {"slowed_by", o.slowed_by, "why its clock rate is lower than it might be"}};
}

// What is missing of it, only whoever asked knows what to make of.
struct AskedFields {
  std::string operation = {};
  std::string algorithm = {};
  std::string type = {};
  int ranks = 0;
  std::optional<int64_t> block_B = {};
  std::string note = {};
  std::vector<int64_t> sizes_B = {};
};

Fields fields_of(AskedFields& o) {
  return {Field("operation", o.operation, "as in series").needed(),
          {"algorithm", o.algorithm, "as in series"},
          {"type", o.type, "as in series"},
          Field("ranks", o.ranks, "as in series").needed().from(1, most_measured_ranks),
          Field("block_B", o.block_B, "as in series").at_least(1),
          {"note", o.note, "as in series"},
          Field("sizes_B", o.sizes_B, "sizes of the points that were asked for")
              .needed()
              .from(0, largest_B)};
}

struct NcclFields {
  std::string algorithm = {};
  std::string protocol = {};
  std::optional<int> channels = {};
  std::optional<bool> in_graph = {};
};

Fields fields_of(NcclFields& o) {
  return {
      {"algorithm", o.algorithm, "Ring, Tree, NVLS, NVLSTree, CollnetDirect, CollnetChain or PAT"},
      {"protocol", o.protocol, "LL, LL128 or Simple"},
      Field("channels", o.channels, "how many it may use, and must").from(1, most_nccl_channels),
      {"in_graph", o.in_graph,
       "whether calls were captured in a graph, and so hold nothing of the host; false if not "
       "given"}};
}

struct SeriesFields {
  std::string operation = {};
  std::string algorithm = {};
  std::string type = {};
  std::optional<bool> in_place = {};
  int ranks = 0;
  std::optional<int64_t> block_B = {};
  std::string group = {};
  std::string placement = {};
  std::optional<int> processes = {};
  std::optional<int> nodes = {};
  std::string note = {};
  std::optional<NcclFields> nccl = {};
  std::vector<PointFields> points = {};
};

Fields fields_of(SeriesFields& o) {
  return {
      Field("operation", o.operation,
            "a collective; or copy (one message), fold (reduction of a received message), top_k "
            "(selection), compress (fewer bits), overhead (an empty run, an empty kernel, or one "
            "stream that waits for another), gtopk (sparse all-reduce), product (of two square "
            "matrices), attention (of one layer), overlap (a product or an exchange, alone or "
            "beside the other)")
          .needed()
          .one_of(measured_operations()),
      {"algorithm", o.algorithm,
       "ring, mst, be, lp, nccl, or the variant of a part; of attention forward or backward; of "
       "overlap what is timed, and beside what"},
      {"type", o.type, "type of the elements"},
      {"in_place", o.in_place, "whether input and output are one buffer; false if not given"},
      Field("ranks", o.ranks, "how many take part").needed().from(1, most_measured_ranks),
      Field("block_B", o.block_B, "block size of a pipeline, in bytes").at_least(1),
      {"group", o.group, "which communicator or process group, where several were measured"},
      {"placement", o.placement,
       "where the ranks were: threads, virtual ranks on one GPU, GPUs, processes on 2 nodes"},
      Field("processes", o.processes,
            "in how many processes the ranks were, where several measured together")
          .from(1, most_measured_ranks),
      Field("nodes", o.nodes, "on how many nodes the ranks were").from(1, most_measured_ranks),
      {"note", o.note, "a remark"},
      {"nccl", o.nccl,
       "how NCCL was told to do it, as its environment spells it; what is not given it chose by "
       "itself"},
      Field("points", o.points, "one per size").needed()};
}

struct MeasurementFields {
  std::string schema = {};
  std::string name = {};
  std::string source = {};
  std::string backend = {};
  std::string device = {};
  std::string driver = {};
  std::string compiler = {};
  std::string commit = {};
  std::string date = {};
  std::string clocks = {};
  std::optional<bool> complete = {};
  std::vector<std::string> notes = {};
  std::optional<double> highest_clock_MHz = {};
  std::optional<double> memory_GBps = {};
  std::optional<std::vector<StateFields>> states = {};
  std::optional<std::vector<AskedFields>> asked = {};
  std::vector<SeriesFields> series = {};
};

Fields fields_of(MeasurementFields& o) {
  return {
      Field("schema", o.schema, "kind and version of this object")
          .needed()
          .constant(measurement_schema),
      {"name", o.name, "a short name"},
      {"source", o.source, "where the numbers come from"},
      {"backend", o.backend, "how it was measured: host (threads of one machine) or cuda"},
      {"device", o.device, "the GPUs or the processor"},
      {"driver", o.driver, "version of the driver and of the runtime, or of the operating system"},
      {"compiler", o.compiler, "what the measuring program was built with"},
      {"commit", o.commit, "commit of the measuring program"},
      {"date", o.date, "when it was measured, UTC"},
      {"clocks", o.clocks, "clock rates of the device at the start"},
      {"complete", o.complete,
       "false if the measurement was interrupted or ran out of time before every median was known "
       "with the requested confidence; what is there is valid"},
      Field("notes", o.notes, "what a reader of the numbers must know").if_any(),
      Field("highest_clock_MHz", o.highest_clock_MHz,
            "the highest rate at which the multiprocessors of the GPU run")
          .from(0, most_part),
      Field("memory_GBps", o.memory_GBps,
            "rate of a GPU's memory by its bus width and the clock rate that the driver states, in "
            "10^9 bytes a second")
          .from(0, most_part),
      {"states", o.states,
       "what the driver said of each GPU before and after the measurement; what it did not say is "
       "not given"},
      {"asked", o.asked,
       "what was asked for, and could run on this machine: every series, whether it was measured "
       "or not"},
      Field("series", o.series, "one curve each: time against size").needed()};
}

// Of attention the pass must be known, and the FLOP, which do not follow from a size.
void check_attention(const Value& value, const Series& series) {
  if (series.operation != "attention") return;
  if (series.algorithm != "forward" && series.algorithm != "backward")
    value.fail("expected attention with the algorithm \"forward\" or \"backward\"");
  for (const MeasuredPoint& point : series.points)
    if (point.flop <= 0) value.fail("expected \"flop\" in every point of attention");
}

Series series_of(const SeriesFields& file) {
  Series series{.operation = file.operation,
                .algorithm = file.algorithm,
                .type = file.type,
                .in_place = file.in_place.value_or(false),
                .ranks = file.ranks,
                .nodes = file.nodes.value_or(0),
                .block = {},
                .group = file.group,
                .placement = file.placement,
                .note = file.note,
                .points = {}};
  if (file.block_B) series.block = Bytes(*file.block_B);
  if (file.nccl)
    series.nccl = {file.nccl->algorithm, file.nccl->protocol, file.nccl->channels.value_or(0),
                   file.nccl->in_graph.value_or(false)};
  for (const PointFields& point : file.points)
    series.points.push_back({.size = Bytes(point.size_B),
                             .time = *measured_time(point.time_us),
                             .flop = point.flop.value_or(0),
                             .error = point.relative_error.value_or(0)});
  return series;
}

template <class T>
std::optional<T> unless_zero(T value) {
  return value > T{} ? std::optional(value) : std::nullopt;
}
std::optional<bool> if_true(bool value) { return value ? std::optional(true) : std::nullopt; }

std::optional<NcclFields> fields_from(const NcclSetting& nccl) {
  NcclFields file{nccl.algorithm, nccl.protocol, unless_zero(nccl.channels),
                  if_true(nccl.in_graph)};
  return to_json_by_fields(file).empty() ? std::nullopt : std::optional(std::move(file));
}

SeriesFields fields_from(const Series& series) {
  SeriesFields file{.operation = series.operation,
                    .algorithm = series.algorithm,
                    .type = series.type,
                    .in_place = if_true(series.in_place),
                    .ranks = series.ranks,
                    .group = series.group,
                    .placement = series.placement,
                    .note = series.note,
                    .nccl = fields_from(series.nccl)};
  if (series.block) file.block_B = series.block->count();
  for (const MeasuredPoint& point : series.points)
    file.points.push_back({.size_B = point.size.count(),
                           .time_us = point.time.us(),
                           .flop = unless_zero(point.flop),
                           .relative_error = unless_zero(point.error)});
  return file;
}

}  // namespace

Json schema_of_measurements() { return schema_of_record<MeasurementFields>(); }

std::string to_text(const Measurement& measurement) {
  MeasurementFields file{.name = measurement.name,
                         .source = measurement.source,
                         .device = measurement.device,
                         .notes = measurement.notes};
  for (const Series& series : measurement.series)
    if (series.ranks > 0) file.series.push_back(fields_from(series));
  // Names of files may hold bytes that are not UTF-8; they become U+FFFD.
  return to_json_by_fields(file).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool is_sgdsim_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"sgdsim/") != std::string_view::npos;
}

Measurement sgdsim_json(const MeasuredText& text) {
  const Document document = Document::parse(text.text, text.file);
  const auto file = read_record<MeasurementFields>(document.root());
  Measurement measurement{
      .name = file.name, .source = file.source, .device = file.device, .series = {}, .notes = {}};
  if (!file.complete.value_or(true))
    measurement.notes.emplace_back(
        "the measurement ended before every median had reached the requested confidence");
  document.root().child("series").for_each_item([&](const Value& item) {
    measurement.series.push_back(series_of(file.series[measurement.series.size()]));
    check_attention(item, measurement.series.back());
  });
  tidy(measurement, text.file);
  return measurement;
}

}  // namespace sgdsim
