// YAML and TOML as names and values: tables become dots, "model.micro_batch_size", and a list is
// one value, "[a, b]". Tables may lie on lines of their own or in braces on one. YAML's anchors are
// put where they are named; its blocks of text are passed over.
#pragma once

#include <string>
#include <vector>

namespace sgdsim {

struct TableSetting {
  std::string name;
  std::string value;
  int line = 0;
  std::string unless = {};  // counts only where nothing has this name or lies below it
};

// In the order of the file, the last of a name counts. InputError names the file and the line.
std::vector<TableSetting> yaml_settings(const std::string& text, const std::string& file);
std::vector<TableSetting> toml_settings(const std::string& text, const std::string& file);

}  // namespace sgdsim
