// What is wrong with a command line, in a sentence that names the nearest word that is known.
//
// CLI11 parses, and stops at the first thing that it misses: `sgdsim colective` is to it a missing
// command. Only when it has refused a line is that line read again here, for unknown words.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

namespace sgdsim {

// Why CLI11 refused these arguments, and which help to read.
std::string usage_problem(const CLI::App& program, const std::vector<std::string>& arguments,
                          const CLI::ParseError& error);

// A sentence if one of these words is a command that there is not, although CLI11 took the line:
// `sgdsim colective --help` asks for help.
std::string unknown_command(const CLI::App& program, const std::vector<std::string>& arguments);

// Accepts these values only; the error lists them.
CLI::Validator one_of(const std::string& what, const std::vector<std::string>& known);

// Accepts numbers from one to the other. CLI11's own check takes what is no number for one of them.
template <class T>
CLI::Validator within(T least, T most) {
  const auto check = [range = CLI::Range(least, most)](std::string& text) {
    if constexpr (std::is_floating_point_v<T>) {
      T value = 0;
      if (CLI::detail::lexical_cast(text, value) && std::isnan(value))
        return "expected a number, got " + text;
    }
    return range(text);
  };
  return {check, ""};
}

// What one_of() accepts for this option; empty if it takes other values.
std::vector<std::string> choices_of(CLI::Option& option);

// An empty value is never meant: `--alpha "$ALPHA"` with no such variable is a mistake.
void refuse_empty_values(CLI::App& program);

// As many of these as are given, each with one value.
void make_repeatable(CLI::Option* option);

void add_force_option(CLI::App& command, bool& force);

}  // namespace sgdsim
