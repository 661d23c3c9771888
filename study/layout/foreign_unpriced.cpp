// By the last part of their names, which programs have in common.
#include <algorithm>
#include <array>
#include <cctype>

#include "study/layout/foreign_reader.h"

namespace sgdsim {
namespace {

struct Unpriced {
  const char* name;
  const char* value;  // a part of it; empty: any but no
  const char* sentence;
};

constexpr const char* numbers = "is not taken over; --precision fp8 or nvfp4 prices products so";
constexpr const char* quantized = "is not priced: what is exchanged keeps its bytes";

constexpr std::array<Unpriced, 11> unpriced = {{
    {"use_tp_pp_dp_mapping", "", "is not modelled: replicas lie nearer to each other than stages"},
    {"overlap_moe_expert_parallel_comm", "",
     "is not priced: exchanges of experts wait for no other micro-batch, and hide under none"},
    {"zero_quantized_weights", "", quantized},
    {"zero_quantized_gradients", "", quantized},
    {"fp8", "", numbers},
    {"fp8_format", "", numbers},
    {"fp4", "", numbers},
    {"fp4_format", "", numbers},
    {"mixed_precision", "fp8", numbers},
    {"mixed_precision", "fp4", numbers},
    {"converters", "fp8", numbers},
}};

std::string last_of(const std::string& name) {
  std::string last = name.substr(name.rfind('.') + 1);
  std::replace(last.begin(), last.end(), '-', '_');
  return last;
}

bool is_no(const std::string& value) {
  for (const char* no : {"", "false", "False", "0", "null", "~", "None", "none", "no", "off"})
    if (value == no) return true;
  return false;
}

// float8 of torchtitan is fp8, too.
std::string plainly(std::string value) {
  for (char& c : value) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::size_t place = value.find("float8");
  return place == std::string::npos ? value : value.replace(place, 6, "fp8");
}

}  // namespace

void note_unpriced(const FlatSettings& settings, ForeignLayout& found) {
  for (const auto& [name, value] : settings.values())
    for (const Unpriced& one : unpriced)
      if (last_of(name) == one.name && !is_no(value) &&
          plainly(value).find(one.value) != std::string::npos)
        found.notes.push_back(name + " " + one.sentence);
}

}  // namespace sgdsim
