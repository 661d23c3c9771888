// Pages of `sgdsim report`, and the data that stands in them, unpacked.
#pragma once

#include <doctest/doctest.h>
#include <string>
#include <vector>
#include <zlib.h>

#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {

inline const std::string data_begins = R"(<script type="application/json" id="data">)";

inline std::string bytes_of_base64(const std::string& text) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t group = 0;
  int bits = 0;
  for (const char letter : text) {
    if (letter == '=') break;
    group = group << 6U | static_cast<uint32_t>(letters.find(letter));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> static_cast<unsigned>(bits) & 255U);
  }
  return bytes;
}

// Backwards from what app/report/packing.h writes, by zlib's own reader.
inline Json unpacked_data(const Json& json) {
  if (!json.is_object() || !json.contains("deflated")) return json;
  const std::string packed = bytes_of_base64(json["deflated"]);
  std::string text(256'000'000 / 16, '\0');
  uLongf length = text.size();
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(text.data()), &length,
                     reinterpret_cast<const Bytef*>(packed.data()), packed.size()) == Z_OK);
  return Json::parse(text.substr(0, length));
}

inline Json data_in(const std::string& page) {
  const std::size_t start = page.find(data_begins);
  REQUIRE(start != std::string::npos);
  const std::size_t first = start + data_begins.size();
  return Json::parse(page.substr(first, page.find("</script", first) - first));
}

inline std::string page_of(const std::vector<std::string>& files,
                           const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"report"};
  words.insert(words.end(), files.begin(), files.end());
  words.insert(words.end(), more.begin(), more.end());
  const Ran ran = run_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  return ran.out;
}

inline std::vector<Json> column_values(const Json& table, const Json& column) {
  const auto rows = table["rows"].get<std::size_t>();
  if (column.contains("constant")) return std::vector<Json>(rows, column["constant"]);
  if (column.contains("same_as"))
    return column_values(table, table["columns"][column["same_as"].get<std::size_t>()]);
  if (column.contains("values")) {
    const Json values = unpacked_data(column["values"]);
    return {values.begin(), values.end()};
  }
  const Json dictionary = unpacked_data(column["dictionary"]);
  std::vector<Json> values;
  for (const Json& place : unpacked_data(column["places"]))
    values.push_back(dictionary[place.get<std::size_t>()]);
  return values;
}

}  // namespace sgdsim
