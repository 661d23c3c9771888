// Escaping, deflating, base64.
#include "app/report/packing.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <zlib.h>

namespace sgdsim {
namespace {

constexpr int64_t largest_whole = int64_t{1} << 53;
constexpr std::size_t long_text_B = 32'768;

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8U | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j <= bytes.size() ? letters[group >> (18 - 6 * j) & 63U] : '=';
  }
  return text;
}

bool is_too_large(const Json& json) {
  if (json.is_number_unsigned()) return json.get<uint64_t>() > uint64_t{1} << 53U;
  return json.is_number_integer() &&
         (json.get<int64_t>() > largest_whole || json.get<int64_t>() < -largest_whole);
}

}  // namespace

Json for_page(const Json& json) {
  if (json.is_binary()) return for_page(unpacked(json));
  if (is_too_large(json)) return json.dump();
  if (!json.is_structured()) return json;
  Json copy = json.is_array() ? Json::array() : Json::object();
  if (json.is_array())
    for (const Json& item : json) copy.push_back(for_page(item));
  else
    for (const auto& [name, member] : json.items()) copy[name] = for_page(member);
  return copy;
}

bool has_large_wholes(const Json& json) {
  if (json.is_binary()) return has_large_wholes(unpacked(json));
  if (!json.is_structured()) return is_too_large(json);
  return std::any_of(json.begin(), json.end(), has_large_wholes);
}

std::string script_text(const Json& json) {
  const std::string text = json.dump(-1, ' ', true);
  std::string safe;
  safe.reserve(text.size());
  for (const char letter : text) {
    if (letter == '<')
      safe += "\\u003c";
    else if (letter == '>')
      safe += "\\u003e";
    else if (letter == '&')
      safe += "\\u0026";
    else
      safe += letter;
  }
  return safe;
}

std::string deflated(std::string_view text) {
  uLongf length = compressBound(text.size());
  std::string bytes(length, '\0');
  const int outcome =
      compress2(reinterpret_cast<Bytef*>(bytes.data()), &length,
                reinterpret_cast<const Bytef*>(text.data()), text.size(), Z_DEFAULT_COMPRESSION);
  if (outcome != Z_OK) throw std::runtime_error("the data of the page could not be deflated");
  bytes.resize(length);
  return base64(bytes);
}

Json packed_text(const Json& json) {
  const std::string text = json.dump(-1, ' ', true);
  if (text.size() <= long_text_B) return json;
  return {{"deflated", deflated(text)}};
}

}  // namespace sgdsim
