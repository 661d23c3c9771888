// Parameters and FLOP of a model, and the memory of a layout: the question `model_show`.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "models/training/memory.h"
#include "sim/core/fields.h"
#include "study/answer.h"

namespace sgdsim {

struct ModelShowWords {
  std::string model;
  std::string layout;
  std::string memory;
  std::string reserve = "2 GiB";
  int64_t sequence = 0;
  int64_t gpus = 0;
};
Fields model_show_fields(ModelShowWords& words);

struct ModelShown {
  Transformer model = {};
  int64_t sequence = 1;
  std::vector<std::string> warnings = {};
  std::optional<Layout> layout = {};
  std::vector<std::string> layout_notes = {};  // of files of other programs
  std::vector<StageMemory> stages = {};
};
Fields fields_of(const ParameterCount& count);
Fields fields_of(const ModelShown& shown);
Json schema_of_model_shows();  // sgdsim/model-show/1

ModelShown show_model(const ModelShowWords& words);
void print(std::ostream& out, const ModelShown& shown);
Answer answer_model_show(const Value& question, const Watch& watch);

}  // namespace sgdsim
