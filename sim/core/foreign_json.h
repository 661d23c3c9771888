// JSON that other programs wrote. It may have comments, and the numbers NaN, Infinity and
// -Infinity, as Python writes them; what we write has neither.
//
// Such a number is a number that is in no range: who needs it refuses it by name, who does not
// never looks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/core/json.h"

namespace sgdsim {

// A whole file, refused as Document does.
Json foreign_json(std::string_view text, const std::string& file);

// A value that stands in a line by itself, refused as check_text() does; nothing if it is no JSON.
std::optional<Json> foreign_value(std::string_view text, const std::string& where);

// The byte with which the JSON begins, behind blanks and comments; '\0' if there is none.
char first_of_json(std::string_view text);

// As it is written, for which JSON has no words if it is not finite.
std::string text_of_number(const Json& json);

// The text of this member; empty if it has none, or something else than a text.
std::string text_member(const Json& json, const std::string& name);

}  // namespace sgdsim
