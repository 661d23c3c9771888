// Any bytes as a quantity: the parser refuses them with InputError, or reads a value whose own text
// reads back to the same value.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/core/error.h"
#include "sim/core/quantity.h"

namespace {

template <class Parse>
void check(std::string_view text, Parse parse) {
  try {
    const auto value = parse(text, "--fuzz");
    if (parse(sgdsim::to_text(value), "--again") != value) __builtin_trap();
  } catch (const sgdsim::InputError& error) {
    if (std::string_view(error.what()).starts_with("--again")) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  check(text, sgdsim::parse_duration);
  check(text, sgdsim::parse_bytes);
  check(text, sgdsim::parse_bandwidth);
  check(text, sgdsim::parse_per_byte);
  return 0;
}
