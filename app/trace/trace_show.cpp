// Printing traces.
#include "app/trace/trace_show.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/usage.h"
#include "sim/core/fields.h"
#include "study/shipped_inputs.h"
#include "study/table.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

std::size_t tensor_count(const Trace& trace) {
  std::size_t count = 0;
  for (const Layer& layer : trace.layers)
    if (layer.parameters > 0) count += layer.tensors.empty() ? 1 : layer.tensors.size();
  return count;
}

Duration last(const std::vector<Duration>& ready) { return ready.front(); }

std::string duration_text(Duration length) { return short_duration(length.us(), 5); }
std::string size_text(Bytes size) { return short_size(static_cast<double>(size.count())); }

void print_provenance(const Trace& trace, std::ostream& out) {
  const auto line = [&](const char* label, const std::string& text) {
    if (!text.empty()) out << label << text << '\n';
  };
  line("trace      ", trace.name);
  line("model      ", trace.model);
  line("framework  ", trace.framework);
  line("device     ", trace.device);
  line("batch      ", trace.batch == 0 ? "not stated" : std::to_string(trace.batch));
  line("date       ", trace.date);
  line("source     ", trace.source);
  line("times      ", trace.derived ? "divided among layers from a total" : "per layer");
  for (const std::string& note : trace.notes) line("note       ", note);
  out << '\n';
}

void print_trace(const Trace& trace, std::ostream& out) {
  print_provenance(trace, out);
  const std::vector<Duration> ready = ready_times(trace);
  Table table({"", "layer", "parameters", "gradient", "forward", "backward", "ready"});
  for (std::size_t i = 0; i < trace.layers.size(); ++i) {
    const Layer& layer = trace.layers[i];
    table.add({std::to_string(i + 1), layer.name, std::to_string(layer.parameters),
               size_text(layer.gradient), duration_text(layer.forward),
               duration_text(layer.backward), duration_text(ready[i])});
  }
  table.add({"", "all", std::to_string(trace.parameters()), size_text(trace.gradient()),
             duration_text(trace.forward()), duration_text(trace.backward()),
             duration_text(last(ready))});
  table.print(out, 2);
  out << '\n'
      << trace.layers.size() << " layers, " << tensor_count(trace) << " tensors; ready times are "
      << (trace.has_ready ? "measured" : "sums of the times of the layers")
      << ", from the start of the iteration\n";
  if (trace.load > Duration{}) out << "load " << duration_text(trace.load) << '\n';
  if (trace.update > Duration{}) out << "update " << duration_text(trace.update) << '\n';
}

struct ShownLayer {
  Layer layer = {};
  Duration ready = {};
};
Fields fields_of(const ShownLayer& shown) {
  const Layer& layer = shown.layer;
  return {{"name", layer.name, "as in the trace"},
          {"parameters", layer.parameters, "as in the trace"},
          {"gradient_B", layer.gradient.count(), "size of the gradient"},
          Field("forward_us", layer.forward.us(), "time of the forward pass").at_least(0),
          Field("backward_us", layer.backward.us(), "time of the backward pass").at_least(0),
          Field("ready_us", shown.ready.us(),
                "when the gradient is ready, from the start of the iteration")
              .at_least(0),
          {"tensors", layer.tensors, "parameters per tensor; empty if the layer is one tensor"}};
}

std::vector<ShownLayer> shown_layers(const Trace& trace) {
  const std::vector<Duration> ready = ready_times(trace);
  std::vector<ShownLayer> layers;
  for (std::size_t i = 0; i < trace.layers.size(); ++i)
    layers.push_back({trace.layers[i], ready[i]});
  return layers;
}

struct ShownTrace {
  const Trace& trace;
  std::vector<ShownLayer> layers = {{}};
};
Fields fields_of(const ShownTrace& shown) {
  const Trace& trace = shown.trace;
  return {answer_kind("sgdsim/trace-show/1"),
          {"name", trace.name, "as in the trace"},
          {"model", trace.model, "as in the trace; empty if not stated"},
          {"framework", trace.framework, "as in the trace; empty if not stated"},
          {"device", trace.device, "as in the trace; empty if not stated"},
          {"date", trace.date, "as in the trace; empty if not stated"},
          {"source", trace.source, "as in the trace; empty if not stated"},
          {"derived", trace.derived, "as in the trace"},
          {"beside_exchanges", trace.beside_exchanges, "as in the trace"},
          Field("layer_count", trace.layers.size(), "how many layers").at_least(1),
          {"tensor_count", tensor_count(trace), "how many tensors that have parameters"},
          {"parameters", trace.parameters(), "parameters of all layers"},
          {"gradient_B", trace.gradient().count(), "gradients of all layers"},
          Field("load_us", trace.load.us(), "as in the trace").at_least(0),
          Field("forward_us", trace.forward().us(), "forward pass of all layers").at_least(0),
          Field("backward_us", trace.backward().us(), "backward pass of all layers").at_least(0),
          Field("update_us", trace.update.us(), "as in the trace").at_least(0),
          Field("last_ready_us", shown.layers.front().ready.us(),
                "when the gradient of the first layer is ready, from the start of the iteration")
              .at_least(0),
          {"has_ready", trace.has_ready,
           "whether ready times were measured; else they are sums of the times of the layers"},
          {"notes", trace.notes, "as in the trace, and what reading it added"},
          Field("layers", shown.layers, "the layers, in forward order").filled("layer"),
          Field("batch", trace.batch == 0 ? std::nullopt : std::optional(trace.batch),
                "as in the trace; left out if not stated")
              .at_least(1)};
}

}  // namespace

Json schema_of_shown_traces() {
  const Trace none;
  return record_schema(fields_of(ShownTrace{none}));
}

void add_trace_show(CLI::App& parent, Streams streams) {
  CLI::App* show = parent.add_subcommand(
      "show", "Print layers, sizes and times of a trace, their totals and their source.");
  auto file = std::make_shared<std::string>();
  auto format = std::make_shared<std::string>("table");
  show->add_option("FILE", *file, "a trace, by file or name; - is standard input")->required();
  show->add_option("--format", *format, "table (default) or json")
      ->check(one_of("format", {"table", "json"}));
  show->footer("Example:\n  sgdsim trace show traces/data/googlenet_k80.json --format json");
  show->callback([file, format, streams] {
    const Trace trace = read_trace(trace_document(*file).root());
    if (*format == "json")
      streams.out << to_json_by_fields(ShownTrace{trace, shown_layers(trace)}).dump(2) << '\n';
    else
      print_trace(trace, streams.out);
  });
}

}  // namespace sgdsim
