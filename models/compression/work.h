// What a pass over gradients takes on a worker's device: selection, encoding, copying.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/link/curve.h"

namespace sgdsim {

// start_up + per_byte * bytes + gamma * n log2 n for n elements; or a measured curve over bytes.
// The term n log2 n is that of the sort behind top-k selection (Shi and others, OMGS-SGD).
struct Work {
  Duration start_up;
  PerByte per_byte;
  double n_log2_n_ps = 0;
  Curve curve;

  Duration of(double elements, double size_B) const;
  // Nothing but so much per byte.
  bool is_rate() const { return start_up == Duration() && n_log2_n_ps == 0 && curve.empty(); }
};

// "p102_100" and other devices that were measured; {"start_up": ..., "per_byte": ...}; {"elements":
// 1000000, "time": ...} for gamma n log2 n that takes this time for so many elements; or
// {"samples": [{"size": ..., "time": ...}, ...]}.
Work read_work(const Value& value);
inline void read_value(const Value& value, Work& work) { work = read_work(value); }
Json schema_of_value(const Work& work);

// Encoding and decoding.
struct BothWays {
  std::optional<Work> compress;
  std::optional<Work> decompress;

  Duration compress_time(double elements, double size_B) const;
  Duration decompress_time(double elements, double size_B) const;
  // Without either, notes say that `doing` takes no time.
  void note(const std::string& doing, std::vector<std::string>& notes) const;
};
Fields fields_of(BothWays& work);
// The bytes of one value of the gradient.
Field element_field(Bytes& element);
// InputError unless it is a size of at least one byte.
void check_some_bytes(const Value& size);

}  // namespace sgdsim
