// Fields of sgdsim/model/1, read and written.
#include "models/training/transformer_file.h"

#include "sim/core/fields.h"

namespace sgdsim {

Fields fields_of(LatentAttention& o) {
  return {
      Field("query_rank", o.query_rank,
            "width of the vector that queries pass through; 0 or not given: none")
          .from(0, most_width),
      Field("kv_rank", o.kv_rank, "width of the vector that keys and values pass through")
          .needed()
          .from(1, most_width),
      Field("plain_size", o.plain_size, "part of a head's query and key without rotation")
          .needed()
          .from(1, most_heads),
      Field("rotary_size", o.rotary_size,
            "part of a head's query and key with rotation; one key for all heads")
          .needed()
          .from(0, most_heads),
      Field("value_size", o.value_size, "width of a head's value").needed().from(1, most_heads)};
}

Fields fields_of(Indexer& o) {
  return {Field("heads", o.heads, "heads of the indexer").needed().from(1, most_heads),
          Field("head_size", o.size, "width of a head, and of its one key")
              .needed()
              .from(1, most_heads),
          Field("top", o.top, "positions that are attended to").needed().from(1, most_sequence)};
}

Fields fields_of(Window& o) {
  return {
      Field("size", o.size, "positions, the own one included").needed().from(1, most_sequence),
      Field("in_blocks", o.in_blocks,
            "of the block of this size in which the position lies, not the last ones; false if not "
            "given"),
      Field("heads", o.heads, "heads of these layers; 0 or not given: as in the others")
          .from(0, most_heads),
      Field("kv_heads", o.kv_heads, "heads of keys and values; 0 or not given: as in the others")
          .from(0, most_heads),
      Field("head_size", o.head_size, "width of a head; 0 or not given: as in the others")
          .from(0, most_heads)};
}

Fields fields_of(LinearMixing& o) {
  return {
      Field("kind", o.kind,
            "the gated delta rule, Kimi's delta attention, Mamba-2, Mamba, or lightning attention")
          .needed(),
      Field("key_heads", o.key_heads, "heads of keys; groups of Mamba-2; 1 if not given")
          .from(1, most_heads),
      Field("key_size", o.key_size, "width of a key; states of Mamba and Mamba-2")
          .needed()
          .from(1, most_heads),
      Field("value_heads", o.value_heads, "heads of values").needed().from(1, most_width),
      Field("value_size", o.value_size, "width of a value").needed().from(1, most_heads),
      Field("kernel", o.kernel, "positions of the convolution; 0 or not given: none").from(0, 1024),
      Field("chunk", o.chunk, "positions that are computed at once; 64 if not given")
          .from(1, most_sequence),
      Field("rank", o.rank,
            "width of the vector that makes time steps (Mamba), or decays and gates (kda)")
          .from(0, most_width),
      Field("kernel_bias", o.kernel_bias, "the convolution has biases; false if not given"),
      Field("bias", o.bias, "the matrices have biases; false if not given"),
      Field("norms_parts", o.norms_parts,
            "Mamba: with norms of what makes time steps and states; false if not given")};
}

Fields fields_of(Experts& o) {
  return {
      Field("count", o.count, "experts of a layer").needed().from(1, most_experts),
      Field("per_token", o.per_token, "experts that a token visits").needed().from(1, most_experts),
      Field("width", o.width, "width of an expert's MLP").needed().from(1, most_width),
      Field("shared", o.shared, "experts that every token visits; 0 if not given")
          .from(0, most_experts),
      Field("shared_width", o.shared_width,
            "width of each of these; 0 or not given: that of the others")
          .from(0, most_width),
      Field("shared_gate", o.shared_gate, "each token has a factor for them; false if not given"),
      Field("first_dense", o.first_dense,
            "how many layers at the start have no experts; 0 if not given")
          .from(0, most_model_layers),
      Field("empty", o.empty,
            "choices of the router behind which there is no expert; per_token is the mean number "
            "of experts that a token visits; 0 if not given")
          .from(0, most_experts),
      Field("groups", o.groups,
            "groups of as many experts each, of which a token's experts are in groups_taken; 1 if "
            "not given: anywhere")
          .from(1, most_expert_groups),
      Field("groups_taken", o.groups_taken,
            "groups in which the experts of a token are; 1 if not given")
          .from(1, most_expert_groups),
      Field("input", o.input,
            "width of what experts get, which a matrix makes of the hidden state, and another one "
            "takes back; 0 or not given: the hidden state")
          .from(0, most_width),
      Field("router_bias", o.router_bias,
            "the router has a bias for each expert; false if not given"),
      Field("bias", o.bias, "the matrices of the experts have biases; false if not given"),
      Field("limited", o.limited,
            "what goes into the experts' activation is cut off at a limit, as swiglu_limit has it; "
            "false if not given")};
}

Fields fields_of(Patches& o) {
  return {Field("side", o.side, "pixels of a side").needed().from(1, 1024),
          Field("channels", o.channels, "values of a pixel").needed().from(1, 1024)};
}

namespace {

constexpr int64_t usual_sequence = 4096;
constexpr int64_t most_pattern = 10'000;
constexpr int64_t most_layer_norms = 8;

struct MlpFields {
  int64_t width = 0;
  bool gated = true;
  bool bias = false;
};
Fields fields_of(MlpFields& o) {
  return {Field("width", o.width, "width between the matrices; 0 where no layer has a dense MLP")
              .needed()
              .from(0, most_width),
          Field("gated", o.gated, "three matrices; true if not given"),
          Field("bias", o.bias, "with biases; false if not given")};
}

struct PatternFields {
  std::vector<Mixing> attention;
  std::vector<Mlp> mlp;
};
Fields fields_of(PatternFields& o) {
  constexpr const char* kinds = "kinds of layers, which repeat";
  return {Field("attention", o.attention, "how each layer mixes positions; full if not given")
              .entries(1, most_pattern, kinds)
              .if_any(),
          Field("mlp", o.mlp,
                "what follows; experts where there are some, but for the first dense layers, if "
                "not given")
              .entries(1, most_pattern, kinds)
              .if_any()};
}

struct ModelFields {
  std::string schema;
  Transformer model;
  std::optional<int64_t> kv_heads, head_size, predictions;
  MlpFields mlp;
  std::optional<PatternFields> pattern;
};

Fields fields_of(ModelFields& o) {
  Transformer& model = o.model;
  return {
      Field("schema", o.schema, "kind and version of this file").needed().constant(model_schema),
      {"name", model.name, "for people"},
      {"description", model.description, "what it is"},
      {"source", model.source, "where the dimensions come from"},
      Field("hidden", model.hidden, "width of the hidden state").needed().from(1, most_width),
      Field("layers", model.layers, "number of layers").needed().from(1, most_model_layers),
      Field("heads", model.heads, "heads of attention; 0 where no layer attends")
          .needed()
          .from(0, most_heads),
      Field("kv_heads", o.kv_heads, "heads of keys and values; as many as heads if not given")
          .from(0, most_heads),
      Field("head_size", o.head_size, "width of a head; hidden / heads if not given")
          .from(1, most_heads),
      Field("latent", model.latent, "multi-latent attention, in place of head_size"),
      Field("indexer", model.indexer,
            "sparse attention: an indexer scores all earlier positions, and layers of full "
            "attention attend to the best"),
      Field("window", model.window, "how many positions layers of the kind window attend to"),
      Field("linear", model.linear,
            "layers of the kind linear keep a state of fixed size in place of all keys and values"),
      Field("pattern", o.pattern, "kinds of layers; each list repeats over the layers"),
      Field("mlp", o.mlp, "the two or three matrices after attention, in layers without experts")
          .needed(),
      Field("vocabulary", model.vocabulary, "tokens that are told apart, or classes of images")
          .needed()
          .from(1, most_vocabulary),
      Field("tied", model.tied, "the last matrix is the embedding; false if not given"),
      Field("positions", model.positions, "learned positions; 0 if not given")
          .from(0, most_sequence),
      Field("norm", model.norm,
            "rms and scale have a weight for each number, layer also a bias, bare neither; rms if "
            "not given"),
      Field("layer_norms", model.layer_norms,
            "norms of a layer: 2, 4 where there is one behind attention and MLP, too, or 1 with "
            "parallel; 2 if not given")
          .from(1, most_layer_norms),
      Field("keys_are_values", model.keys_are_values,
            "layers of full attention have no matrix for values, which are the keys; false if not "
            "given"),
      Field("embedding_norm", model.embedding_norm,
            "A norm behind the embedding; false if not given"),
      Field("query_key_norm", model.query_key_norm,
            "norms of queries and keys: none, of each head, or of all heads together; none if not "
            "given"),
      Field("parallel", model.parallel, "attention and MLP are side by side; false if not given"),
      Field("output_gate", model.output_gate,
            "one more matrix makes a factor for what attention hands on; false if not given"),
      Field("sinks", model.sinks,
            "each head has a score that belongs to no position; false if not given"),
      Field("head_bias", model.head_bias, "the last matrix has a bias; false if not given"),
      Field("head_matrix", model.head_matrix,
            "before the last matrix there is one of hidden x hidden, with a bias; false if not "
            "given"),
      Field("attention_bias", model.attention_bias,
            "which projections have biases; none if not given"),
      Field("dropout", model.dropout,
            "masks of dropout are kept for the backward pass; false if not given"),
      Field("causal", model.causal, "A position attends only to earlier ones; true if not given"),
      Field("experts", model.experts,
            "A mixture of experts, in the layers that the pattern says, or in all but the first "
            "dense ones"),
      Field("predictions", o.predictions,
            "modules that predict further tokens, each a layer as the last one, which are trained "
            "with the model and are none of its layers; 0 if not given")
          .from(0, most_predictions),
      Field("patches", model.patches, "the input are images, cut into square patches"),
      Field("longest", model.longest,
            "longest sequence that its positions are made for; 0 or not given: not known")
          .from(0, most_sequence),
      Field("sequence", model.sequence,
            "tokens of a sequence that it is trained on; 4096 if not given")
          .from(1, most_sequence)};
}

// The size of a head, if it is not given, is what makes all heads as wide as the hidden state.
void set_heads(const ModelFields& given, const Value& value, Transformer& model) {
  model.kv_heads = given.kv_heads.value_or(model.heads);
  if (model.heads > 0 && model.kv_heads == 0) value.child("kv_heads").whole(1, most_heads);
  if (given.head_size) {
    const Value size = value.child("head_size");
    if (model.latent)
      size.fail("with \"latent\" the sizes of a head stand there; leave \"head_size\" out");
    if (model.heads == 0) size.fail("there are no heads; leave \"head_size\" out");
    model.head_size = *given.head_size;
  } else if (model.latent) {
    model.head_size = model.latent->plain_size + model.latent->rotary_size;
  } else if (model.heads > 0) {
    if (model.hidden % model.heads != 0)
      value.child("heads").fail("the hidden size " + std::to_string(model.hidden) +
                                " does not divide by " + std::to_string(model.heads) +
                                " heads; give \"head_size\" if a head has another size");
    model.head_size = model.hidden / model.heads;
  }
}

}  // namespace

Json schema_of_models() { return schema_of_record<ModelFields>(); }

Transformer read_model_fields(const Value& value) {
  ModelFields given;
  given.model.name = "model";
  given.model.sequence = usual_sequence;
  Object object(value);
  read_fields(object, fields_of(given));
  object.done();
  Transformer model = std::move(given.model);
  set_heads(given, value, model);
  model.predictions = given.predictions.value_or(0);
  model.mlp_width = given.mlp.width;
  model.gated = given.mlp.gated;
  model.mlp_bias = given.mlp.bias;
  if (given.pattern) {
    model.mixing_pattern = given.pattern->attention;
    model.mlp_pattern = given.pattern->mlp;
  }
  if (model.patches && model.tied)
    value.fail("a model of patches has no embedding to tie its classes to");
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
  ModelFields file{.schema = {},
                   .model = model,
                   .kv_heads = model.kv_heads,
                   .head_size = {},
                   .predictions = {},
                   .mlp = {model.mlp_width, model.gated, model.mlp_bias},
                   .pattern = {}};
  if (model.predictions > 0) file.predictions = model.predictions;
  if (!model.latent && model.heads > 0) file.head_size = model.head_size;
  if (!model.mixing_pattern.empty() || !model.mlp_pattern.empty())
    file.pattern = {model.mixing_pattern, model.mlp_pattern};
  return to_json_by_fields(file);
}

}  // namespace sgdsim
