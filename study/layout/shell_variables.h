// Variables of a shell script, and words as they stand for them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/layout/shell_script.h"

namespace sgdsim {

// Places by number, as a shell counts them.
struct ShorterFirst {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};

// Elements of an array, by their places: numbers, or of "declare -A" names.
struct ShellItems {
  std::map<std::string, ShellWord, ShorterFirst> all = {};
  bool has_names = false;
  bool may_differ = false;  // others may be there
  int64_t behind_last() const;
  std::vector<ShellWord> listed() const;
};

class ShellVariables {
 public:
  std::map<std::string, ShellWord> all;
  std::map<std::string, ShellItems> items;  // of arrays all of whose places are known
  bool has_unsure = false;                  // whether one was asked for that may have another value
  Unsure why = Unsure::below_test;          // of that one

  // Every "$NAME", "${NAME:-8}" and "$((A * 2))" of it that is known.
  std::string expanded(const std::string& text, int depth = 0);
  // "2" of "I + 1", of "-1" in an array of three; a name of "declare -A". Nothing where the script
  // does not tell it.
  std::optional<std::string> place_in(const ShellItems& of, const std::string& text, int depth = 0);

 private:
  // "NAME", "NAME[PLACE]" and what stands behind it.
  struct Asked {
    const ShellWord* word = nullptr;  // where there is one
    std::string name = {};
    std::string rest = {};
    bool is_item = false;
  };
  std::string value_of(const std::string& word, int depth);
  std::string value_pointed_to(const std::string& word, const std::string& inside, int depth);
  std::string count_of(const std::string& word, const std::string& inside);
  std::optional<Asked> asked_for(const std::string& inside, int depth);
  const ShellWord* item(const ShellItems& of, const std::string& place);
  std::optional<int64_t> number_of(const std::string& text, int depth);
  void note_unsure(const ShellWord& word);
};

using ShellList = std::vector<ShellWord>;

// At blanks, but not at those in "$(( A * 2 ))".
ShellList split_words(const std::string& text, int line, bool may_differ);
// "A" of "$A", "${A}", "${A[@]}".
std::string variable_in(const std::string& text);
// It may differ, for this reason if it did not before.
void mark(ShellWord& word, Unsure why);
// As one word.
ShellWord joined(const ShellList& words, int line);
// Where it may not happen, the words that were there may stay.
void keep_both(ShellList& list, ShellList before);
// After another pass through a loop. One that only grows by what it has got already is known.
void mark_changes(ShellList& list, const ShellList& again);
// The same of the elements of arrays.
void mark_changes(ShellItems& items, const ShellItems& again);
// Words from `begin` on that are not the same from `second` on.
void mark_second(ShellList& list, std::size_t begin, std::size_t second);

}  // namespace sgdsim
