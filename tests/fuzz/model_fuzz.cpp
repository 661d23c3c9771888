// Whatever bytes come, the readers of models, GPUs and layouts answer with one or an InputError;
// what was read is counted, laid out and written without trouble.
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "models/training/gpu.h"
#include "models/training/memory.h"
#include "models/training/transformer_file.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

void try_model(const Value& value) {
  try {
    const Transformer model = read_transformer(value);
    const ParameterCount count = parameters_of(model);
    assert(count.total > 0 && count.active > 0 && count.active <= count.total);
    assert(sequence_flop(model, model.sequence, FlopConvention::halved) > 0);
    const Layout layout;
    if (misfit_of(model, layout, model.sequence).empty())
      assert(largest_memory(model, layout, model.sequence).total_B() > 0);
    Transformer plain = model;
    plain.notes.clear();
    const Json written = to_json(plain);
    assert(read_transformer(Value(written, "written", "")) == plain);
  } catch (const InputError&) {
    // A refusal is an answer.
  }
}

template <class Read>
void try_read(Read read) {
  try {
    read();
  } catch (const InputError&) {
    // A refusal is an answer.
  }
}

}  // namespace
}  // namespace sgdsim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace sgdsim;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  try_read([&] {
    const Layout layout = parse_layout(text, "fuzz");
    assert(parse_layout(to_text(layout), "fuzz") == layout);
  });
  try {
    const Document document = Document::parse(text, "fuzz.json");
    try_model(document.root());
    try_read([&] { assert(read_gpu(document.root()).efficiency(1e9) > 0); });
    try_read([&] { read_layout(document.root()); });
  } catch (const InputError&) {
    // No JSON.
  }
  return 0;
}
