// What this machine says of itself.
#include <fstream>
#include <sys/utsname.h>
#include <thread>

#include "calibrate/backend.h"

namespace sgdsim::calibrate {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

std::string operating_system() {
  utsname name{};
  if (uname(&name) != 0) return "unknown";
  return std::string(name.sysname) + " " + name.release;
}

}  // namespace

Machine machine_of_host() {
  return {.backend = "host",
          .device =
              processor() + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads",
          .driver = operating_system(),
          .clocks = "",
          .notes = {}};
}

}  // namespace sgdsim::calibrate
