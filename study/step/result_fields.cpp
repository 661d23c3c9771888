// What results and points of sweeps say: every figure with its description.
//
// A hundred thousand points have the figures of the summary: they are rows of a table, not fields,
// which are built anew for every answer.
#include <algorithm>
#include <array>

#include "study/need/breaks.h"
#include "study/packet_use.h"
#include "study/step/reason.h"
#include "study/step/recorded.h"
#include "study/step/result_json.h"
#include "study/step/warnings.h"
#include "study/transport_choice.h"
#include "study/version.h"
#include "study/wire_use.h"

namespace sgdsim {
namespace {

// ---- the summary

struct Summary {
  const Experiment& experiment;
  const StepResult& result;
  Metrics metrics;
  std::optional<double> iterations = {};  // to the target
};

// Whether its exchanges are more than times.
bool has_messages(const Summary& of) {
  if (of.experiment.cluster.network.workers() == 1) return true;  // there are none
  const bool counts_none = of.result.message_count == 0 && !of.result.messages.empty();
  return of.experiment.fidelity != Fidelity::closed_form && !counts_none;
}

Json of_counts() { return {{"type", "integer"}, {"minimum", 0}}; }
Json of_numbers() { return {{"type", "number"}}; }
Json of_texts() { return text_schema(); }
Json of_parts() { return {{"type", "number"}, {"minimum", 0}, {"maximum", 1}}; }
Json of_fidelities() { return one_of_schema(names_in(fidelities)); }

// A figure by its path; nothing: it is left out. Files of earlier versions have those that are
// needed and perhaps not all others.
struct SummaryRow {
  std::string_view path;
  const char* says;
  Json (*schema)();
  FigureValue (*value)(const Summary& summary);
  bool is_needed = false;
};

FigureValue us(Duration length) { return length.us(); }

constexpr auto summary_rows =
    std::to_array<SummaryRow>(
        {
            {"workers", "how many workers train", of_counts,
             [](const Summary& s) -> FigureValue {
               return int64_t{s.experiment.cluster.network.workers()};
             },
             true},
            {"strategy", "name of the strategy", of_texts,
             [](const Summary& s) -> FigureValue { return s.experiment.strategy.name; }, true},
            {"collective", "how a message is exchanged: an algorithm, a + bM, or a measured curve",
             of_texts, [](const Summary& s) -> FigureValue { return s.experiment.collective; },
             true},
            {"compression", "what gradients are sent as; none: as they are", of_texts,
             [](const Summary& s) -> FigureValue {
               return s.experiment.compression.empty() ? "none" : s.experiment.compression;
             }},
            {"synchronization",
             "when a worker goes on; none: when all gradients of the iteration are summed",
             of_texts,
             [](const Summary& s) -> FigureValue {
               return s.experiment.synchronization ? s.experiment.synchronization->name : "none";
             }},
            {"fidelity", "at which level it was simulated", of_fidelities,
             [](const Summary& s) -> FigureValue {
               return std::string(name_of(s.experiment.fidelity));
             },
             true},
            {"path", "how that level was simulated", schema_of_paths,
             [](const Summary& s) -> FigureValue { return std::string(s.result.path); }, true},
            {"iteration_ps", "mean time of an iteration in whole picoseconds", of_counts,
             [](const Summary& s) -> FigureValue { return s.metrics.mean_ps; }, true},
            {"total_ps", "all measured iterations together, in whole picoseconds", of_counts,
             [](const Summary& s) -> FigureValue { return s.metrics.total_ps; }},
            {"metrics.iteration_us.mean", "mean time of an iteration", of_numbers,
             [](const Summary& s) -> FigureValue { return s.metrics.mean_us; }, true},
            {"metrics.iteration_us.p50", "median time", of_numbers,
             [](const Summary& s) -> FigureValue { return s.metrics.p50_us; }, true},
            {"metrics.iteration_us.p95", "95th percentile, nearest rank", of_numbers,
             [](const Summary& s) -> FigureValue { return s.metrics.p95_us; }, true},
            {"metrics.iteration_us.p99", "99th percentile, nearest rank", of_numbers,
             [](const Summary& s) -> FigureValue { return s.metrics.p99_us; }, true},
            {"metrics.iteration_us.max", "the longest iteration", of_numbers,
             [](const Summary& s) -> FigureValue { return s.metrics.max_us; }, true},
            {"metrics.iteration_us.n", "how many iterations were measured", of_counts,
             [](const Summary& s) -> FigureValue {
               return static_cast<int64_t>(s.result.iterations.size());
             },
             true},
            {"metrics.forward_us", "forward passes", of_numbers,
             [](const Summary& s) { return us(s.result.mean.forward); }},
            {"metrics.backward_us", "backward passes, gaps and slowdowns included", of_numbers,
             [](const Summary& s) { return us(s.result.mean.backward); }},
            {"metrics.update_us", "the optimizer's step", of_numbers,
             [](const Summary& s) { return us(s.result.mean.update); }},
            {"metrics.compression_us", "encoding and decoding of gradients", of_numbers,
             [](const Summary& s) { return us(s.result.mean.compression); }},
            {"metrics.comm_total_us", "while messages of the worker are being transferred",
             of_numbers, [](const Summary& s) { return us(s.result.mean.communication); }},
            {"metrics.comm_exposed_us",
             "what communication adds: iteration - forward - backward - compression - update",
             of_numbers, [](const Summary& s) { return us(s.result.mean.exposed); }},
            {"metrics.comm_overlapped_us", "communication beside compute", of_numbers,
             [](const Summary& s) { return us(s.result.mean.overlapped); }},
            {"metrics.waiting_us",
             "the worker is ready and computes nothing, others are not: a part of comm_exposed_us",
             of_numbers, [](const Summary& s) { return us(s.result.mean.waiting); }},
            {"metrics.idle_us", "neither computing, transferring nor waiting for others",
             of_numbers, [](const Summary& s) { return us(s.result.mean.idle); }},
            {"metrics.overlap_ratio",
             "part of the communication that ran beside compute; 1 without communication",
             of_numbers, [](const Summary& s) -> FigureValue { return s.metrics.overlap_ratio; }},
            {"metrics.throughput_samples_per_s",
             "samples a second of the whole cluster; 0 if the trace states no batch", of_numbers,
             [](const Summary& s) -> FigureValue { return s.metrics.throughput_samples_per_s; }},
            {"metrics.speedup", "over one worker, at the same batch per worker (weak scaling)",
             of_numbers, [](const Summary& s) -> FigureValue { return s.metrics.speedup; }},
            {"metrics.efficiency", "speedup / workers", of_numbers,
             [](const Summary& s) -> FigureValue { return s.metrics.efficiency; }},
            {"metrics.messages",
             "point-to-point messages of the last iteration that sent gradients; not given where "
             "exchanges are only times, as in closed form",
             of_counts,
             [](const Summary& s) {
               return has_messages(s) ? FigureValue(s.result.message_count) : FigureValue();
             }},
            {"metrics.wire_B",
             "bytes on the wire per iteration, on average; not given where exchanges are only times",
             of_numbers,
             [](const Summary& s) {
               return has_messages(s) ? FigureValue(s.result.wire_B) : FigureValue();
             }},
            {"metrics.message_us",
             "fidelity packet: what messages between two workers take until they are complete, "
             "warm-up included",
             schema_of_record<Spread>, nullptr},
            {"packets",
             "fidelity packet: what became of packets, warm-up and what follows the last iteration "
             "included",
             schema_of_counts, nullptr},
            {"convergence.iterations", "iterations to the target at this quality", of_numbers,
             [](const Summary& s) {
               return s.iterations ? FigureValue(*s.iterations) : FigureValue();
             }},
            {"convergence.time_to_target_s", "their time in seconds", of_numbers,
             [](const Summary& s) {
               return s.iterations ? FigureValue(*s.iterations * s.metrics.mean_us / 1e6)
                                   : FigureValue();
             }},
            {"quality.density",
             "part of the elements (or, for codes, of their number) that each worker sends",
             of_numbers, [](const Summary& s) -> FigureValue { return s.result.quality.density; }},
            {"quality.delivered_fraction",
             "part of the elements that the exchanged sums can update, at most", of_parts,
             [](const Summary& s) -> FigureValue { return s.result.quality.delivered; }},
            {"quality.staleness_mean",
             "updates of the parameters that a gradient does not know, on average", of_numbers,
             [](const Summary& s) -> FigureValue { return s.result.quality.staleness_mean; }},
            {"quality.staleness_max", "the same, at most", of_numbers,
             [](const Summary& s) -> FigureValue { return s.result.quality.staleness_max; }},
        });

// What paths lead through.
const char* meaning_of_group(const std::string& path) {
  if (path == "metrics") return "means over measured iterations and workers";
  if (path == "metrics.iteration_us") return "times of iterations";
  if (path == "convergence") return "by the experiment's curves of extra iterations";
  return "what to weigh against time: how much of the gradients arrives, and how old it is";
}

// The schema at a path below one; groups on the way are made, and are needed if anything in them
// is.
void add_row(Json& group, const std::string& before, const std::string& rest,
             const SummaryRow& row) {
  const std::size_t dot = rest.find('.');
  const std::string name = rest.substr(0, dot);
  Json& required = group["required"];
  if (row.is_needed && std::find(required.begin(), required.end(), name) == required.end())
    required.push_back(name);
  Json& property = group["properties"][name];
  if (dot == std::string::npos) {
    property = {{"description", row.says}};
    property.update(row.schema());
    return;
  }
  const std::string path = path_of(before, name);
  if (property.is_null())
    property = {{"description", meaning_of_group(path)},
                {"type", "object"},
                {"additionalProperties", false},
                {"required", Json::array()}};
  add_row(property, path, rest.substr(dot + 1), row);
}

}  // namespace

Json schema_of_summary() {
  Json json = {{"required", Json::array()}};
  for (const SummaryRow& row : summary_rows) add_row(json, "", std::string(row.path), row);
  return json;
}

Figures summary_of(const Experiment& experiment, const StepResult& result) {
  Summary summary{experiment, result, metrics_of(experiment, result)};
  if (experiment.convergence)
    summary.iterations = experiment.convergence->iterations_at(result.quality);
  Figures figures;
  figures.reserve(summary_rows.size());
  for (const SummaryRow& row : summary_rows) {
    if (row.value == nullptr) {
      if (result.packets)
        add_figures(figures, std::string(row.path),
                    row.path == "packets" ? counts_json(*result.packets)
                                          : to_json_by_fields(spread_of_us(result.packets->took)));
      continue;
    }
    FigureValue value = row.value(summary);
    if (!std::holds_alternative<std::monostate>(value))
      figures.push_back({FigurePath::lasting(row.path), std::move(value)});
  }
  return figures;
}

Json summary_json(const Experiment& experiment, const StepResult& result) {
  return json_of(summary_of(experiment, result));
}

// ---- the rest of a result

Fields fields_of(const Breakdown& part) {
  return {{"forward_us", part.forward.us(), "forward passes"},
          {"backward_us", part.backward.us(), "backward passes, gaps and slowdowns included"},
          {"update_us", part.update.us(), "the optimizer's step"},
          {"compression_us", part.compression.us(), "encoding and decoding of gradients"},
          {"comm_total_us", part.communication.us(),
           "while messages of the worker are being transferred"},
          {"comm_exposed_us", part.exposed.us(),
           "what communication adds: iteration - forward - backward - compression - update"},
          {"comm_overlapped_us", part.overlapped.us(), "communication beside compute"},
          {"waiting_us", part.waiting.us(),
           "the worker is ready and computes nothing, others are not: a part of comm_exposed_us"},
          {"idle_us", part.idle.us(), "neither computing, transferring nor waiting for others"}};
}

Fields fields_of(const MessageRecord& message) {
  return {{"layers", std::vector<int>{message.first_layer, message.last_layer},
           "first and last layer, counted from 0 in forward order"},
          {"size_B", message.size.count(), "bytes of the message"},
          {"ready_us", message.ready.us(),
           "when all its gradients are there on the last worker, from the start of the iteration"},
          {"start_us", message.start.us(), "when everybody is there and it starts on the wire"},
          {"end_us", message.end.us(), "when the last worker has the sum"}};
}

namespace {

struct ToldTool {};
Fields fields_of(const ToldTool&) {
  return {{"version", std::string(version_number), "version of sgdsim"},
          {"commit", std::string(version_commit), "its commit"}};
}

Fields result_head(const Experiment& experiment) {
  return {answer_kind("sgdsim/result/1"),
          Field("id", experiment.inputs.is_null() ? std::string() : id_of(experiment.inputs),
                "SHA-256 of the inputs in canonical form")
              .like(schema_of_ids),
          {"name", experiment.name, "name of the experiment"},
          {"tool", ToldTool{}, "what made this result"},
          {"seed", experiment.seed, "seed of all random draws"},
          Field("method", experiment.method, "the label of --method").if_any()};
}

Json schema_of_breaks_here() { return reference("../breaks/1"); }

Fields result_rest(const Experiment& experiment, const StepResult& result,
                   const std::optional<RecordedTruth>& recorded,
                   const std::optional<Breaks>& breaks) {
  constexpr std::size_t most_queues = 10;
  constexpr std::size_t most_workers = 1024;
  const PacketReport* packets = result.packets ? &*result.packets : nullptr;
  const double reducing = result.messages.empty() ? 0 : reducing_part(experiment, result);
  const bool has_workers = result.workers.size() > 1 && result.workers.size() <= most_workers;
  return Fields{Field("about_strategy", experiment.strategy.about, "sizes of the strategy in words")
                    .if_any(),
                {"comm_reducing_us",
                 reducing > 0 ? std::optional(result.mean.communication.us() * reducing)
                              : std::nullopt,
                 "the part of metrics.comm_total_us that adds up gradients, where the cluster's "
                 "links have `reduce`, by the closed forms of the messages"},
                {"messages", result.messages,
                 "the gradient messages of the last iteration, in the order in which they went"},
                critical_field(&result)} +
         Fields{transport_taken_field(experiment.transport)} +
         use_fields_if_any(result.wires.kinds.empty() ? nullptr : &result.wires) +
         Fields{
             queues_field(packets, packets != nullptr
                                       ? longest_queues(*packets, *result.packet_wires, most_queues)
                                       : NamedQueues{}),
             delivery_field(packets, experiment.trace.layers.size()),
             {"per_worker", has_workers ? std::optional(result.workers) : std::nullopt,
              "the breakdown of each worker, in their order, where they differ and are not "
              "more than 1024"},
             {"warnings",
              experiment.inputs.is_null() ? std::vector<std::string>()
                                          : warnings_of(experiment, result),
              "what the reader must know before trusting the numbers"},
             Field("inputs", experiment.inputs, "the experiment, resolved and complete")
                 .like(any_object_schema),
             {"recorded", recorded,
              "of a profile: what was recorded, medians over steps and ranks"},
             Field("breaks", breaks,
                   "what the step loses with each part of the machine slower or gone; with "
                   "--breaks")
                 .like(schema_of_breaks_here)};
}

}  // namespace

Json result_json(const Experiment& experiment, const StepResult& result,
                 const std::optional<RecordedTruth>& recorded,
                 const std::optional<Breaks>& breaks) {
  Json json = written(result_head(experiment));
  json.update(json_of(summary_of(experiment, result)));
  json.update(written(result_rest(experiment, result, recorded, breaks)));
  return json;
}

Json schema_of_results() {
  const Experiment experiment{};
  const StepResult result{};
  Json json = record_schema(result_head(experiment));
  const Json summary = schema_of_summary();
  const Json rest = schema_of(result_rest(experiment, result, {}, {}));
  for (const Json* more : {&summary, &rest}) {
    for (const Json& name : (*more)["required"]) json["required"].push_back(name);
    json["properties"].update((*more)["properties"]);
  }
  return json;
}

}  // namespace sgdsim
