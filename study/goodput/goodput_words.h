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
  std::vector<std::string> axes;
  int threads = 0;  // 0: all cores
};

Fields goodput_fields(GoodputWords& words);
// The question that the words are, not yet read; `file` is where it stands, if it does.
Json goodput_json(const GoodputWords& words, std::string& file);
GoodputQuestion goodput_question(const GoodputWords& words, const std::function<void()>& look = {});
int threads_of(const GoodputWords& words);

// sgdsim/goodput/1, or with `axis` a list of sgdsim/goodput-point/1.
Answer answer_goodput(const Value& question, const Watch& watch);

}  // namespace sgdsim
