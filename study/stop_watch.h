// Seconds that have passed: for what people are told, and for how much is checked, never for a
// result.
#pragma once

#include <chrono>

namespace sgdsim {

class StopWatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace sgdsim
