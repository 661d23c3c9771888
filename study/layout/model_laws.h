// The loss that published laws expect of a large training, its batches, and what a penalty of loss
// costs: the question `model_laws`.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "sim/core/fields.h"
#include "study/answer.h"

namespace sgdsim {

struct ModelLawsWords {
  std::string model;
  std::string parameters;
  std::string tokens;
  std::vector<std::string> penalty;
};
Fields model_laws_fields(ModelLawsWords& words);

struct ToldPenalty {
  double penalty = 0;
  double tokens_factor = 1;
  double tokens = 0;
};
Fields fields_of(const ToldPenalty& told);

struct ModelLaws {
  double parameters = 0;
  double tokens = 0;
  std::vector<ToldPenalty> penalties = {};
  std::vector<std::string> warnings = {};
  double loss() const;
};
Fields fields_of(const ModelLaws& laws);
Json schema_of_model_laws();  // sgdsim/model-laws/1

ModelLaws laws_of(const ModelLawsWords& words);
void print(std::ostream& out, const ModelLaws& laws);
Answer answer_model_laws(const Value& question, const Watch& watch);

}  // namespace sgdsim
