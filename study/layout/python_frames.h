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
  std::optional<PythonValue> may_return;  // below an if that is not known
};

}  // namespace sgdsim
