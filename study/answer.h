// What a question is answered with, whoever asks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/core/json.h"
#include "study/failure.h"
#include "study/typed_columns.h"
#include "study/watch.h"

namespace sgdsim {

// Exit codes of the program, and codes of answers.
inline constexpr int exit_point_failed = 1;
inline constexpr int exit_incomplete = 3;
inline constexpr int exit_stuck = 4;
inline constexpr int exit_beyond_tolerance = 5;
inline constexpr int exit_interrupted = 130;

struct Answer {
  Json json;
  std::vector<std::string> warnings = {};
  int code = 0;              // the verdict: what the program's exit code would be
  std::string problem = {};  // in a sentence, where the code is not 0
  std::shared_ptr<const TypedColumns> columns = {};  // where they were asked for
  std::string text = {};  // of the JSON, where a file of it is laid out in another way
};

// {"ask": "collective", "algorithm": "ring", "ranks": 16, "bytes": "64 MiB", ...}: every question
// of the command line by the names of its options, with the JSON that --format json prints. Paths
// count from the working folder. InputError for questions that cannot be answered.
Answer answer(const Json& question, const Watch& watch = {});

// The same as text, in which nothing but memory can fail: `fields` is a JSON object.
struct AnswerText {
  int code = 0;
  std::string json;      // byte for byte what the command line prints; empty if there is none
  std::string error;     // a sentence where the code is not 0
  std::string warnings;  // a JSON list
  std::string place;     // of a mistake: {"file", "field", "sentence"}
  std::shared_ptr<const TypedColumns> columns;
};
AnswerText ask(const std::string& command, const std::string& fields, const Watch& watch = {});

// The names of all questions, and the schema of one.
std::vector<std::string> question_names();
Json question_schema(const std::string& name);

}  // namespace sgdsim
