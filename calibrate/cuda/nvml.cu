// NVML is a library of the driver, not of the toolkit: it is opened by its name, and its functions
// are looked up by theirs. What a version of it does not have, or a GPU does not tell, stays empty.
// Its interface is one of plain numbers, so that its header is not needed: the values below are
// those of NVML's reference manual, "Device Enums" and "Clocks throttle reasons".
#include <array>
#include <dlfcn.h>
#include <string>
#include <utility>

#include "calibrate/cuda/devices.cuh"
#include "calibrate/cuda/nvml.cuh"

namespace sgdsim::calibrate::cuda {
namespace {

using Handle = void*;
using Number = unsigned int;
using LongNumber = unsigned long long;

constexpr int success = 0;
constexpr int insufficient_size = 7;
constexpr Number core_temperature = 0;
constexpr Number processor_clock = 1;
constexpr Number memory_clock = 2;
constexpr Number uncorrected = 1;
constexpr Number since_load = 0;

constexpr std::array<std::pair<LongNumber, const char*>, 9> slow_reasons{
    {{0x1, "idle"},
     {0x2, "clocks set by an application"},
     {0x4, "power limit"},
     {0x8, "hardware slowdown"},
     {0x10, "sync boost"},
     {0x20, "temperature, by software"},
     {0x40, "temperature, by hardware"},
     {0x80, "power brake"},
     {0x100, "clocks set for the display"}}};

// The library, opened and started; closed again, so that it holds nothing while something is timed.
class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    is_started_ = call<>("nvmlInit_v2") == success;
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (is_started_) static_cast<void>(call<>("nvmlShutdown"));
    if (library_ != nullptr) dlclose(library_);
  }

  bool is_started() const { return is_started_; }

  // -1 where there is no such function.
  template <class... Parameters>
  int call(const char* name, Parameters... parameters) const {
    if (library_ == nullptr) return -1;
    auto* const function = reinterpret_cast<int (*)(Parameters...)>(dlsym(library_, name));
    return function == nullptr ? -1 : function(parameters...);
  }

 private:
  void* library_;
  bool is_started_ = false;
};

std::optional<double> scaled(int answer, Number value, double scale) {
  if (answer != success) return std::nullopt;
  return scale * static_cast<double>(value);
}

std::vector<std::string> reasons_of(LongNumber bits) {
  std::vector<std::string> reasons;
  for (const auto& [bit, name] : slow_reasons)
    if ((bits & bit) != 0) reasons.emplace_back(name);
  return reasons;
}

std::string driver_of(const Nvml& nvml) {
  std::array<char, 96> text{};
  const auto room = static_cast<Number>(text.size() - 1);
  return nvml.call<char*, Number>("nvmlSystemGetDriverVersion", text.data(), room) == success
             ? text.data()
             : "";
}

void ask_rates(const Nvml& nvml, Handle gpu, DeviceState& state) {
  Number value = 0;
  const auto rate = [&](Number which) {
    const int answer =
        nvml.call<Handle, Number, Number*>("nvmlDeviceGetClockInfo", gpu, which, &value);
    return scaled(answer, value, 1);
  };
  state.clock_MHz = rate(processor_clock);
  state.memory_clock_MHz = rate(memory_clock);
  const int temperature =
      nvml.call<Handle, Number, Number*>("nvmlDeviceGetTemperature", gpu, core_temperature, &value);
  state.temperature_C = scaled(temperature, value, 1);
  const int power = nvml.call<Handle, Number*>("nvmlDeviceGetPowerUsage", gpu, &value);
  state.power_W = scaled(power, value, 1e-3);
  const int limit = nvml.call<Handle, Number*>("nvmlDeviceGetEnforcedPowerLimit", gpu, &value);
  state.power_limit_W = scaled(limit, value, 1e-3);
  LongNumber bits = 0;
  if (nvml.call<Handle, LongNumber*>("nvmlDeviceGetCurrentClocksThrottleReasons", gpu, &bits) ==
      success)
    state.slowed_by = reasons_of(bits);
}

void ask_modes(const Nvml& nvml, Handle gpu, DeviceState& state) {
  Number now = 0;
  Number later = 0;
  if (nvml.call<Handle, Number*, Number*>("nvmlDeviceGetEccMode", gpu, &now, &later) == success)
    state.ecc = now != 0;
  LongNumber errors = 0;
  if (nvml.call<Handle, Number, Number, LongNumber*>("nvmlDeviceGetTotalEccErrors", gpu,
                                                     uncorrected, since_load, &errors) == success)
    state.ecc_errors = static_cast<int64_t>(errors);
  if (nvml.call<Handle, Number*, Number*>("nvmlDeviceGetMigMode", gpu, &now, &later) == success)
    state.mig = now != 0;
  // With no room for a list it says how long that would be.
  Number processes = 0;
  const int answer = nvml.call<Handle, Number*, void*>("nvmlDeviceGetComputeRunningProcesses_v3",
                                                       gpu, &processes, nullptr);
  if (answer == success || answer == insufficient_size) state.processes = processes;
}

}  // namespace

std::vector<DeviceState> states_of(const std::vector<int>& devices) {
  const Nvml nvml;
  if (!nvml.is_started()) return {};
  std::vector<DeviceState> states;
  for (const int device : devices) {
    const std::string bus = bus_of(device);
    DeviceState state{.device = bus, .driver = driver_of(nvml)};
    Handle gpu = nullptr;
    if (nvml.call<const char*, Handle*>("nvmlDeviceGetHandleByPciBusId_v2", bus.c_str(), &gpu) ==
        success) {
      ask_rates(nvml, gpu, state);
      ask_modes(nvml, gpu, state);
    }
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace sgdsim::calibrate::cuda
