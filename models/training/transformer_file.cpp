// Fields of sgdsim/model/1, read and written.
#include "models/training/transformer_file.h"

namespace sgdsim {
namespace {

constexpr int64_t usual_sequence = 4096;
constexpr int64_t most_kernel = 1024;
constexpr std::size_t most_pattern = 10'000;

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
  model.mlp_width = fields.at("width").whole(0, most_width);
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

Window read_window(const Value& value) {
  Object fields(value);
  Window window;
  window.size = fields.at("size").whole(1, most_sequence);
  window.in_blocks = flag_or(fields, "in_blocks", false);
  window.heads = whole_or(fields, "heads", 0, 0, most_heads);
  window.kv_heads = whole_or(fields, "kv_heads", 0, 0, most_heads);
  window.head_size = whole_or(fields, "head_size", 0, 0, most_heads);
  fields.done();
  return window;
}

Indexer read_indexer(const Value& value) {
  Object fields(value);
  Indexer indexer;
  indexer.heads = fields.at("heads").whole(1, most_heads);
  indexer.size = fields.at("head_size").whole(1, most_heads);
  indexer.top = fields.at("top").whole(1, most_sequence);
  fields.done();
  return indexer;
}

LinearMixing read_linear(const Value& value) {
  Object fields(value);
  LinearMixing linear;
  const Value kind = fields.at("kind");
  linear.kind = named_in(linear_kinds, "kind", kind.text(), kind.where());
  linear.key_heads = whole_or(fields, "key_heads", 1, 1, most_heads);
  linear.key_size = fields.at("key_size").whole(1, most_heads);
  linear.value_heads = fields.at("value_heads").whole(1, most_width);
  linear.value_size = fields.at("value_size").whole(1, most_heads);
  linear.kernel = whole_or(fields, "kernel", 0, 0, most_kernel);
  linear.chunk = whole_or(fields, "chunk", linear.chunk, 1, most_sequence);
  linear.rank = whole_or(fields, "rank", 0, 0, most_width);
  linear.kernel_bias = flag_or(fields, "kernel_bias", false);
  linear.bias = flag_or(fields, "bias", false);
  linear.norms_parts = flag_or(fields, "norms_parts", false);
  fields.done();
  return linear;
}

template <class All, class Kind>
void read_pattern_of(Object& fields, const All& all, const std::string& name,
                     std::vector<Kind>& pattern) {
  const auto list = fields.find(name);
  if (!list) return;
  if (list->size() == 0 || list->size() > most_pattern)
    list->fail("expected 1 to " + std::to_string(most_pattern) +
               " kinds of layers, which repeat; got " + std::to_string(list->size()));
  for (const Value& kind : list->items())
    pattern.push_back(named_in(all, name, kind.text(), kind.where()));
}

void read_pattern(const Value& value, Transformer& model) {
  Object fields(value);
  read_pattern_of(fields, mixings, "attention", model.mixing_pattern);
  read_pattern_of(fields, mlps, "mlp", model.mlp_pattern);
  fields.done();
}

Experts read_experts(const Value& value) {
  Object fields(value);
  Experts experts;
  experts.count = fields.at("count").whole(1, most_experts);
  experts.per_token = fields.at("per_token").whole(1, most_experts);
  experts.width = fields.at("width").whole(1, most_width);
  experts.shared = whole_or(fields, "shared", 0, 0, most_experts);
  experts.shared_width = whole_or(fields, "shared_width", 0, 0, most_width);
  experts.shared_gate = flag_or(fields, "shared_gate", false);
  experts.first_dense = whole_or(fields, "first_dense", 0, 0, most_model_layers);
  experts.router_bias = flag_or(fields, "router_bias", false);
  experts.bias = flag_or(fields, "bias", false);
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
  model.heads = heads.whole(0, most_heads);
  model.kv_heads = whole_or(fields, "kv_heads", model.heads, model.heads == 0 ? 0 : 1, most_heads);
  const auto latent = fields.find("latent");
  if (latent) model.latent = read_latent(*latent);
  if (const auto size = fields.find("head_size")) {
    if (latent)
      size->fail("with \"latent\" the sizes of a head stand there; leave \"head_size\" out");
    if (model.heads == 0) size->fail("there are no heads; leave \"head_size\" out");
    model.head_size = size->whole(1, most_heads);
    return;
  }
  if (latent) {
    model.head_size = model.latent->plain_size + model.latent->rotary_size;
    return;
  }
  if (model.heads == 0) return;
  if (model.hidden % model.heads != 0)
    heads.fail("the hidden size " + std::to_string(model.hidden) + " does not divide by " +
               std::to_string(model.heads) +
               " heads; give \"head_size\" if a head has another size");
  model.head_size = model.hidden / model.heads;
}

void read_kinds(Object& fields, Transformer& model) {
  if (const auto norm = fields.find("norm"))
    model.norm = named_in(norms, "norm", norm->text(), norm->where());
  if (const auto norm = fields.find("query_key_norm"))
    model.query_key_norm = named_in(query_key_norms, "query_key_norm", norm->text(), norm->where());
  if (const auto bias = fields.find("attention_bias"))
    model.attention_bias =
        named_in(attention_biases, "attention_bias", bias->text(), bias->where());
  model.layer_norms = whole_or(fields, "layer_norms", model.layer_norms, 1, 4);
  model.embedding_norm = flag_or(fields, "embedding_norm", false);
  model.parallel = flag_or(fields, "parallel", false);
  model.output_gate = flag_or(fields, "output_gate", false);
  model.sinks = flag_or(fields, "sinks", false);
  model.head_bias = flag_or(fields, "head_bias", false);
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
  if (const auto indexer = fields.find("indexer")) model.indexer = read_indexer(*indexer);
  if (const auto window = fields.find("window")) model.window = read_window(*window);
  if (const auto linear = fields.find("linear")) model.linear = read_linear(*linear);
  if (const auto pattern = fields.find("pattern")) read_pattern(*pattern, model);
  if (const auto experts = fields.find("experts")) model.experts = read_experts(*experts);
  if (const auto patches = fields.find("patches")) model.patches = read_patches(*patches);
  if (model.patches && model.tied)
    fields.value().fail("a model of patches has no embedding to tie its classes to");
  model.longest = whole_or(fields, "longest", 0, 0, most_sequence);
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

namespace {

template <class All, class Kind>
Json names_of(const All& all, const std::vector<Kind>& pattern) {
  Json names = Json::array();
  for (const Kind kind : pattern) names.push_back(name_in(all, kind));
  return names;
}

// What only some models have.
void write_mixing(const Transformer& model, Json& json) {
  if (const auto& latent = model.latent)
    json["latent"] = {{"query_rank", latent->query_rank},
                      {"kv_rank", latent->kv_rank},
                      {"plain_size", latent->plain_size},
                      {"rotary_size", latent->rotary_size},
                      {"value_size", latent->value_size}};
  if (const auto& indexer = model.indexer)
    json["indexer"] = {
        {"heads", indexer->heads}, {"head_size", indexer->size}, {"top", indexer->top}};
  if (const auto& window = model.window)
    json["window"] = {{"size", window->size},
                      {"in_blocks", window->in_blocks},
                      {"heads", window->heads},
                      {"kv_heads", window->kv_heads},
                      {"head_size", window->head_size}};
  if (const auto& linear = model.linear)
    json["linear"] = {{"kind", name_in(linear_kinds, linear->kind)},
                      {"key_heads", linear->key_heads},
                      {"key_size", linear->key_size},
                      {"value_heads", linear->value_heads},
                      {"value_size", linear->value_size},
                      {"kernel", linear->kernel},
                      {"chunk", linear->chunk},
                      {"rank", linear->rank},
                      {"kernel_bias", linear->kernel_bias},
                      {"bias", linear->bias},
                      {"norms_parts", linear->norms_parts}};
  Json pattern = Json::object();
  if (!model.mixing_pattern.empty()) pattern["attention"] = names_of(mixings, model.mixing_pattern);
  if (!model.mlp_pattern.empty()) pattern["mlp"] = names_of(mlps, model.mlp_pattern);
  if (!pattern.empty()) json["pattern"] = std::move(pattern);
}

}  // namespace

Json to_json(const Transformer& model) {
  Json json = {{"schema", model_schema}, {"name", model.name}};
  if (!model.description.empty()) json["description"] = model.description;
  if (!model.source.empty()) json["source"] = model.source;
  json["hidden"] = model.hidden;
  json["layers"] = model.layers;
  json["heads"] = model.heads;
  json["kv_heads"] = model.kv_heads;
  if (!model.latent && model.heads > 0) json["head_size"] = model.head_size;
  write_mixing(model, json);
  json["mlp"] = {{"width", model.mlp_width}, {"gated", model.gated}, {"bias", model.mlp_bias}};
  json["vocabulary"] = model.vocabulary;
  json["tied"] = model.tied;
  json["positions"] = model.positions;
  json["norm"] = name_in(norms, model.norm);
  json["layer_norms"] = model.layer_norms;
  json["embedding_norm"] = model.embedding_norm;
  json["query_key_norm"] = name_in(query_key_norms, model.query_key_norm);
  json["parallel"] = model.parallel;
  json["output_gate"] = model.output_gate;
  json["sinks"] = model.sinks;
  json["head_bias"] = model.head_bias;
  json["attention_bias"] = name_in(attention_biases, model.attention_bias);
  json["dropout"] = model.dropout;
  json["causal"] = model.causal;
  if (const auto& experts = model.experts)
    json["experts"] = {{"count", experts->count},
                       {"per_token", experts->per_token},
                       {"width", experts->width},
                       {"shared", experts->shared},
                       {"shared_width", experts->shared_width},
                       {"shared_gate", experts->shared_gate},
                       {"first_dense", experts->first_dense},
                       {"router_bias", experts->router_bias},
                       {"bias", experts->bias}};
  if (const auto& patches = model.patches)
    json["patches"] = {{"side", patches->side}, {"channels", patches->channels}};
  json["longest"] = model.longest;
  json["sequence"] = model.sequence;
  return json;
}

}  // namespace sgdsim
