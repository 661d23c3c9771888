// Why a combination is refused where each of its parts is right by itself.
//
// Each reason is said here once, by a function of its own, from which a test knows these sentences
// from those about wrong values, counts them and keeps the list of docs/refusals.md:
// no_effect     a word that nothing reads there: "--seed: has no effect without --jitter";
// needs         a word that says too little alone: "--emit: needs --out, the file ...";
// no_formula    what is simulated, but has no closed form;
// not_modelled  a word of a layout, on models for which nobody has written down what it takes;
// not_together  features that are both simulated, but not with each other.
// The last three are for the engine's sake.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "sim/core/error.h"

namespace sgdsim {

// `there`: "without --jitter", "with --emit", "on a GOAL schedule".
inline InputError no_effect(const std::string& option, const std::string& there) {
  return {option, "has no effect " + there};
}
// The first of these that is given.
inline void refuse_idle(std::initializer_list<std::pair<const char*, bool>> options,
                        const std::string& there) {
  for (const auto& [option, is_given] : options)
    if (is_given) throw no_effect(option, there);
}
// Of a word of a file or a layout, as a sentence.
inline std::string idle_word(const std::string& word, const std::string& there) {
  return word + " has no effect " + there;
}

// `word`: the value of the option that does, where others do not.
inline InputError needs(const std::string& option, const std::string& what,
                        const std::string& word = "") {
  return {option, word + (word.empty() ? "needs " : " needs ") + what};
}

inline InputError no_formula(const std::string& where, const std::string& what) {
  return {where, "no closed form is known for " + what + "; use fidelity message"};
}

// As a sentence. `model`: "sparse attention, whose indexer needs all positions; say cp1".
inline std::string not_modelled(const std::string& word, const std::string& model) {
  return word + " is not modelled for " + model;
}

inline InputError not_together(const std::string& where, const std::string& sentence) {
  return {where, sentence};
}

}  // namespace sgdsim
