// How data stands in a page: as JSON that no HTML parser reads anything in, long texts deflated.
//
// A browser reads numbers as doubles, so whole numbers beyond 2^53 become texts of their digits;
// all others are read back as they were written.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/json.h"

namespace sgdsim {

// With whole numbers that a double cannot hold as texts.
Json for_page(const Json& json);

// Whether it has such numbers: the page says so beside them, and writes their texts as numbers
// where it gives JSON again.
bool has_large_wholes(const Json& json);

// JSON text for the inside of a <script>: ASCII, and without "<", "&" and ">".
std::string script_text(const Json& json);

// zlib's format, in base64.
std::string deflated(std::string_view text);

// The text itself, or {"deflated": ...} if it is long.
Json packed_text(const Json& json);

}  // namespace sgdsim
