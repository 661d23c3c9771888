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
// The field of this name, if it is there.
std::optional<Work> find_work(Object& fields, const std::string& name);

struct BothWays {
  Work compress;
  Work decompress;
};
// The fields `compress` and `decompress`; without either, `notes` say that `doing` takes no time.
BothWays read_both_ways(Object& fields, const std::string& doing, std::vector<std::string>& notes);
// The field `element`: the bytes of one value, 4 if not given.
int64_t read_element(Object& fields);

}  // namespace sgdsim
