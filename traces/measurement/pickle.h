// Python's pickles, as far as they are data: dictionaries, lists, tuples, texts, bytes, numbers,
// true, false and None.
//
// A pickle is a program for a small machine, and some of its instructions import and call whatever
// they name. This reader has none of them: GLOBAL, REDUCE and alike, and whatever it does not know,
// are refused by name. Nothing is looked up, so that nothing can be run.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/json.h"

namespace sgdsim {

// Tuples become lists, and keys that are numbers become texts. Members of dictionaries that are
// named `left_out` are not kept. InputError with the place of the byte.
Json read_pickle(std::string_view bytes, const std::string& file, std::string_view left_out = "");

}  // namespace sgdsim
