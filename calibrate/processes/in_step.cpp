// A run begins when all processes have met, and takes as long as the slowest takes from there on.
// Processes leave the meeting a little apart (a few us where cores are free), which is in the times
// of all that exchange messages, but not in that of an empty run.
#include <cmath>
#include <limits>

#include "calibrate/processes/backends.h"

namespace sgdsim::calibrate {
namespace {

class InStep : public Backend {
 public:
  InStep(std::unique_ptr<Backend> own, Processes& processes)
      : own_(std::move(own)), processes_(processes) {
    machine_ = own_->machine();
    for (const std::string& device : processes_.all(machine_.device))
      if (machine_.device.find(device) == std::string::npos) machine_.device += ", " + device;
    const int nodes = processes_.nodes(processes_.count());
    machine_.notes.push_back(std::to_string(processes_.count()) + " processes on " +
                             std::to_string(nodes) + (nodes == 1 ? " node, " : " nodes, ") +
                             processes_.version());
    machine_.notes.emplace_back(
        "a time is that of the slowest process, from where all have met; they leave that meeting a "
        "little apart");
  }

  Machine machine() const override { return machine_; }
  int processes(int ranks) const override { return std::min(ranks, processes_.count()); }
  int nodes(int ranks) const override { return processes_.nodes(processes(ranks)); }

  // "4 processes on 2 nodes", "8 ranks, 2 a process, on 1 node", "4 ranks on GPUs, 1 a process, on
  // 2 nodes".
  std::string placement(int ranks) const override {
    const int used = processes(ranks);
    std::string text = std::to_string(ranks);
    if (machine_.backend == "cuda") text += ranks == 1 ? " rank on a GPU," : " ranks on GPUs,";
    if (ranks == used && machine_.backend != "cuda")
      text += used == 1 ? " process" : " processes";
    else
      text += (machine_.backend == "cuda" ? " " : " ranks, ") + std::to_string(ranks / used) +
              (ranks % used == 0 ? "" : " or " + std::to_string(ranks / used + 1)) + " a process,";
    const int nodes = processes_.nodes(used);
    return text + " on " + std::to_string(nodes) + (nodes == 1 ? " node" : " nodes");
  }

  int memories(int ranks) const override { return own_->memories(ranks) * processes(ranks); }
  std::string why_not(const Plan& plan) const override { return first_of(own_->why_not(plan)); }
  std::string why_no_room(int ranks, const Room& room) const override {
    return first_of(own_->why_no_room(ranks, room));
  }

  double resolution_us() const override { return own_->resolution_us(); }

  void prepare(int ranks, const Room& room) override { own_->prepare(ranks, room); }
  void write(int rank, const Stretch& stretch) override { own_->write(rank, stretch); }
  int64_t first_difference(int rank, const Stretch& stretch) override {
    return own_->first_difference(rank, stretch);
  }
  std::vector<std::byte> read(int rank, int64_t bytes) override { return own_->read(rank, bytes); }
  void load(const Plan& plan, Type type) override {
    with_news([&] { own_->load(plan, type); });
  }
  double warm_up() override { return own_->warm_up(); }
  double clock_MHz() const override { return own_->clock_MHz(); }
  double highest_clock_MHz() const override { return own_->highest_clock_MHz(); }
  std::vector<DeviceState> states() override { return own_->states(); }
  void flush_caches() override { own_->flush_caches(); }
  void set_interrupt(const std::function<bool()>& is_interrupted) override {
    processes_.set_interrupt(is_interrupted);
    own_->set_interrupt(
        [this, is_interrupted] { return is_interrupted() || processes_.has_news(); });
  }

  // What ranks write before a run must not meet what others still do.
  void play() override {
    processes_.meet();
    with_news([&] { own_->play(); });
  }

  double run_us(int rounds) override {
    processes_.meet();
    double own_us = 0;
    with_news([&] { own_us = own_->run_us(rounds); });
    const double us =
        processes_.most(std::isnan(own_us) ? std::numeric_limits<double>::infinity() : own_us);
    return std::isinf(us) ? std::numeric_limits<double>::quiet_NaN() : us;
  }

  bool has(int rank, int ranks) const override {
    return processes_.division().process_of(rank, ranks) == processes_.number();
  }
  bool any(bool is_so) override { return processes_.any(is_so); }
  std::vector<std::string> of_all(std::vector<std::string> lines) override {
    if (!processes_.any(!lines.empty())) return {};
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    lines.clear();
    for (const std::string& one : processes_.all(text))
      for (std::size_t from = 0; from < one.size();) {
        const std::size_t end = one.find('\n', from);
        lines.push_back(one.substr(from, end - from));
        from = end + 1;
      }
    return lines;
  }

 private:
  // What fails here because another process has failed, ends with the sentence of that one.
  template <class F>
  void with_news(const F& call) {
    try {
      call();
    } catch (const std::exception&) {
      processes_.hear_who_ended();
      throw;
    }
  }

  // The reason of the first process that has one.
  std::string first_of(const std::string& reason) const {
    if (!processes_.any(!reason.empty())) return "";
    for (const std::string& one : processes_.all(reason))
      if (!one.empty()) return one;
    return "";
  }

  std::unique_ptr<Backend> own_;
  Processes& processes_;
  Machine machine_;
};

}  // namespace

std::unique_ptr<Backend> in_step(std::unique_ptr<Backend> own, Processes& processes) {
  return std::make_unique<InStep>(std::move(own), processes);
}

}  // namespace sgdsim::calibrate
