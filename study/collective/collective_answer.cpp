// From a question to its points.
#include "study/collective/collective_answer.h"

#include "sim/core/error.h"
#include "study/collective/collective_file.h"
#include "study/collective/collective_report.h"

namespace sgdsim {

void complete(CollectiveArguments& words, const std::set<std::string>& given, bool wants_messages) {
  if (!words.file.empty()) read_collective_file(words.file, given, words);
  if (words.bytes.empty()) throw InputError("", "--bytes is required, or a file that has it");
  read_inputs(words);
  choose_algorithm(words, wants_messages);
}

Answer answer_collective(const Value& question, const Watch& watch) {
  CollectiveArguments words = words_of(question, collective_fields);
  words.watch = watch;
  std::set<std::string> given;
  for (const auto& [name, value] : question.json().items()) given.insert(name);
  complete(words, given);
  if (!words.sweep) {
    const CollectivePoint point = single_point(words);
    return {to_json(point, words), warnings_of({point})};
  }
  const std::vector<CollectivePoint> points = sweep_points(words);
  return {to_json(points, words), warnings_of(points)};
}

}  // namespace sgdsim
