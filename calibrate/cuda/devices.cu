// Asking CUDA's runtime about GPUs.
#include <algorithm>
#include <array>
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

std::string bus_of(int device) {
  std::array<char, 32> name{};
  SGDSIM_CUDA_CHECK(cudaDeviceGetPCIBusId(name.data(), static_cast<int>(name.size()), device));
  return name.data();
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
    throw InputError("--device", "a GPU is given twice; ranks share GPUs by themselves");
  for (const int device : devices)
    if (device >= count)
      throw InputError("--device", "there is no GPU " + std::to_string(device) + "; there are " +
                                       std::to_string(count) + ", from 0");
  return devices;
}

std::vector<int> share_of(const std::vector<int>& devices, Processes& processes) {
  std::string seen = processes.node();
  for (const int device : devices) seen.append(" ").append(bus_of(device));
  const std::vector<std::string> all = processes.all(seen);
  const auto here = all.begin() + processes.number();
  const auto before = static_cast<std::size_t>(std::count(all.begin(), here, seen));
  const auto together = static_cast<std::size_t>(std::count(all.begin(), all.end(), seen));
  const std::size_t count = devices.size();
  if (count < together) return {devices[before % count]};
  return {devices.begin() + static_cast<std::ptrdiff_t>(before * count / together),
          devices.begin() + static_cast<std::ptrdiff_t>((before + 1) * count / together)};
}

std::string why_shared(const std::vector<int>& devices, Processes& processes) {
  std::string own;
  for (const int device : devices) own += bus_of(device) + " of " + processes.node() + "\n";
  std::set<std::string> known;
  std::string twice;
  for (const std::string& text : processes.all(own))
    for (std::size_t from = 0; from < text.size(); from = text.find('\n', from) + 1) {
      const std::string one = text.substr(from, text.find('\n', from) - from);
      if (!known.insert(one).second && twice.empty()) twice = one;
    }
  return twice.empty() ? "" : "NCCL wants a GPU for each rank, and two processes have GPU " + twice;
}

std::vector<std::string> enable_peers(const std::vector<int>& devices) {
  std::vector<std::string> notes;
  for (const int from : devices)
    for (const int to : devices) {
      if (from == to) continue;
      int can = 0;
      SGDSIM_CUDA_CHECK(cudaDeviceCanAccessPeer(&can, from, to));
      if (can == 0) {
        notes.push_back("GPU " + std::to_string(from) + " cannot access GPU " + std::to_string(to) +
                        ": copies are staged through the host");
        continue;
      }
      const OnDevice there(from);
      const cudaError_t answer = cudaDeviceEnablePeerAccess(to, 0);
      if (answer == cudaErrorPeerAccessAlreadyEnabled)
        static_cast<void>(cudaGetLastError());
      else
        SGDSIM_CUDA_CHECK(answer);
    }
  return notes;
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
  // Two transfers a clock, kHz, bits.
  machine.memory_GBps = 2e-6 * attribute(cudaDevAttrMemoryClockRate, devices.front()) *
                        attribute(cudaDevAttrGlobalMemoryBusWidth, devices.front()) / 8;
  return machine;
}

}  // namespace sgdsim::calibrate::cuda
