// The first looks follow each other at once; then the host sleeps in between.
#include <algorithm>
#include <chrono>
#include <thread>

#include "calibrate/cuda/values.cuh"
#include "calibrate/cuda/wait.cuh"

namespace sgdsim::calibrate::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double patience_once_interrupted_s = 5;
constexpr int looks_at_once = 10'000;

bool gave_up = false;

std::string seconds_text(double seconds) {
  return seconds < 1 ? "less than a second" : std::to_string(std::llround(seconds)) + " s";
}

}  // namespace

bool has_given_up() { return gave_up; }
void forget_given_up() { gave_up = false; }

void wait_for(const std::function<cudaError_t()>& answer, const Patience& patience,
              const std::string& what) {
  const Clock::time_point start = Clock::now();
  double limit_s = patience.seconds;
  bool was_interrupted = false;
  for (int looks = 0;; ++looks) {
    const cudaError_t now = answer();
    if (now != cudaErrorNotReady) return check(now, what.c_str(), __FILE__, __LINE__);
    if (looks < looks_at_once && looks % 64 != 0) continue;
    const double waited_s = std::chrono::duration<double>(Clock::now() - start).count();
    if (!was_interrupted && patience.is_interrupted && patience.is_interrupted()) {
      was_interrupted = true;
      limit_s = std::min(limit_s, waited_s + patience_once_interrupted_s);
    }
    if (waited_s > limit_s) {
      gave_up = true;
      throw std::runtime_error(what + " did not end within " + seconds_text(waited_s) +
                               ": the GPU hangs, or another program keeps it busy");
    }
    if (looks >= looks_at_once) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void wait_for_stream(cudaStream_t stream, const Patience& patience, const std::string& what) {
  wait_for([stream] { return cudaStreamQuery(stream); }, patience, what);
}

void wait_for_event(cudaEvent_t event, const Patience& patience, const std::string& what) {
  wait_for([event] { return cudaEventQuery(event); }, patience, what);
}

}  // namespace sgdsim::calibrate::cuda
