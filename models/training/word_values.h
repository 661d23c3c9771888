// Numbers in the words of a layout.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

#include "sim/core/error.h"

namespace sgdsim {

// A hint if another word follows the number of this one: "tp2dp2".
inline std::string words_apart(const std::string& word, std::size_t stopped) {
  constexpr std::size_t longest = 40;
  if (stopped == 0 || stopped >= word.size() || word.size() > longest || word[stopped] < 'a' ||
      word[stopped] > 'z' || word[stopped - 1] < '0' || word[stopped - 1] > '9')
    return "";
  return "; words have blanks between them: \"" + word.substr(0, stopped) + " " +
         word.substr(stopped) + "\"";
}

// The rest of the word from there on: "8" of "tp8".
inline int64_t number_in(const std::string& word, std::size_t from, int64_t least, int64_t most,
                         const std::string& where) {
  int64_t value = 0;
  const char* end = word.data() + word.size();
  const auto [stopped, problem] = std::from_chars(word.data() + from, end, value);
  if (problem != std::errc() || stopped != end || value < least || value > most)
    throw InputError(where, "\"" + word.substr(0, 40) + "\": expected a whole number from " +
                                std::to_string(least) + " to " + std::to_string(most) +
                                " after \"" + word.substr(0, from) + "\"" +
                                words_apart(word, static_cast<std::size_t>(stopped - word.data())));
  return value;
}

}  // namespace sgdsim
