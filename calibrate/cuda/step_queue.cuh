// The buffers, streams and events of the ranks that this process has, and a plan's steps in them.
#pragma once

#include <memory>
#include <vector>

#include "calibrate/cuda/nccl.cuh"
#include "calibrate/cuda/products.cuh"
#include "calibrate/cuda/sparse.cuh"
#include "calibrate/cuda/values.cuh"
#include "calibrate/plan/plan.h"

namespace sgdsim::calibrate::cuda {

// Neighbouring ranks, those of this process.
struct Own {
  int first = 0;
  int end = 0;
};

class StepQueue {
 public:
  // Ranks share the devices in turns.
  explicit StepQueue(const std::vector<int>& devices) : devices_(devices) {}

  void prepare(const Own& own, const Room& room);
  void load(const Plan& plan, Type type);
  const Plan& plan() const { return plan_; }
  // Other processes have all the ranks.
  bool is_idle() const { return own_.first == own_.end; }

  int device_of(int rank) const {
    return devices_[static_cast<std::size_t>(rank - own_.first) % devices_.size()];
  }
  std::byte* at(const Place& place) const;

  // Within NcclRanks::during() where the plan has calls: `library` is told of every group of them.
  // All streams of a kind (timed, or beside what is timed) begin behind `main`, and it goes on
  // behind them; between the two their steps are queued.
  void fork(bool beside_it, const Stream& main);
  void queue_steps(bool beside_it, NcclRanks* library);
  void join(bool beside_it, const Stream& main);
  void queue_rounds(int rounds, bool beside_it, const Stream& main, NcclRanks* library) {
    for (int round = 0; round < rounds; ++round) {
      fork(beside_it, main);
      queue_steps(beside_it, library);
      join(beside_it, main);
    }
  }

 private:
  int device_of_stream(int stream) const { return device_of(plan_.rank_of(stream)); }
  bool is_own(const Step& step) const {
    const int rank = plan_.rank_of(step.stream);
    return rank >= own_.first && rank < own_.end;
  }
  // take(stream), of every own stream
  template <class F>
  void for_streams(const F& take) const {
    for (int i = plan_.stream(own_.first); i < plan_.stream(own_.end); ++i) take(i);
  }
  cudaStream_t stream(int number) const;
  std::vector<Event> make_events();
  std::vector<Room> sparse_rooms() const;
  void make_rooms();
  // Of a stream of the plan, among the own ones.
  std::size_t own_number(int stream) const {
    return static_cast<std::size_t>(stream - own_.first * plan_.room.lanes);
  }
  SparseRoom& room(int stream) { return rooms_[own_number(stream)]; }
  void queue_step(const Step& step, NcclRanks* library);

  std::vector<int> devices_;
  Own own_;  // of the ranks that were prepared
  std::vector<Memory> data_;
  std::vector<Memory> scratch_;
  std::vector<HostMemory> host_;
  std::vector<Stream> streams_;  // by rank and lane
  int lanes_ = 1;                // of a rank, that were prepared
  Plan plan_;
  Type type_ = Type::float32;
  std::vector<Event> events_;  // of the plan
  std::vector<Event> ends_;
  Event forked_;
  std::vector<SparseRoom> rooms_;       // by stream
  std::unique_ptr<Products> products_;  // of rank 0
};

bool has_products(const Plan& plan);

}  // namespace sgdsim::calibrate::cuda
