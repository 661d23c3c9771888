// The host backend of one of several processes: its ranks' buffers, and its part of every plan,
// played by this one thread, which sends and receives in between. Ranks of one process take turns.
#include <array>
#include <chrono>

#include "calibrate/host_steps.h"
#include "calibrate/processes/backends.h"
#include "calibrate/processes/local_player.h"

namespace sgdsim::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t cache_B = std::size_t{64} << 20;
constexpr int64_t most_in_message_B = (int64_t{1} << 31) - 1;  // MPI counts in int

class HostProcess : public Backend {
 public:
  explicit HostProcess(Processes& processes)
      : processes_(processes),
        player_(processes.messenger(), [this](const Place& place) { return at(place); }) {}

  Machine machine() const override { return machine_of_host(); }
  std::string placement(int ranks) const override { return std::to_string(ranks) + " ranks"; }
  int memories(int) const override { return 0; }

  std::string why_not(const Plan& plan) const override {
    if (const std::string why_not = why_not_without_gpu(plan); !why_not.empty()) return why_not;
    if (has_bare_waits(plan, processes_.division()))
      return "streams of different processes wait for messages only";
    if (largest_message_B(plan, processes_.division()) > most_in_message_B)
      return "MPI takes less than 2 GiB in a message";
    return "";
  }
  std::string why_no_room(int, const Room&) const override { return ""; }

  void prepare(int ranks, const Room& room) override {
    const Division division = processes_.division();
    const int64_t sizes_B[] = {room.data_B, room.scratch_B, room.host_B};
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      buffers_[i].assign(static_cast<std::size_t>(ranks), {});
      for (int rank = 0; rank < ranks; ++rank)
        if (division.process_of(rank, ranks) == processes_.number())
          buffers_[i][static_cast<std::size_t>(rank)].resize(static_cast<std::size_t>(sizes_B[i]));
    }
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
    player_.load(local_plan(plan, processes_.division(), processes_.number()), type);
  }

  void play() override {
    player_.start();
    processes_.wait_for(
        [this] {
          bool has_advanced = true;
          while (has_advanced) {
            has_advanced = player_.advance_sends();
            for (int stream = 0; stream < player_.streams(); ++stream)
              has_advanced = player_.advance(stream) || has_advanced;
          }
          return player_.is_done();
        },
        "the messages of a plan");
  }

  double run_us(int) override {
    const Clock::time_point start = Clock::now();
    play();
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }

  void flush_caches() override {
    if (flushed_.empty()) flushed_.resize(cache_B);
    for (std::size_t i = 0; i < flushed_.size(); i += 64)
      flushed_[i] = static_cast<std::byte>(static_cast<unsigned>(flushed_[i]) + 1);
  }

 private:
  std::byte* at(const Place& place) {
    auto& buffers = buffers_[static_cast<std::size_t>(place.buffer)];
    return buffers[static_cast<std::size_t>(place.rank)].data() + place.at_B;
  }

  Processes& processes_;
  std::array<std::vector<std::vector<std::byte>>, 3> buffers_;  // by Buffer and rank
  LocalPlayer player_;
  std::vector<std::byte> flushed_;
};

}  // namespace

std::unique_ptr<Backend> host_process(Processes& processes) {
  return std::make_unique<HostProcess>(processes);
}

}  // namespace sgdsim::calibrate
