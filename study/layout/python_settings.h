// What a recipe in Python assigns: "cfg.model.tensor_model_parallel_size = 8" of a function, or
// "micro_batch_size=2" of a named call. Nothing is run: numbers, texts, lists of texts and names of
// the file's own constants are read, and everything else is passed over.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace sgdsim {

struct PythonSetting {
  std::string value;
  int line = 0;
  bool is_in_branch = false;  // below an if or a loop, so that it may not happen
};

struct PythonBlock {
  std::vector<std::string> parents;  // blocks whose settings it begins with
  std::map<std::string, PythonSetting> settings;
};

// Whether it looks like one.
bool is_python(const std::string& text);

// By the names of functions and of what calls are assigned to.
std::map<std::string, PythonBlock> python_blocks(const std::string& text);

// With those of its parents, as far as the file has them; of the others, the names.
std::map<std::string, PythonSetting> all_settings(const std::map<std::string, PythonBlock>& blocks,
                                                  const std::string& name);
std::set<std::string> missing_parents(const std::map<std::string, PythonBlock>& blocks,
                                      const std::string& name);

}  // namespace sgdsim
