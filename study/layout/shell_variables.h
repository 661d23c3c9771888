// Variables of a shell script, and words as they stand for them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "study/layout/shell_script.h"

namespace sgdsim {

class ShellVariables {
 public:
  std::map<std::string, ShellWord> all;
  bool has_unsure = false;  // whether one was asked for that may have another value

  // Every "$NAME", "${NAME:-8}" and "$((A * 2))" of it that is known.
  std::string expanded(const std::string& text, int depth = 0);

 private:
  std::string value_of(const std::string& word, int depth);
};

using ShellList = std::vector<ShellWord>;

// At blanks, but not at those in "$(( A * 2 ))".
ShellList split_words(const std::string& text, int line, bool may_differ);
// "A" of "$A", "${A}", "${A[@]}".
std::string variable_in(const std::string& text);
// Where it may not happen, the words that were there may stay.
void keep_both(ShellList& list, ShellList before);
// After another pass through a loop. One that only grows by what it has got already is known.
void mark_changes(ShellList& list, const ShellList& again);
// Words from `begin` on that are not the same from `second` on.
void mark_second(ShellList& list, std::size_t begin, std::size_t second);

}  // namespace sgdsim
