// What tests ask of texts: parts of them, notes, and the sentence of a refusal.
#pragma once

#include <string>
#include <vector>

#include "sim/core/error.h"

namespace sgdsim {

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// ASCII as UTF-16.
inline std::string utf16(const std::string& text, bool is_big) {
  std::string answer = is_big ? "\xfe\xff" : "\xff\xfe";
  for (const char letter : text) {
    if (is_big) answer += '\0';
    answer += letter;
    if (!is_big) answer += '\0';
  }
  return answer;
}

// A measurement or the steps of an import.
template <class Noted>
bool has_note(const Noted& noted, const std::string& part) {
  for (const std::string& note : noted.notes)
    if (holds(note, part)) return true;
  return false;
}

// What `ask` is refused with, or nothing.
template <class Ask>
std::string refusal_of(const Ask& ask) {
  try {
    ask();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace sgdsim
