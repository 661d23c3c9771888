// Reading the dimensions of a model: a file of schema sgdsim/model/1, or config.json of Hugging
// Face as it is published.
//
// Of a config.json the family (`model_type`) decides which keys there are and what is true without
// being said: Llama has no biases, GPT-2 has them everywhere. Keys that say nothing about size are
// passed over; a family that is not known here is refused, because its layers may be others.
#pragma once

#include <string>
#include <vector>

#include "models/training/transformer.h"
#include "sim/core/json.h"

namespace sgdsim {

inline constexpr char model_schema[] = "sgdsim/model/1";

// Either kind, told apart by `schema` and `model_type`.
Transformer read_transformer(const Value& value);

Transformer read_model_fields(const Value& value);
Transformer read_hugging_face(const Value& value);
const std::vector<std::string>& hugging_face_families();

// As a file of schema sgdsim/model/1.
Json to_json(const Transformer& model);
Json schema_of_models();

// Largest values of the dimensions, so that products fit.
inline constexpr int64_t most_width = 10'000'000;
inline constexpr int64_t most_model_layers = 10'000;
inline constexpr int64_t most_heads = 65'536;
inline constexpr int64_t most_vocabulary = 100'000'000;
inline constexpr int64_t most_experts = 100'000;
inline constexpr int64_t most_expert_groups = 1024;
inline constexpr int64_t most_sequence = 100'000'000;

}  // namespace sgdsim
