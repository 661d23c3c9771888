// The statements of a file in Python, each in one line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sgdsim {

struct PythonStatement {
  std::string text;  // without comments, in one line
  std::size_t indent = 0;
  int line = 0;
};

std::vector<PythonStatement> python_statements(const std::string& text);

}  // namespace sgdsim
