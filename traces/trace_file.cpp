// Fields of a trace file, read and written.
#include "traces/trace_file.h"

#include <cmath>
#include <numeric>

#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "sim/core/scaled.h"
#include "traces/complete.h"

namespace sgdsim {
namespace {

constexpr double least_scale = 1e-6;
constexpr double most_scale = 1e6;

std::string text_or(Object& fields, const std::string& name, const std::string& otherwise) {
  const auto value = fields.find(name);
  return value ? value->text() : otherwise;
}

// A time that is not part of the layers' sums, so its limit is checked here.
Duration duration_or_zero(Object& fields, const std::string& name) {
  const auto value = fields.find(name);
  if (!value) return {};
  const Duration length = value->duration();
  if (length > longest_step)
    value->fail("expected at most " + to_text(longest_step) + ", got " + to_text(length));
  return length;
}

std::vector<int64_t> read_tensors(const Value& value, int64_t parameters) {
  std::vector<int64_t> tensors;
  int64_t sum = 0;
  for (const Value& count : value.items()) {
    tensors.push_back(count.whole(0, most_parameters));
    sum += tensors.back();
    if (sum > parameters) break;
  }
  if (sum != parameters)
    value.fail("expected tensors that add up to the " + std::to_string(parameters) +
               " parameters of the layer, got " + (sum > parameters ? "at least " : "") +
               std::to_string(sum));
  return tensors;
}

// A field that all layers have or none: what the first layer does, the others must do.
class AllOrNone {
 public:
  explicit AllOrNone(std::string name) : name_(std::move(name)) {}
  std::optional<Value> find(Object& fields, bool is_first) {
    auto value = fields.find(name_);
    if (is_first) all_ = value.has_value();
    if (all_ != value.has_value())
      fields.value().fail(std::string("the field \"") + name_ + "\" is " +
                          (all_ ? "missing here and given" : "given here and missing") +
                          " in the first layer; all layers have it or none");
    return value;
  }
  bool all() const { return all_; }

 private:
  std::string name_;
  bool all_ = false;
};

struct LayerReader {
  int64_t bytes_per_parameter = usual_bytes_per_parameter;
  double compute = 1;    // on a device that computes slower or faster
  double gradients = 1;  // as much of each as is sent
  AllOrNone forward{"forward"};
  AllOrNone ready{"ready"};

  Layer read(const Value& value, bool is_first) {
    Object fields(value);
    Layer layer;
    layer.name = fields.at("name").text();
    layer.parameters = fields.at("parameters").whole(0, most_parameters);
    const auto gradient = fields.find("gradient");
    layer.gradient = gradient ? gradient->bytes() : Bytes(layer.parameters * bytes_per_parameter);
    if (const auto time = forward.find(fields, is_first))
      layer.forward = scaled(time->duration(), compute);
    layer.backward = scaled(fields.at("backward").duration(), compute);
    if (const auto time = ready.find(fields, is_first))
      layer.ready = scaled(time->duration(), compute);
    if (const auto tensors = fields.find("tensors"))
      layer.tensors = read_tensors(*tensors, layer.parameters);
    if (gradients < 1) {
      layer.gradient =
          Bytes::nearest(std::ceil(static_cast<double>(layer.gradient.count()) * gradients));
      layer.tensors.clear();
    }
    fields.done();
    return layer;
  }
};

void read_provenance(Object& fields, Trace& trace) {
  if (const auto schema = fields.find("schema"); schema && schema->text() != trace_schema)
    schema->fail("expected \"" + std::string(trace_schema) + "\", got \"" + schema->text() + "\"");
  trace.name = text_or(fields, "name", "trace");
  trace.model = text_or(fields, "model", "");
  trace.framework = text_or(fields, "framework", "");
  trace.device = text_or(fields, "device", "");
  trace.date = text_or(fields, "date", "");
  trace.source = text_or(fields, "source", "");
  if (const auto derived = fields.find("derived")) trace.derived = derived->flag();
  if (const auto batch = fields.find("batch")) trace.batch = batch->whole(1, 1'000'000'000);
  trace.load = duration_or_zero(fields, "load");
  trace.update = duration_or_zero(fields, "update");
  if (const auto notes = fields.find("notes"))
    for (const Value& note : notes->items()) trace.notes.push_back(note.text());
}

Json layer_json(const Layer& layer, bool has_ready) {
  Json json = {{"name", layer.name}, {"parameters", layer.parameters}};
  if (layer.gradient != Bytes(layer.parameters * usual_bytes_per_parameter))
    json["gradient"] = to_text(layer.gradient);
  json["forward"] = to_text(layer.forward);
  json["backward"] = to_text(layer.backward);
  if (has_ready) json["ready"] = to_text(layer.ready);
  if (!layer.tensors.empty()) json["tensors"] = layer.tensors;
  return json;
}

// All but the layers and the notes, which stand after them.
Json head_json(const Trace& trace) {
  Json json = {{"schema", trace_schema}, {"name", trace.name}};
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) json[name] = text;
  };
  add("model", trace.model);
  add("framework", trace.framework);
  add("device", trace.device);
  add("date", trace.date);
  add("source", trace.source);
  if (trace.derived) json["derived"] = true;
  if (trace.batch != 0) json["batch"] = trace.batch;
  if (trace.load != Duration{}) json["load"] = to_text(trace.load);
  if (trace.update != Duration{}) json["update"] = to_text(trace.update);
  return json;
}

// Text from logs may hold bytes that are not UTF-8; they become U+FFFD.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Trace read_trace(const Value& value) {
  Object fields(value);
  Trace trace;
  read_provenance(fields, trace);
  LayerReader reader;
  if (const auto size = fields.find("bytes_per_parameter"))
    reader.bytes_per_parameter = size->whole(1, 16);
  if (const auto factor = fields.find("compute_scale"))
    reader.compute = factor->number(least_scale, most_scale);
  if (const auto factor = fields.find("gradient_scale"))
    reader.gradients = factor->number(least_scale, 1);
  trace.update = scaled(trace.update, reader.compute);
  const auto total = fields.find("forward");
  const Value list = fields.at("layers");
  fields.done();
  const std::size_t count = list.size();
  if (count > most_layers)
    list.fail("expected at most " + std::to_string(most_layers) + " layers, got " +
              std::to_string(count));
  trace.layers.reserve(count);
  list.for_each_item(
      [&](const Value& item) { trace.layers.push_back(reader.read(item, trace.layers.empty())); });
  trace.has_ready = reader.ready.all();
  if (total && reader.forward.all())
    total->fail("the forward time is given here and in every layer; give one of them");
  const Forward forward = reader.forward.all() ? Forward::per_layer
                          : total              ? Forward::total
                                               : Forward::missing;
  complete(trace, forward, total ? scaled(total->duration(), reader.compute) : Duration{},
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
  for (const Layer& layer : trace.layers) layers.push_back(layer_json(layer, trace.has_ready));
  json["layers"] = std::move(layers);
  if (!trace.notes.empty()) json["notes"] = trace.notes;
  return json;
}

std::string to_text(const Trace& trace) {
  const Json head = head_json(trace);
  std::string text = "{\n";
  for (const auto& [name, value] : head.items())
    text += "  \"" + name + "\": " + dump(value) + ",\n";
  text += "  \"layers\": [\n";
  for (std::size_t i = 0; i < trace.layers.size(); ++i)
    text += "    " + dump(layer_json(trace.layers[i], trace.has_ready)) +
            (i + 1 < trace.layers.size() ? ",\n" : "\n");
  text += "  ]";
  for (std::size_t i = 0; i < trace.notes.size(); ++i)
    text += (i == 0 ? ",\n  \"notes\": [\n    " : ",\n    ") + dump(trace.notes[i]);
  return text + (trace.notes.empty() ? "\n}\n" : "\n  ]\n}\n");
}

}  // namespace sgdsim
