// `sgdsim validate`: predicted against measured, as a table or as JSON.
#include <memory>

#include "app/commands.h"
#include "app/field_options.h"
#include "study/validate/validation_answer.h"

namespace sgdsim {
namespace {

int answer(const ValidateWords& words, const std::string& format, Streams streams) {
  const ValidationAnswer answer = answer_validation(words);
  if (format == "json")
    streams.out << to_json(answer, words.rows).dump(1) << '\n';
  else
    print(streams.out, answer, words.rows);
  return answer.is_within() ? 0 : exit_beyond_tolerance;
}

}  // namespace

void add_validate_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command =
      program.add_subcommand("validate", "Compare predictions with measured cases.");
  auto words = std::make_shared<ValidateWords>();
  auto format = std::make_shared<std::string>("table");
  add_options(*command, validate_fields(*words));
  add_format_option(*command, *format);
  command->footer(
      "Example:\n"
      "  sgdsim validate models/collective/data/tcp_star_*.json\n"
      "Cases of one suite are judged together. Exit code 5: beyond tolerance.");
  command->callback(
      [words, format, streams, &exit_code] { exit_code = answer(*words, *format, streams); });
}

}  // namespace sgdsim
