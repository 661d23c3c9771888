// What a file in Python defines, and what a function has while it runs.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/layout/python_expression.h"

namespace sgdsim {

struct PythonDefinition {                   // of a function or a class
  std::vector<PythonParameter> parameters;  // or what a class begins with
  std::size_t from = 0;                     // the statements of its body
  std::size_t to = 0;
  bool is_class = false;
};

struct PythonFrame {
  std::map<std::string, PythonValue> variables;
  std::optional<PythonValue> returned;
  std::optional<PythonValue> may_return;                   // below an if that is not known
  std::map<std::string, PythonDefinition> functions = {};  // that are defined in it
  PythonFrame* outer = nullptr;                            // of the function that it is defined in
  // Of this one or an outer one; null: none has it.
  const PythonValue* variable(const std::string& name) const {
    for (const PythonFrame* frame = this; frame != nullptr; frame = frame->outer)
      if (const auto found = frame->variables.find(name); found != frame->variables.end())
        return &found->second;
    return nullptr;
  }
};

}  // namespace sgdsim
