// Whatever bytes come, the reader of pickles answers with data or an InputError; and so do the
// readers of one file a rank, with the bytes cut at some place into two files.
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "sim/core/error.h"
#include "traces/measurement/pickle.h"
#include "traces/measurement/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace sgdsim;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  try {
    assert(!read_pickle(text, "fuzz").is_discarded());
  } catch (const InputError&) {
    // A refusal is an answer.
  }
  const std::size_t cut = size == 0 ? 0 : bytes[0] * size / 256;
  const std::vector<MeasuredText> halves = {{text.substr(0, cut), "rank_0", {}, ""},
                                            {text.substr(cut), "rank_1", {}, ""}};
  const std::vector<MeasuredText> twice = {{text, "rank_0", {}, ""}, {text, "rank_1", 4, ""}};
  for (const MeasurementFormat& format : measurement_formats)
    for (const auto& texts : {halves, twice}) {
      if (format.read_together == nullptr) continue;
      try {
        assert(!to_text(format.read_together(texts)).empty());
      } catch (const InputError&) {
        // A refusal is an answer.
      }
    }
  return 0;
}
