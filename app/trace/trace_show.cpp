// Printing traces.
#include "app/trace/trace_show.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/usage.h"
#include "sim/core/json.h"
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

Json to_answer(const Trace& trace) {
  const std::vector<Duration> ready = ready_times(trace);
  Json json = {{"schema", "sgdsim/trace-show/1"},
               {"name", trace.name},
               {"model", trace.model},
               {"framework", trace.framework},
               {"device", trace.device},
               {"date", trace.date},
               {"source", trace.source},
               {"derived", trace.derived},
               {"layer_count", trace.layers.size()},
               {"tensor_count", tensor_count(trace)},
               {"parameters", trace.parameters()},
               {"gradient_B", trace.gradient().count()},
               {"load_us", trace.load.us()},
               {"forward_us", trace.forward().us()},
               {"backward_us", trace.backward().us()},
               {"update_us", trace.update.us()},
               {"last_ready_us", last(ready).us()},
               {"has_ready", trace.has_ready},
               {"notes", trace.notes},
               {"layers", Json::array()}};
  if (trace.batch != 0) json["batch"] = trace.batch;
  for (std::size_t i = 0; i < trace.layers.size(); ++i) {
    const Layer& layer = trace.layers[i];
    json["layers"].push_back({{"name", layer.name},
                              {"parameters", layer.parameters},
                              {"gradient_B", layer.gradient.count()},
                              {"forward_us", layer.forward.us()},
                              {"backward_us", layer.backward.us()},
                              {"ready_us", ready[i].us()},
                              {"tensors", layer.tensors}});
  }
  return json;
}

}  // namespace

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
      streams.out << to_answer(trace).dump(2) << '\n';
    else
      print_trace(trace, streams.out);
  });
}

}  // namespace sgdsim
