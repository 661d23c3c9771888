// Where plans are played: the threads of this machine, or GPUs.
//
// An interface with virtual functions, because which of the two it is is known when the program
// runs, and because nothing here is called within what is timed.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/element.h"
#include "calibrate/plan/plan.h"
#include "calibrate/stretch.h"

namespace sgdsim::calibrate {

// Everything needed to say what was measured.
struct Machine {
  std::string backend;
  std::string device;
  std::string driver;
  std::string clocks;
  double memory_GBps = 0;  // of one GPU, by its bus; 0: not known
  std::vector<std::string> notes;
};

Machine machine_of_host();

// What the driver says of a GPU at some moment. What it does not say is empty.
struct DeviceState {
  std::string device = {};  // its name and place
  std::string driver = {};
  std::optional<double> temperature_C = {};
  std::optional<double> power_W = {};
  std::optional<double> power_limit_W = {};
  std::optional<double> clock_MHz = {};  // of the multiprocessors
  std::optional<double> memory_clock_MHz = {};
  std::optional<bool> ecc = {};
  std::optional<int64_t> ecc_errors = {};  // uncorrected, since the driver was loaded
  std::optional<bool> mig = {};
  std::optional<int64_t> processes = {};    // that compute on it, this one among them
  std::vector<std::string> slowed_by = {};  // why its clock is lower than it might be
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  virtual Machine machine() const = 0;
  // How the ranks of a plan are placed: "threads", "virtual ranks on one GPU", ...
  virtual std::string placement(int ranks) const = 0;
  // In how many processes, on how many nodes; 0 processes: in this one, and nobody asked.
  virtual int processes(int ranks) const { return static_cast<void>(ranks), 0; }
  virtual int nodes(int ranks) const { return static_cast<void>(ranks), 1; }

  // How many memories the ranks' buffers lie in, each of which a copy keeps busy; 0 where it does
  // not, as the memory of a CPU with several cores.
  virtual int memories(int ranks) const = 0;
  // Why this plan cannot be played here; empty if it can.
  virtual std::string why_not(const Plan& plan) const = 0;
  // Why there is no memory for such room at so many ranks; empty if there is.
  virtual std::string why_no_room(int ranks, const Room& room) const = 0;

  // Room for plans of so many ranks.
  virtual void prepare(int ranks, const Room& room) = 0;
  virtual void write(int rank, const Stretch& stretch) = 0;
  virtual std::vector<std::byte> read(int rank, int64_t bytes) = 0;
  // The first byte of the stretch that is something else, counted from the start of the data, or
  // -1.
  virtual int64_t first_difference(int rank, const Stretch& stretch) = 0;
  // Takes the plan that the next runs play.
  virtual void load(const Plan& plan, Type type) = 0;
  // Plays it once, for its results; streams begin when they can.
  virtual void play() = 0;
  // Plays it, all streams from one moment on; the time until the last one is done, of one time if
  // it is played several times. NaN if they did not begin together. `rounds`: as often, one run
  // after the other between the two looks at the clock, each from its start to its end.
  virtual double run_us(int rounds) = 0;
  // Of that clock, where it is coarse.
  virtual double resolution_us() const { return 0; }
  // Keeps the GPU busy until its clock rate stands still, as after a pause. The rate in MHz; 0
  // where it is not known.
  virtual double warm_up() { return 0; }
  // The mean clock rate during the last run that was timed, and the highest that the device has.
  virtual double clock_MHz() const { return 0; }
  virtual double highest_clock_MHz() const { return 0; }
  // How the devices are; none where nobody can say.
  virtual std::vector<DeviceState> states() { return {}; }
  // Touches enough memory that nothing of the data is left in a cache.
  virtual void flush_caches() = 0;
  // Several processes measure together: which ranks of a plan this one has, and what all of them
  // agree upon. They ask in step.
  virtual bool has(int rank, int ranks) const { return static_cast<void>(ranks), rank >= 0; }
  virtual bool any(bool is_so) { return is_so; }
  virtual std::vector<std::string> of_all(std::vector<std::string> lines) { return lines; }
  // What long waits ask, so that they end soon after somebody interrupts.
  virtual void set_interrupt(const std::function<bool()>& is_interrupted) {
    static_cast<void>(is_interrupted);
  }
};

std::unique_ptr<Backend> host_backend();
// InputError with the reason if there is no GPU, or if the program was built without CUDA.
// `devices`: those to use, in order of ranks; empty: all; more ranks than devices share them.
// What has not ended after `patience_s` is given up, with a sentence.
inline constexpr double usual_patience_s = 60;
// Of several processes, each has its share of its node's GPUs and of the ranks.
class Processes;
std::unique_ptr<Backend> cuda_backend(const std::vector<int>& devices,
                                      double patience_s = usual_patience_s,
                                      Processes* processes = nullptr);

}  // namespace sgdsim::calibrate
