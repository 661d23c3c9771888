// Fields of sgdsim/model/1, read and written.
#include "models/training/transformer_file.h"

namespace sgdsim {
namespace {

constexpr int64_t usual_sequence = 4096;

std::string text_or(Object& fields, const std::string& name, const std::string& otherwise) {
  const auto value = fields.find(name);
  return value ? value->text() : otherwise;
}
bool flag_or(Object& fields, const std::string& name, bool otherwise) {
  const auto value = fields.find(name);
  return value ? value->flag() : otherwise;
}
int64_t whole_or(Object& fields, const std::string& name, int64_t otherwise, int64_t least,
                 int64_t most) {
  const auto value = fields.find(name);
  return value ? value->whole(least, most) : otherwise;
}

void read_mlp(const Value& value, Transformer& model) {
  Object fields(value);
  model.mlp_width = fields.at("width").whole(1, most_width);
  model.gated = flag_or(fields, "gated", true);
  model.mlp_bias = flag_or(fields, "bias", false);
  fields.done();
}

LatentAttention read_latent(const Value& value) {
  Object fields(value);
  LatentAttention latent;
  latent.query_rank = whole_or(fields, "query_rank", 0, 0, most_width);
  latent.kv_rank = fields.at("kv_rank").whole(1, most_width);
  latent.plain_size = fields.at("plain_size").whole(1, most_heads);
  latent.rotary_size = fields.at("rotary_size").whole(0, most_heads);
  latent.value_size = fields.at("value_size").whole(1, most_heads);
  fields.done();
  return latent;
}

Experts read_experts(const Value& value) {
  Object fields(value);
  Experts experts;
  experts.count = fields.at("count").whole(1, most_experts);
  experts.per_token = fields.at("per_token").whole(1, most_experts);
  experts.width = fields.at("width").whole(1, most_width);
  experts.shared = whole_or(fields, "shared", 0, 0, most_experts);
  experts.first_dense = whole_or(fields, "first_dense", 0, 0, most_model_layers);
  experts.router_bias = flag_or(fields, "router_bias", false);
  fields.done();
  return experts;
}

Patches read_patches(const Value& value) {
  Object fields(value);
  Patches patches;
  patches.side = fields.at("side").whole(1, 1024);
  patches.channels = fields.at("channels").whole(1, 1024);
  fields.done();
  return patches;
}

// The size of a head, if it is not given, is what makes all heads as wide as the hidden state.
void read_heads(Object& fields, Transformer& model) {
  const Value heads = fields.at("heads");
  model.heads = heads.whole(1, most_heads);
  model.kv_heads = whole_or(fields, "kv_heads", model.heads, 1, most_heads);
  const auto latent = fields.find("latent");
  if (latent) model.latent = read_latent(*latent);
  if (const auto size = fields.find("head_size")) {
    if (latent)
      size->fail("with \"latent\" the sizes of a head stand there; leave \"head_size\" out");
    model.head_size = size->whole(1, most_heads);
    return;
  }
  if (latent) {
    model.head_size = model.latent->plain_size + model.latent->rotary_size;
    return;
  }
  if (model.hidden % model.heads != 0)
    heads.fail("the hidden size " + std::to_string(model.hidden) + " does not divide by " +
               std::to_string(model.heads) +
               " heads; give \"head_size\" if a head has another size");
  model.head_size = model.hidden / model.heads;
}

void read_kinds(Object& fields, Transformer& model) {
  if (const auto norm = fields.find("norm"))
    model.layer_norm = named_in(Named<bool, 2>{{{"rms", false}, {"layer", true}}}, "norm",
                                norm->text(), norm->where());
  if (const auto bias = fields.find("attention_bias"))
    model.attention_bias =
        named_in(attention_biases, "attention_bias", bias->text(), bias->where());
  model.tied = flag_or(fields, "tied", false);
  model.dropout = flag_or(fields, "dropout", false);
  model.causal = flag_or(fields, "causal", true);
}

}  // namespace

Transformer read_model_fields(const Value& value) {
  Object fields(value);
  const Value schema = fields.at("schema");
  if (schema.text() != model_schema)
    schema.fail("expected \"" + std::string(model_schema) + "\", got \"" + schema.text() + "\"");
  Transformer model;
  model.name = text_or(fields, "name", "model");
  model.description = text_or(fields, "description", "");
  model.source = text_or(fields, "source", "");
  model.hidden = fields.at("hidden").whole(1, most_width);
  model.layers = fields.at("layers").whole(1, most_model_layers);
  read_heads(fields, model);
  read_mlp(fields.at("mlp"), model);
  model.vocabulary = fields.at("vocabulary").whole(1, most_vocabulary);
  model.positions = whole_or(fields, "positions", 0, 0, most_sequence);
  read_kinds(fields, model);
  if (const auto experts = fields.find("experts")) model.experts = read_experts(*experts);
  if (const auto patches = fields.find("patches")) model.patches = read_patches(*patches);
  if (model.patches && model.tied)
    fields.value().fail("a model of patches has no embedding to tie its classes to");
  model.sequence = whole_or(fields, "sequence", usual_sequence, 1, most_sequence);
  fields.done();
  check_transformer(model, value.where());
  return model;
}

Transformer read_transformer(const Value& value) {
  const Json& json = value.json();
  if (!json.is_object()) value.fail("expected a JSON object with the dimensions of a model");
  if (json.contains("schema")) return read_model_fields(value);
  if (json.contains("model_type")) return read_hugging_face(value);
  value.fail("expected \"schema\": \"" + std::string(model_schema) +
             "\", or config.json of Hugging Face with \"model_type\"; the file has neither");
}

Json to_json(const Transformer& model) {
  Json json = {{"schema", model_schema}, {"name", model.name}};
  if (!model.description.empty()) json["description"] = model.description;
  if (!model.source.empty()) json["source"] = model.source;
  json["hidden"] = model.hidden;
  json["layers"] = model.layers;
  json["heads"] = model.heads;
  json["kv_heads"] = model.kv_heads;
  if (!model.latent) json["head_size"] = model.head_size;
  if (const auto& latent = model.latent)
    json["latent"] = {{"query_rank", latent->query_rank},
                      {"kv_rank", latent->kv_rank},
                      {"plain_size", latent->plain_size},
                      {"rotary_size", latent->rotary_size},
                      {"value_size", latent->value_size}};
  json["mlp"] = {{"width", model.mlp_width}, {"gated", model.gated}, {"bias", model.mlp_bias}};
  json["vocabulary"] = model.vocabulary;
  json["tied"] = model.tied;
  json["positions"] = model.positions;
  json["norm"] = model.layer_norm ? "layer" : "rms";
  json["attention_bias"] = name_in(attention_biases, model.attention_bias);
  json["dropout"] = model.dropout;
  json["causal"] = model.causal;
  if (const auto& experts = model.experts)
    json["experts"] = {{"count", experts->count},
                       {"per_token", experts->per_token},
                       {"width", experts->width},
                       {"shared", experts->shared},
                       {"first_dense", experts->first_dense},
                       {"router_bias", experts->router_bias}};
  if (const auto& patches = model.patches)
    json["patches"] = {{"side", patches->side}, {"channels", patches->channels}};
  json["sequence"] = model.sequence;
  return json;
}

}  // namespace sgdsim
