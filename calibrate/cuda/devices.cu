// Asking CUDA's runtime about GPUs.
#include <set>
#include <string>

#include "calibrate/cuda/devices.cuh"
#include "calibrate/cuda/values.cuh"
#include "sim/core/error.h"

namespace sgdsim::calibrate::cuda {
namespace {
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}
}  // namespace

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  SGDSIM_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

std::vector<int> usable_devices(const std::vector<int>& wanted) {
  int count = 0;
  const cudaError_t answer = cudaGetDeviceCount(&count);
  if (answer != cudaSuccess || count == 0) {
    static_cast<void>(cudaGetLastError());
    const std::string why = answer == cudaSuccess ? "no device" : cudaGetErrorString(answer);
    throw InputError("--backend", "no GPU that CUDA can use (" + why +
                                      "); --backend host measures the threads of this machine");
  }
  std::vector<int> devices = wanted;
  for (int device = 0; wanted.empty() && device < count; ++device) devices.push_back(device);
  if (std::set<int>(devices.begin(), devices.end()).size() < devices.size())
    throw InputError("--device", "a GPU stands twice; ranks share GPUs by themselves");
  for (const int device : devices)
    if (device >= count)
      throw InputError("--device", "there is no GPU " + std::to_string(device) + "; there are " +
                                       std::to_string(count) + ", from 0");
  return devices;
}

int64_t free_memory_B(int device) {
  const OnDevice there(device);
  std::size_t free_B = 0;
  std::size_t all_B = 0;
  SGDSIM_CUDA_CHECK(cudaMemGetInfo(&free_B, &all_B));
  return static_cast<int64_t>(free_B);
}

Machine machine_of(const std::vector<int>& devices) {
  Machine machine;
  machine.backend = "cuda";
  int driver = 0;
  int runtime = 0;
  SGDSIM_CUDA_CHECK(cudaDriverGetVersion(&driver));
  SGDSIM_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  machine.driver = "driver " + version_text(driver) + ", runtime " + version_text(runtime);
  for (const int device : devices) {
    cudaDeviceProp properties{};
    SGDSIM_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    machine.device += (machine.device.empty() ? "" : ", ") + std::string(properties.name);
    machine.clocks += (machine.clocks.empty() ? "" : ", ") +
                      std::to_string(attribute(cudaDevAttrClockRate, device) / 1000) +
                      " MHz, memory " +
                      std::to_string(attribute(cudaDevAttrMemoryClockRate, device) / 1000) + " MHz";
  }
  return machine;
}

}  // namespace sgdsim::calibrate::cuda
