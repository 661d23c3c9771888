// Options of a command from the fields of its question.
#pragma once

#include <CLI/CLI.hpp>

#include "study/question_fields.h"

namespace sgdsim {

// What the fields are bound to must stay until the command line is parsed.
void add_options(CLI::App& command, const Fields& fields);
void add_format_option(CLI::App& command, std::string& format,
                       const std::vector<std::string>& known = {"table", "json"});

}  // namespace sgdsim
