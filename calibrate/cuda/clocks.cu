// A block for each multiprocessor: an idle GPU spreads them so. Where two share one, the counters
// of another are not met, which the median does not mind.
#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

#include "calibrate/cuda/clocks.cuh"
#include "calibrate/cuda/devices.cuh"
#include "calibrate/statistics.h"

namespace sgdsim::calibrate::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double still = 0.01;
constexpr std::size_t least_rates = 16;  // that lie so close together: some 20 ms
constexpr std::chrono::seconds longest_warm_up{1};
#ifdef __CUDACC__
constexpr int64_t busy_rounds = 500'000;  // of 4 cycles: a millisecond or more
#else
constexpr int64_t busy_rounds = 4;
#endif

__device__ ClockLook looked() { return {cycles(), global_ns(), processor_number()}; }

__global__ void look_at_clocks(ClockLook* looks) { looks[blockIdx.x] = looked(); }

// The result is stored nowhere, which the compiler does not know.
__global__ void keep_busy(ClockLook* before, ClockLook* after, float* nowhere, int64_t rounds) {
  if (threadIdx.x == 0) before[blockIdx.x] = looked();
  float value = static_cast<float>(threadIdx.x);
  for (int64_t i = 0; i < rounds; ++i) value = value * 0.999F + 1;
  if (value < 0) *nowhere = value;
  if (threadIdx.x == 0) after[blockIdx.x] = looked();
}

bool is_still(const std::vector<double>& rates) {
  if (rates.size() < least_rates) return false;
  const auto from = rates.end() - static_cast<std::ptrdiff_t>(least_rates);
  const auto [least, most] = std::minmax_element(from, rates.end());
  return *least > 0 && *most <= (1 + still) * *least;
}

}  // namespace

Clocks::Clocks(int device, const Patience& patience)
    : device_(device),
      patience_(patience),
      processors_(static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount, device))),
      looks_(make_host_memory(2 * processors_ * sizeof(ClockLook))),
      nowhere_(make_host_memory(sizeof(float))) {
  // A kernel's first launch may wait for the GPU, and so must not come behind a gate.
  const OnDevice there(device);
  look(0, nullptr);
  wait_for_stream(nullptr, patience_, "a look at the clocks");
}

ClockLook* Clocks::looks(int which) const {
  return static_cast<ClockLook*>(looks_.get()) + static_cast<std::size_t>(which) * processors_;
}

void Clocks::look(int which, cudaStream_t stream) {
  launch(look_at_clocks, processors_, 1, stream, looks(which));
}
void Clocks::look_before(cudaStream_t stream) { look(0, stream); }
void Clocks::look_after(cudaStream_t stream) { look(1, stream); }

double Clocks::mean_MHz() const {
  std::map<unsigned, ClockLook> before;
  for (unsigned i = 0; i < processors_; ++i) before.emplace(looks(0)[i].processor, looks(0)[i]);
  std::vector<double> rates;
  for (unsigned i = 0; i < processors_; ++i) {
    const ClockLook& after = looks(1)[i];
    const auto found = before.find(after.processor);
    if (found == before.end() || after.ns <= found->second.ns) continue;
    rates.push_back(1e3 * static_cast<double>(after.cycles - found->second.cycles) /
                    static_cast<double>(after.ns - found->second.ns));
  }
  return rates.empty() ? 0 : median(std::move(rates));
}

double Clocks::warm_up(cudaStream_t stream) {
  const OnDevice there(device_);
  const Clock::time_point start = Clock::now();
  std::vector<double> rates;
  do {
    launch(keep_busy, processors_, threads_of_block, stream, looks(0), looks(1),
           static_cast<float*>(nowhere_.get()), busy_rounds);
    wait_for_stream(stream, patience_, "a kernel that warms the GPU up");
    rates.push_back(mean_MHz());
  } while (!is_still(rates) && Clock::now() - start < longest_warm_up);
  return rates.back();
}

double Clocks::highest_MHz() const {
  return static_cast<double>(attribute(cudaDevAttrClockRate, device_)) / 1000;
}

}  // namespace sgdsim::calibrate::cuda
