// What recipes in Python set: functions and scripts are followed line by line, with what is known
// from the file alone. Parameters are what stands for them where nobody gives them, and so are
// variables of the environment; what the file does not have may set more.
#pragma once

#include <map>
#include <set>
#include <string>

namespace sgdsim {

struct PythonSetting {
  std::string value;
  int line = 0;
  bool is_in_branch = false;  // below an if that is not known or a loop, so that it may not happen
  bool is_known = true;       // otherwise the value is how it is written
};

struct PythonRecipe {
  std::map<std::string, PythonSetting> settings;
  std::set<std::string> missing;  // functions and names that it uses and that are not in the file
};

// Whether it looks like one.
bool is_python(const std::string& text);

// By the names of functions, which are called without arguments, and of objects of the file.
// InputError names the file.
std::map<std::string, PythonRecipe> python_recipes(const std::string& text,
                                                   const std::string& file);

}  // namespace sgdsim
