// Any bytes as a JSON file: reading either gives a document or throws InputError, and a value that
// was read can be asked for anything with the same two outcomes. JSON of other programs is read so,
// too, and is the same where it is JSON.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/json.h"

namespace {

void ask_everything(const sgdsim::Value& value) {
  const auto attempt = [&](auto question) {
    try {
      question(value);
    } catch (const sgdsim::InputError&) {
      // A refusal is an answer.
    }
  };
  attempt([](const auto& v) { v.text(); });
  attempt([](const auto& v) { v.flag(); });
  attempt([](const auto& v) { v.whole(0, 1000); });
  attempt([](const auto& v) { v.number(0, 1); });
  attempt([](const auto& v) { v.duration(); });
  attempt([](const auto& v) { v.bytes(); });
  attempt([](const auto& v) { v.bandwidth(); });
  attempt([](const auto& v) { v.per_byte(); });
  attempt([](const auto& v) { sgdsim::Object(v).done(); });
  attempt([](const auto& v) {
    for (const auto& item : v.items()) ask_everything(item);
  });
  attempt([](const auto& v) {
    for (const auto& [name, member] : v.entries()) ask_everything(member);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  try {
    const sgdsim::Json foreign = sgdsim::foreign_json(text, "fuzz.json");
    ask_everything(sgdsim::Value(foreign, "fuzz.json", ""));
  } catch (const sgdsim::InputError&) {
    // Refused, with a sentence.
  }
  try {
    const sgdsim::Document document = sgdsim::Document::parse(text, "fuzz.json");
    ask_everything(document.root());
    assert(sgdsim::foreign_json(text, "fuzz.json") == document.root().json());
    assert(sgdsim::foreign_value(text, "fuzz.json") == document.root().json());
  } catch (const sgdsim::InputError&) {
    // Refused, with a sentence.
  }
  return 0;
}
