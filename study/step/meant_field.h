// Fields by the words that people try for them.
#pragma once

#include <string>

namespace sgdsim {

// The field of an experiment that is meant by a word, as in nodes or nics-per-node; "" if none.
std::string field_meant_by(std::string word);

// The sentence, and where it says that this field is unknown, which one is meant.
std::string with_meant_field(std::string sentence, const std::string& field);

}  // namespace sgdsim
