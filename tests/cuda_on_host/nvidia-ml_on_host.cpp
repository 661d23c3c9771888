// A stand-in of NVML: one kind of GPU, 72 C warm, at its power limit.
#include <cstring>

extern "C" {

using Handle = void*;

static int started = 0;

int nvmlInit_v2() {
  ++started;
  return 0;
}
int nvmlShutdown() {
  --started;
  return 0;
}
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  if (length < 11) return 7;
  std::strcpy(text, "580.159.03");
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, Handle* gpu) {
  static int one = 0;
  if (started != 1 || std::strncmp(bus, "0000:1", 6) != 0) return 6;
  *gpu = &one;
  return 0;
}
int nvmlDeviceGetClockInfo(Handle, unsigned which, unsigned* MHz) {
  *MHz = which == 1 ? 1755 : 2619;
  return which == 1 || which == 2 ? 0 : 2;
}
int nvmlDeviceGetTemperature(Handle, unsigned sensor, unsigned* degrees) {
  *degrees = 72;
  return sensor == 0 ? 0 : 2;
}
int nvmlDeviceGetPowerUsage(Handle, unsigned* milliwatts) {
  *milliwatts = 698'500;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(Handle, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(Handle, unsigned long long* bits) {
  *bits = 0x24;
  return 0;
}
int nvmlDeviceGetEccMode(Handle, unsigned* now, unsigned* later) {
  *now = *later = 1;
  return 0;
}
int nvmlDeviceGetTotalEccErrors(Handle, unsigned kind, unsigned since, unsigned long long* errors) {
  *errors = 3;
  return kind == 1 && since == 0 ? 0 : 2;
}
// Not supported, as on GPUs that cannot be divided.
int nvmlDeviceGetMigMode(Handle, unsigned*, unsigned*) { return 3; }
int nvmlDeviceGetComputeRunningProcesses_v3(Handle, unsigned* count, void* list) {
  *count = 2;
  return list == nullptr ? 7 : 0;
}
}
