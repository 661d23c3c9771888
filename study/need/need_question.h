// "What do I need so that ...?": the value of one field of an experiment, or of a question about
// layouts, with which a figure of the answer is what it must be.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "study/answer.h"
#include "study/layout/layout_words.h"
#include "study/need/crossing.h"
#include "study/need/need_target.h"
#include "study/wire_words.h"

namespace sgdsim {

struct NeedWords {
  std::string experiment;
  std::string axis;
  std::vector<std::string> zip;
  std::string target;
  int64_t knee = 5;  // percent
  std::string cluster;
  std::vector<std::string> settings;
  WireWords wires;
  LayoutWords layout;  // what only layouts have
};
Fields need_fields(NeedWords& words);

struct NeedAnswer {
  FieldRange range;
  NeedTarget target;
  double gain = 0;  // of the knee
  NeedFound found;
  std::vector<std::string> warnings;  // of the answer at the value that is needed
  bool is_of_layouts = false;
};
// InputError if no value of the range has an answer.
NeedAnswer answer_need(const NeedWords& words, const Watch& watch);
// sgdsim/need/1.
Json to_json(const NeedAnswer& answer);
Json schema_of_needs();
void print(std::ostream& out, const NeedAnswer& answer);
Answer answer_need(const Value& question, const Watch& watch);

}  // namespace sgdsim
