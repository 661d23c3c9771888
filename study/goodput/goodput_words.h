// The words of a question about a whole training: fields in a file, and on top of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "study/answer.h"
#include "study/goodput/goodput_question.h"
#include "study/question_fields.h"

namespace sgdsim {

struct GoodputWords {
  std::string file;
  std::string step;
  std::string steps;
  std::string tokens;
  std::string tokens_per_step;
  std::string nodes;
  std::string failures;
  std::string spares;
  std::string until;
  std::string risk;
  std::string runs;
  std::string seed;
  std::string interval;
  std::vector<std::string> settings;
  int threads = 0;  // 0: all cores
};

Fields goodput_fields(GoodputWords& words);
GoodputQuestion goodput_question(const GoodputWords& words);
int threads_of(const GoodputWords& words);

Answer answer_goodput(const Value& question, const Watch& watch);

}  // namespace sgdsim
