// sgdsim as a library: questions and answers as JSON.
//
// A question is what the command line asks, by the names of its options; the answer is what
// `--format json` prints. `sgdsim schema ask-run` (ask-plan, ask-collective, ...) has the fields.
//
//   const char ring[] = "{\"ranks\": 16, \"bytes\": \"64 MiB\", \"cluster\": \"10gbe_16\"}";
//   sgdsim_answer* answer = NULL;
//   const int code = sgdsim_ask("collective", ring, strlen(ring), NULL, NULL, &answer);
//   puts(code == 0 ? sgdsim_json(answer, NULL) : sgdsim_error(answer));
//   sgdsim_free(answer);
//
// Nothing is global: any number of threads may ask. Nothing is printed, no signal is handled, no
// exception crosses the border. Rounding and denormals of floating-point numbers are set while a
// question is answered, and then as they were. Relative paths count from the working folder.
// Columns of answers are read as Arrow's readers do, without copies: arrow.h.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SGDSIM_EXPORT __attribute__((visibility("default")))
#else
#define SGDSIM_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct ArrowArrayStream; /* arrow.h */

typedef struct sgdsim_answer sgdsim_answer;

// Called now and then while a question is answered, by the thread that asked: not 0 ends it, with
// code 130.
typedef int (*sgdsim_watch)(void* with);
// The same, told how many of how many points are done; `total` is 0 where nothing can be counted.
typedef int (*sgdsim_progress)(void* with, int64_t done, int64_t total);

// Answers the question `command` with the fields of a JSON object of `size` bytes. Returns the code
// that the program would exit with: 0 is an answer; 1 a failure, 2 a question that cannot be
// answered, 3 to 5 a verdict, 130 ended by `watch`, which may be NULL. `*answer` is always set,
// NULL only if there was no memory for it, and must be freed.
SGDSIM_EXPORT int sgdsim_ask(const char* command, const char* fields, size_t size,
                             sgdsim_watch watch, void* with, sgdsim_answer** answer);

SGDSIM_EXPORT int sgdsim_ask_watched(const char* command, const char* fields, size_t size,
                                     sgdsim_progress progress, void* with, sgdsim_answer** answer);

// The answer as JSON text, byte for byte what the command line prints; "" if there is none. `size`
// may be NULL. Texts live as long as the answer.
SGDSIM_EXPORT const char* sgdsim_json(const sgdsim_answer* answer, size_t* size);

// Why the code is not 0, in a sentence; "" if it is.
SGDSIM_EXPORT const char* sgdsim_error(const sgdsim_answer* answer);

// Of a question that cannot be answered {"file": ..., "field": ..., "sentence": ...}, each empty
// where there is none; else {}.
SGDSIM_EXPORT const char* sgdsim_error_place(const sgdsim_answer* answer);

// The rows of an answer as columns: of a sweep that was asked for `as_columns` its points, of
// others their list of plans, jobs, flows ..., or all values as one row. Whole numbers are int64,
// others float64, texts a dictionary; what a row has not is null, and units are in the fields'
// metadata
// ("unit"). Returns 0, or 1 if there is no answer, or no memory. The stream, and what is read from
// it, outlive the answer. May be called again.
SGDSIM_EXPORT int sgdsim_columns(const sgdsim_answer* answer, struct ArrowArrayStream* stream);

// What the reader must know before trusting the answer: a JSON list of sentences.
SGDSIM_EXPORT const char* sgdsim_warnings(const sgdsim_answer* answer);

SGDSIM_EXPORT void sgdsim_free(sgdsim_answer* answer);

// "0.1.0". Functions are added, never changed.
SGDSIM_EXPORT const char* sgdsim_version(void);

#ifdef __cplusplus
}

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace sgdsim {

// `json` is what there is of the answer: of some failures, and of verdicts; else "".
struct Error : std::runtime_error {
  Error(int its_code, const std::string& sentence, std::string its_json = "")
      : std::runtime_error(sentence), code(its_code), json(std::move(its_json)) {}
  int code;
  std::string json;
};

// The answer as JSON text. Throws Error.
inline std::string ask(const std::string& command, const std::string& fields) {
  sgdsim_answer* answer = nullptr;
  const int code =
      sgdsim_ask(command.c_str(), fields.data(), fields.size(), nullptr, nullptr, &answer);
  const std::unique_ptr<sgdsim_answer, void (*)(sgdsim_answer*)> owner(answer, sgdsim_free);
  size_t size = 0;
  const char* text = sgdsim_json(answer, &size);
  if (code != 0) throw Error(code, sgdsim_error(answer), {text, size});
  return {text, size};
}

}  // namespace sgdsim

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>

namespace sgdsim {

// {"ask": "collective", "algorithm": "ring", ...}: the question names its command. Throws Error.
inline nlohmann::ordered_json answer(nlohmann::ordered_json question) {
  if (!question.is_object() || !question.contains("ask") || !question["ask"].is_string())
    throw Error(2, R"(expected a question: an object with a text "ask", the name of its command)");
  const std::string command = question["ask"].get<std::string>();
  question.erase("ask");
  std::string fields;
  try {
    fields = question.dump();
  } catch (const nlohmann::ordered_json::exception& wrong) {  // a text that is no UTF-8
    throw Error(2, command + ": " + wrong.what());
  }
  return nlohmann::ordered_json::parse(ask(command, fields));
}

}  // namespace sgdsim
#endif
#endif
