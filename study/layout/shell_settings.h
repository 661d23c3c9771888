// Words of a shell script, with the values of its own simple variables; and what other files of
// settings have in common with it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sgdsim {

std::string trimmed(const std::string& text);
std::string unquoted(std::string text);
// Without what stands behind a # that is not quoted.
std::string without_comment(const std::string& line);
bool is_setting_name(const std::string& text);

class ShellWords {
 public:
  void add_line(const std::string& raw, int number);
  const std::vector<std::pair<std::string, int>>& words() const { return words_; }
  // Values of variables, and the lines that set them last.
  const std::map<std::string, std::pair<std::string, int>>& variables() const { return variables_; }

 private:
  std::string calculated(const std::string& line) const;
  std::string resolved(const std::string& word, int depth = 0) const;

  std::map<std::string, std::pair<std::string, int>> variables_;
  std::vector<std::pair<std::string, int>> words_;
};

}  // namespace sgdsim
