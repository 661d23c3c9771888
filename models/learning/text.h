// The text that text_transformer learns: models/learning/data/*.txt, carried inside the program.
#pragma once

#include <span>
#include <string_view>

namespace sgdsim {

struct LearningText {
  std::string_view name;
  std::string_view text;
};

std::span<const LearningText> learning_texts();

}  // namespace sgdsim
