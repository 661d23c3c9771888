// Fields of a trace file, read and written.
#include "traces/trace_file.h"

#include <cmath>
#include <numeric>

#include "sim/core/error.h"
#include "sim/core/fields.h"
#include "sim/core/quantity.h"
#include "sim/core/scaled.h"
#include "traces/complete.h"

namespace sgdsim {
namespace {

constexpr double least_scale = 1e-6;
constexpr double most_scale = 1e6;

// ---- what stands in a file

Json schema_of_layer_name() {
  return {{"type", "string"},
          {"minLength", 1},
          {"maxLength", 255},
          {"pattern", "^[^\\u0000-\\u001f\\u007f]*$"}};
}

struct LayerFields {
  std::string name;
  int64_t parameters = 0;
  std::optional<Bytes> gradient;
  std::optional<Duration> forward;
  Duration backward;
  std::optional<Duration> ready;
  std::optional<std::vector<int64_t>> tensors;
};

Fields fields_of(LayerFields& o) {
  return {
      Field("name", o.name, "the name in results").needed().like(schema_of_layer_name),
      Field("parameters", o.parameters, "how many parameters the layer has; 0 if it only computes")
          .needed()
          .from(0, most_parameters),
      {"gradient", o.gradient,
       "size of the gradient; parameters times bytes_per_parameter if not given"},
      {"forward", o.forward, "time of the forward pass; all layers have it or none"},
      Field("backward", o.backward, "time of the backward pass").needed(),
      {"ready", o.ready,
       "when the gradient was ready, from the start of the iteration, pauses included; all "
       "layers have it or none, and a layer is not ready before the layer after it"},
      Field("tensors", o.tensors,
            "parameters of each tensor in the order of registration, which add up to "
            "parameters; one tensor if not given")
          .from(0, most_parameters)};
}

LayerFields fields_from(const Layer& layer, bool has_ready) {
  LayerFields file{.name = layer.name,
                   .parameters = layer.parameters,
                   .gradient = {},
                   .forward = layer.forward,
                   .backward = layer.backward,
                   .ready = {},
                   .tensors = {}};
  if (layer.gradient != Bytes(layer.parameters * usual_bytes_per_parameter))
    file.gradient = layer.gradient;
  if (has_ready) file.ready = layer.ready;
  if (!layer.tensors.empty()) file.tensors = layer.tensors;
  return file;
}

Json schema_of_layers() {
  return list_schema(schema_of_record<LayerFields>(), 1, static_cast<int64_t>(most_layers));
}

struct TraceFields {
  std::string schema = {};
  std::optional<std::string> name = "trace";
  std::string model = {}, framework = {}, device = {}, date = {}, source = {};
  std::optional<bool> derived = {}, beside_exchanges = {};
  std::optional<int64_t> batch = {};
  std::optional<Duration> load = {}, update = {};
  std::optional<int64_t> bytes_per_parameter = {};
  std::optional<double> compute_scale = {}, gradient_scale = {};
  std::optional<Duration> forward = {};
  std::optional<Value> layers = {};
  std::vector<std::string> notes = {};
};

// A time that is not part of the layers' sums, so its limit is checked here.
void check_step(const Value& value) {
  if (value.duration() > longest_step)
    value.fail("expected at most " + to_text(longest_step) + ", got " + to_text(value.duration()));
}

Fields fields_of(TraceFields& o) {
  return {
      Field("schema", o.schema,
            "kind and version of this file; may be left out in an object inside an experiment")
          .constant(trace_schema),
      {"name", o.name, "the name in results"},
      {"model", o.model, "the neural network"},
      {"framework", o.framework, "what trained it"},
      {"device", o.device, "the GPU that the times were measured on"},
      {"date", o.date, "when it was measured"},
      {"source", o.source,
       "where the figures come from, which were measured and which derived, and how"},
      {"derived", o.derived,
       "whether the times of the layers were divided from a total rather than measured; false if "
       "not given"},
      {"beside_exchanges", o.beside_exchanges,
       "whether the times were measured while gradients were exchanged, so that they hold what "
       "that slows computing down by; false if not given"},
      Field("batch", o.batch, "samples per worker and iteration; left out where it is not known")
          .from(1, 1'000'000'000),
      Field("load", o.load,
            "time to read and copy the next batch, which runs beside the iteration before; 0 if "
            "not given")
          .also(check_step),
      Field("update", o.update,
            "time of the optimizer's step, after the last gradient has arrived; 0 if not given")
          .also(check_step),
      Field("bytes_per_parameter", o.bytes_per_parameter,
            "size of a gradient per parameter, for layers that do not say it; 4 if not given")
          .from(1, 16),
      Field("compute_scale", o.compute_scale,
            "multiplies forward, backward, ready and update, as on a device that computes slower "
            "(above 1) or faster; 1 if not given")
          .from(least_scale, most_scale),
      Field("gradient_scale", o.gradient_scale,
            "multiplies the sizes of all gradients, rounded up to bytes, as a compression that "
            "takes no time; each layer is then one tensor; 1 if not given")
          .from(least_scale, 1),
      {"forward", o.forward,
       "time of the whole forward pass, where layers do not have their own: it is divided among "
       "them in proportion to backward; without either, half of the backward time is assumed"},
      Field("layers", o.layers,
            "what gradients are scheduled by: layers or single tensors, in forward order")
          .needed()
          .like(schema_of_layers),
      Field("notes", o.notes, "sentences that every result from this trace repeats as a warning")
          .if_any()};
}

// All but the layers and the notes, which stand after them.
Json head_json(const Trace& trace) {
  TraceFields file{.name = trace.name,
                   .model = trace.model,
                   .framework = trace.framework,
                   .device = trace.device,
                   .date = trace.date,
                   .source = trace.source};
  if (trace.derived) file.derived = true;
  if (trace.beside_exchanges) file.beside_exchanges = true;
  if (trace.batch != 0) file.batch = trace.batch;
  if (trace.load != Duration{}) file.load = trace.load;
  if (trace.update != Duration{}) file.update = trace.update;
  return to_json_by_fields(file);
}

// Calls f for each layer as it stands in a file.
template <class F>
void for_each_layer_json(const Trace& trace, const F& f) {
  LayerFields one;
  const Fields fields = fields_of(one);
  for (const Layer& layer : trace.layers) {
    one = fields_from(layer, trace.has_ready);
    f(written(fields));
  }
}

// ---- what it means

void check_tensors(const std::vector<int64_t>& tensors, int64_t parameters, const Value& value) {
  int64_t sum = 0;
  for (const int64_t count : tensors) {
    sum += count;
    if (sum > parameters) break;
  }
  if (sum != parameters)
    value.fail("expected tensors that add up to the " + std::to_string(parameters) +
               " parameters of the layer, got " + (sum > parameters ? "at least " : "") +
               std::to_string(sum));
}

// A field that all layers have or none: what the first layer does, the others must do.
void check_all_or_none(const char* name, bool is_given, std::optional<bool>& all,
                       const Value& layer) {
  if (!all) all = is_given;
  if (*all != is_given)
    layer.fail(std::string("the field \"") + name + "\" is " +
               (*all ? "missing here and given" : "given here and missing") +
               " in the first layer; all layers have it or none");
}

class LayerReader {
 public:
  explicit LayerReader(const TraceFields& file)
      : bytes_per_parameter_(file.bytes_per_parameter.value_or(usual_bytes_per_parameter)),
        compute_(file.compute_scale.value_or(1)),
        gradients_(file.gradient_scale.value_or(1)) {}

  Layer layer_of(const LayerFields& file, const Value& value) {
    check_all_or_none("forward", file.forward.has_value(), has_forward_, value);
    check_all_or_none("ready", file.ready.has_value(), has_ready_, value);
    Layer layer;
    layer.name = file.name;
    layer.parameters = file.parameters;
    layer.gradient = file.gradient.value_or(Bytes(file.parameters * bytes_per_parameter_));
    if (file.forward) layer.forward = time_of(*file.forward);
    layer.backward = time_of(file.backward);
    if (file.ready) layer.ready = time_of(*file.ready);
    if (file.tensors) {
      check_tensors(*file.tensors, file.parameters, value.child("tensors"));
      layer.tensors = *file.tensors;
    }
    if (gradients_ < 1) {
      layer.gradient =
          Bytes::nearest(std::ceil(static_cast<double>(layer.gradient.count()) * gradients_));
      layer.tensors.clear();
    }
    return layer;
  }
  Duration time_of(Duration measured) const { return scaled(measured, compute_); }
  bool has_forward() const { return has_forward_.value_or(false); }
  bool has_ready() const { return has_ready_.value_or(false); }

 private:
  int64_t bytes_per_parameter_;
  double compute_;    // on a device that computes slower or faster
  double gradients_;  // as much of each as is sent
  std::optional<bool> has_forward_;
  std::optional<bool> has_ready_;
};

Trace provenance_of(TraceFields& file) {
  Trace trace;
  trace.name = std::move(*file.name);
  trace.model = std::move(file.model);
  trace.framework = std::move(file.framework);
  trace.device = std::move(file.device);
  trace.date = std::move(file.date);
  trace.source = std::move(file.source);
  trace.derived = file.derived.value_or(false);
  trace.beside_exchanges = file.beside_exchanges.value_or(false);
  trace.batch = file.batch.value_or(0);
  trace.load = file.load.value_or(Duration{});
  trace.notes = std::move(file.notes);
  return trace;
}

// Text from logs may hold bytes that are not UTF-8; they become U+FFFD.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Json schema_of_traces() { return schema_of_record<TraceFields>(); }

Trace read_trace(const Value& value) {
  auto file = read_record<TraceFields>(value);
  const Value& list = *file.layers;
  const std::size_t count = list.size();
  if (count > most_layers)
    list.fail("expected at most " + std::to_string(most_layers) + " layers, got " +
              std::to_string(count));
  Trace trace = provenance_of(file);
  LayerReader reader(file);
  trace.update = reader.time_of(file.update.value_or(Duration{}));
  trace.layers.reserve(count);
  for_each_record<LayerFields>(list, [&](const LayerFields& layer, const Object& object) {
    trace.layers.push_back(reader.layer_of(layer, object.value()));
  });
  trace.has_ready = reader.has_ready();
  if (file.forward && reader.has_forward())
    value.child("forward").fail(
        "the forward time is given here and in every layer; give one of them");
  const Forward forward = reader.has_forward() ? Forward::per_layer
                          : file.forward       ? Forward::total
                                               : Forward::missing;
  complete(trace, forward, reader.time_of(file.forward.value_or(Duration{})),
           {list.where(), [&](std::size_t i) { return list.where() + "/" + std::to_string(i); }});
  return trace;
}

Trace read_trace_file(const std::string& file) {
  const Document document = Document::read(file);
  return read_trace(document.root());
}

Json to_json(const Trace& trace) {
  Json json = head_json(trace);
  Json layers = Json::array();
  for_each_layer_json(trace, [&](Json layer) { layers.push_back(std::move(layer)); });
  json["layers"] = std::move(layers);
  if (!trace.notes.empty()) json["notes"] = trace.notes;
  return json;
}

std::string to_text(const Trace& trace) {
  const Json head = head_json(trace);
  std::string text = "{\n";
  for (const auto& [name, value] : head.items())
    text += "  \"" + name + "\": " + dump(value) + ",\n";
  text += "  \"layers\": [";
  bool is_first = true;
  for_each_layer_json(trace, [&](const Json& layer) {
    text += (is_first ? "\n    " : ",\n    ") + dump(layer);
    is_first = false;
  });
  text += "\n  ]";
  for (std::size_t i = 0; i < trace.notes.size(); ++i)
    text += (i == 0 ? ",\n  \"notes\": [\n    " : ",\n    ") + dump(trace.notes[i]);
  return text + (trace.notes.empty() ? "\n}\n" : "\n  ]\n}\n");
}

}  // namespace sgdsim
