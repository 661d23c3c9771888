// The host backend: a thread per stream, memcpy and additions. A real measurement of this machine's
// memory and of its threads, which on a machine with fewer cores than threads includes the
// scheduler.
//
// All threads wait at a gate before a run, so that starting them is not timed. A thread that waits
// for an event looks again and again, and yields in between: sleeping would cost tens of us.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "calibrate/backend.h"
#include "calibrate/host_steps.h"
#include "sim/core/error.h"

namespace sgdsim::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t cache_B = std::size_t{64} << 20;
constexpr int looks_before_yield = 64;
constexpr uint64_t stop = ~uint64_t{0};  // instead of the number of a run

template <class Condition>
void look_until(const Condition& is_true) {
  for (int looks = 0; !is_true(); ++looks)
    if (looks >= looks_before_yield) std::this_thread::yield();
}

class HostBackend : public Backend {
 public:
  ~HostBackend() override { stop_threads(); }

  Machine machine() const override { return machine_of_host(); }

  std::string placement(int ranks) const override {
    return std::to_string(ranks) + " threads of one machine";
  }

  int memories(int) const override { return 0; }

  std::string why_not(const Plan& plan) const override { return why_not_without_gpu(plan); }
  std::string why_no_room(int, const Room&) const override { return ""; }

  void prepare(int ranks, const Room& room) override {
    stop_threads();
    const auto count = static_cast<std::size_t>(ranks);
    const int64_t sizes_B[] = {room.data_B, room.scratch_B, room.host_B};
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      buffers_[i].assign(count, std::vector<std::byte>(static_cast<std::size_t>(sizes_B[i])));
    start_threads(count * static_cast<std::size_t>(room.lanes));
  }

  void write(int rank, const Stretch& stretch) override {
    calibrate::write(stretch, at({rank, Buffer::data, 0}));
  }
  int64_t first_difference(int rank, const Stretch& stretch) override {
    return calibrate::first_difference(stretch, at({rank, Buffer::data, 0}));
  }

  std::vector<std::byte> read(int rank, int64_t bytes) override {
    const std::byte* data = at({rank, Buffer::data, 0});
    return {data, data + bytes};
  }

  void load(const Plan& plan, Type type) override {
    type_ = type;
    for (auto& steps : steps_) steps.clear();
    // A plan with fewer lanes than were prepared uses the first threads only.
    for (const Step& step : plan.steps)
      steps_[static_cast<std::size_t>(step.stream)].push_back(step);
    if (passed_.size() < static_cast<std::size_t>(plan.events))
      passed_ = std::vector<std::atomic<uint64_t>>(static_cast<std::size_t>(plan.events));
    for (auto& event : passed_) event.store(0);
    used_threads_ = static_cast<std::size_t>(plan.streams());
  }

  void play() override { run_us(1); }

  double run_us(int) override {  // its clock is fine enough for one
    done_.store(0);
    at_gate_.store(0);
    const uint64_t run = ++run_;
    for (std::size_t i = 0; i < used_threads_; ++i) call(i, run);
    look_until([&] { return at_gate_.load() == used_threads_; });
    const Clock::time_point start = Clock::now();
    gate_.store(run, std::memory_order_release);
    look_until([&] { return done_.load(std::memory_order_acquire) == used_threads_; });
    Clock::time_point end = start;
    for (std::size_t i = 0; i < used_threads_; ++i) end = std::max(end, ends_[i]);
    return std::chrono::duration<double, std::micro>(end - start).count();
  }

  void flush_caches() override {
    if (flushed_.empty()) flushed_.resize(cache_B);
    for (std::size_t i = 0; i < flushed_.size(); i += 64)
      flushed_[i] = static_cast<std::byte>(static_cast<unsigned>(flushed_[i]) + 1);
  }

 private:
  void start_threads(std::size_t count) {
    steps_.assign(count, {});
    ends_.assign(count, {});
    calls_ = std::vector<std::atomic<uint64_t>>(count);
    for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this, i] { work(i); });
  }

  void stop_threads() {
    for (std::size_t i = 0; i < threads_.size(); ++i) call(i, stop);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  // Only the threads of the loaded plan are called; the others sleep.
  void call(std::size_t number, uint64_t run) {
    calls_[number].store(run);
    calls_[number].notify_one();
  }

  void work(std::size_t number) {
    uint64_t seen = 0;
    while (true) {
      calls_[number].wait(seen);
      seen = calls_[number].load();
      if (seen == stop) return;
      at_gate_.fetch_add(1);
      look_until([&] { return gate_.load(std::memory_order_acquire) == seen; });
      for (const Step& step : steps_[number]) play(step, seen);
      ends_[number] = Clock::now();
      done_.fetch_add(1, std::memory_order_release);
    }
  }

  std::byte* at(const Place& place) {
    auto& buffers = buffers_[static_cast<std::size_t>(place.buffer)];
    return buffers[static_cast<std::size_t>(place.rank)].data() + place.at_B;
  }

  void play(const Step& step, uint64_t run) {
    if (step.act == Act::mark)
      passed_[static_cast<std::size_t>(step.event)].store(run, std::memory_order_release);
    else if (step.act == Act::await)
      look_until([&] {
        return passed_[static_cast<std::size_t>(step.event)].load(std::memory_order_acquire) == run;
      });
    else
      play_in_memory(step, type_, [this](const Place& place) { return at(place); });
  }

  Type type_ = Type::float32;
  std::array<std::vector<std::vector<std::byte>>, 3> buffers_;  // by Buffer and rank
  std::vector<std::byte> flushed_;
  std::vector<std::vector<Step>> steps_;       // by thread
  std::vector<std::atomic<uint64_t>> passed_;  // by event: the run in which it was passed last
  std::vector<Clock::time_point> ends_;
  std::vector<std::thread> threads_;
  std::size_t used_threads_ = 0;
  uint64_t run_ = 0;
  std::vector<std::atomic<uint64_t>> calls_;  // by thread: the run that it gets ready for
  std::atomic<std::size_t> at_gate_ = 0;
  std::atomic<uint64_t> gate_ = 0;  // the run that has begun
  std::atomic<std::size_t> done_ = 0;
};

}  // namespace

std::unique_ptr<Backend> host_backend() { return std::make_unique<HostBackend>(); }

}  // namespace sgdsim::calibrate
