// Plans on GPUs: a stream per stream, a kernel per sum, a memory copy per copy.
//
// A plan is captured into a graph, several runs of it if they are short, so that a sample is one
// launch: thousands of steps would otherwise fill the launch queue, and the CPU's launch rate would
// be measured instead of the GPU. Before the graph stands a gate that the host opens when
// everything has been queued; the time is that between two events at the graph's ends, within it,
// so that what starting a graph takes is in none. Where only results count there is no gate. NCCL
// is called in both ways: a batch of calls between two events, as a program calls it, which without
// a gate, behind which it might wait for itself, holds what the host takes for each; and the same
// batch in a graph, which holds the GPUs' part alone. Every wait ends: see wait.cuh. With more
// ranks than GPUs, ranks share a GPU in turns: each has its own buffers and streams, and a message
// between two of them is a copy within the GPU. Of several processes, each plays the streams of its
// own ranks.
//
// When it is wrong: on shared GPUs, time per byte is that of device memory, not of a link, and
// ranks take memory bandwidth from each other, which the models of links do not know.
#include <algorithm>
#include <cstdlib>
#include <cuda_runtime.h>
#include <limits>
#include <memory>

#include "calibrate/backend.h"
#include "calibrate/cuda/clocks.cuh"
#include "calibrate/cuda/content.cuh"
#include "calibrate/cuda/devices.cuh"
#include "calibrate/cuda/kernels.cuh"
#include "calibrate/cuda/nccl.cuh"
#include "calibrate/cuda/nvml.cuh"
#include "calibrate/cuda/products.cuh"
#include "calibrate/cuda/sparse.cuh"
#include "calibrate/cuda/step_queue.cuh"
#include "calibrate/cuda/values.cuh"
#include "calibrate/cuda/wait.cuh"
#include "calibrate/processes/local_plan.h"

namespace sgdsim::calibrate {
namespace {

using namespace cuda;

class CudaBackend : public Backend {
 public:
  // `processes`: none, or those among which the ranks of plans are divided.
  CudaBackend(std::vector<int> devices, double patience_s, Processes* processes)
      : devices_(std::move(devices)),
        processes_(processes),
        patience_{.seconds = patience_s, .is_interrupted = {}} {
    if (processes_ != nullptr) why_no_nccl_ = why_shared(devices_, *processes_);
    SGDSIM_CUDA_CHECK(cudaSetDevice(devices_.front()));
    notes_ = enable_peers(devices_);
    if (!notes_.empty()) why_no_peers_ = notes_.front();
    main_ = make_stream(devices_.front());
    beside_ = make_stream(devices_.front());
    start_ = make_event(devices_.front(), cudaEventDefault);
    stop_ = make_event(devices_.front(), cudaEventDefault);
    beside_stop_ = make_event(devices_.front(), cudaEventDefault);
    opened_ = make_event(devices_.front(), cudaEventDisableTiming);
    gate_ = make_host_memory(2 * sizeof(int));
    clocks_ = std::make_unique<Clocks>(devices_.front(), patience_);
  }

  Machine machine() const override {
    Machine machine = machine_of(devices_);
    machine.notes = notes_;
    if (!nccl_news().version.empty()) machine.notes.push_back("NCCL " + nccl_news().version);
    return machine;
  }

  std::string placement(int ranks) const override {
    const auto count = static_cast<int>(devices_.size());
    if (ranks <= count) return std::to_string(ranks) + " GPUs";
    if (count == 1) return std::to_string(ranks) + " virtual ranks on one GPU";
    return std::to_string(ranks) + " virtual ranks on " + std::to_string(count) + " GPUs";
  }

  int memories(int ranks) const override {
    return std::min(ranks, static_cast<int>(devices_.size()));
  }

  std::string why_not(const Plan& plan) const override {
    if (has_products(plan) && !why_no_products().empty()) return why_no_products();
    if (plan.ranks > 1 && plan.has_copies_by_kernel() && !why_no_peers_.empty())
      return why_no_peers_;
    if (!plan.has_calls()) {
      const bool is_here = processes_ == nullptr || is_apart(plan, processes_->division());
      return is_here ? "" : "between GPUs of different processes only NCCL is measured";
    }
    if (!nccl_news().why_not.empty()) return nccl_news().why_not;
    if (!why_no_nccl_.empty()) return why_no_nccl_;
    const Own own = own_ranks(plan.ranks);
    if (static_cast<std::size_t>(own.end - own.first) <= devices_.size()) return "";
    return "NCCL wants a GPU for each rank, and there are " + std::to_string(devices_.size()) +
           (processes_ == nullptr ? "" : " for each process");
  }

  // Each rank's buffers, and its room for selections and sorts.
  std::string why_no_room(int ranks, const Room& room) const override {
    const int64_t rank_B =
        room.data_B + room.scratch_B + SparseRoom::room_B(room.searched, room.sorted);
    const auto count = static_cast<int>(devices_.size());
    const Own own = own_ranks(ranks);
    const int64_t needed_B = rank_B * ((own.end - own.first + count - 1) / count);
    for (const int device : devices_)
      if (const auto free_B = free_memory_B(device); needed_B > free_B / 10 * 9)
        return "it needs " + std::to_string(needed_B >> 20) + " MiB of the memory of GPU " +
               std::to_string(device) + ", of which " + std::to_string(free_B >> 20) +
               " MiB are free";
    return "";
  }

  void set_interrupt(const std::function<bool()>& is_interrupted) override {
    patience_.is_interrupted = is_interrupted;
  }

  void prepare(int ranks, const Room& room) override {
    graph_ = {};
    beside_graph_ = {};
    library_.reset();
    queue_.prepare(own_ranks(ranks), room);
  }

  void write(int rank, const Stretch& stretch) override {
    content_.write(queue_.device_of(rank), queue_.at({rank, Buffer::data, 0}), stretch);
  }
  std::vector<std::byte> read(int rank, int64_t bytes) override {
    return content_.read(queue_.device_of(rank), queue_.at({rank, Buffer::data, 0}), bytes);
  }
  int64_t first_difference(int rank, const Stretch& stretch) override {
    return content_.first_difference(queue_.device_of(rank), queue_.at({rank, Buffer::data, 0}),
                                     stretch);
  }

  void load(const Plan& plan, Type type) override {
    graph_ = {};
    beside_graph_ = {};
    rounds_in_graph_ = 0;
    rounds_beside_ = 1;
    const bool is_set_alike = plan.setting == queue_.plan().setting;
    queue_.load(plan, type);
    if (plan.has_calls()) {
      if (!is_set_alike) library_.reset();
      if (!library_) library_ = nccl_ranks(team_of(plan), patience_);
      return;
    }
    if (!queue_.is_idle()) make_graph(1);
  }

  void play() override {
    const OnDevice there(devices_.front());
    if (queue_.is_idle()) return;
    if (plan().has_calls()) return call_library(1);
    if (rounds_in_graph_ != 1) make_graph(1);
    SGDSIM_CUDA_CHECK(cudaGraphLaunch(graph_.get(), main_.get()));
    wait_for_stream(main_.get(), patience_, "the streams of a plan");
    if (plan().beside == 0) return;
    if (beside_graph_.get() == nullptr) make_graph_beside();
    SGDSIM_CUDA_CHECK(cudaGraphLaunch(beside_graph_.get(), main_.get()));
    wait_for_stream(main_.get(), patience_, "the streams beside a plan");
  }

  double run_us(int rounds) override {
    const OnDevice there(devices_.front());
    clock_MHz_ = 0;
    if (queue_.is_idle()) return 0;
    if (plan().has_calls(false)) rounds = calls_in_batch;
    if (plan().has_calls(false) && !plan().in_graph) {
      call_library(rounds);
      return elapsed_us(start_, stop_) / rounds;
    }
    if (rounds_in_graph_ != rounds) make_graph(rounds);
    const double us = gated_us();
    return us / rounds;
  }

  // Of cudaEventElapsedTime, by its manual. NCCL is called in batches anyway.
  double resolution_us() const override {
    return plan().has_calls(false) || queue_.is_idle() ? 0 : 0.5;
  }

  double warm_up() override { return clocks_->warm_up(main_.get()); }
  double clock_MHz() const override { return clock_MHz_; }
  double highest_clock_MHz() const override { return clocks_->highest_MHz(); }
  std::vector<DeviceState> states() override { return states_of(devices_); }

  // Writes twice the cache of every GPU.
  void flush_caches() override {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const auto cache_B = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize, devices_[i]));
      if (flushed_.size() <= i) flushed_.push_back(make_memory(devices_[i], 2 * cache_B));
      const OnDevice there(devices_[i]);
      SGDSIM_CUDA_CHECK(cudaMemset(flushed_[i].get(), 0, 2 * cache_B));
      wait_for_stream(nullptr, patience_, "a flush of the caches");
    }
  }

 private:
  Own own_ranks(int ranks) const {
    if (processes_ == nullptr) return {0, ranks};
    const Division division = processes_->division();
    return {division.first(processes_->number(), ranks),
            division.first(processes_->number() + 1, ranks)};
  }
  const Plan& plan() const { return queue_.plan(); }

  static constexpr int calls_in_batch = 20;
  static constexpr int most_rounds_beside = 4096;

  static double elapsed_us(const Event& start, const Event& stop) {
    float ms = 0;
    SGDSIM_CUDA_CHECK(cudaEventElapsedTime(&ms, start.get(), stop.get()));
    return 1e3 * static_cast<double>(ms);
  }

  // Of the graph from when all are there. What is beside it must last longer; as often as that
  // takes, it is made twice as long.
  double gated_us() {
    while (true) {
      if (plan().beside > 0 && beside_graph_.get() == nullptr) make_graph_beside();
      const bool is_together = play_gated();
      if (!is_together) return std::numeric_limits<double>::quiet_NaN();
      if (plan().beside == 0 || elapsed_us(start_, beside_stop_) > elapsed_us(start_, stop_))
        return elapsed_us(start_, stop_);
      if (rounds_beside_ >= most_rounds_beside) return std::numeric_limits<double>::quiet_NaN();
      rounds_beside_ *= 2;
      beside_graph_ = {};
    }
  }

  // Whether the gate was open only when everything had been queued.
  bool play_gated() {
    auto* gate = static_cast<volatile int*>(gate_.get());
    gate[0] = 0;
    gate[1] = 0;
    launch_gate(gate, main_.get());
    clocks_->look_before(main_.get());
    if (plan().beside > 0) {
      SGDSIM_CUDA_CHECK(cudaEventRecord(opened_.get(), main_.get()));
      SGDSIM_CUDA_CHECK(cudaStreamWaitEvent(beside_.get(), opened_.get(), 0));
      SGDSIM_CUDA_CHECK(cudaGraphLaunch(beside_graph_.get(), beside_.get()));
      SGDSIM_CUDA_CHECK(cudaEventRecord(beside_stop_.get(), beside_.get()));
    }
    SGDSIM_CUDA_CHECK(cudaGraphLaunch(graph_.get(), main_.get()));
    clocks_->look_after(main_.get());
    gate[0] = 1;
    wait_for_stream(main_.get(), patience_, "the streams of a plan");
    if (plan().beside > 0) wait_for_stream(beside_.get(), patience_, "the streams beside a plan");
    clock_MHz_ = clocks_->mean_MHz();
    return gate[1] == 0;
  }

  // A graph of so many runs, each from the start to the end of all its streams.
  void make_graph(int rounds) {
    graph_ = {};
    graph_ = captured(false, [&] {
      record_in_graph(start_);
      queue_rounds(rounds, false);
      record_in_graph(stop_);
    });
    rounds_in_graph_ = rounds;
  }
  void make_graph_beside() {
    beside_graph_ = captured(true, [&] { queue_rounds(rounds_beside_, true); });
  }

  template <class F>
  GraphExec captured(bool beside_it, const F& queue) {
    cudaGraph_t graph = nullptr;
    const auto capture = [&] {
      const OnDevice there(devices_.front());
      SGDSIM_CUDA_CHECK(cudaStreamBeginCapture(main_.get(), cudaStreamCaptureModeThreadLocal));
      queue();
      SGDSIM_CUDA_CHECK(cudaStreamEndCapture(main_.get(), &graph));
    };
    plan().has_calls(beside_it) ? library_->during(capture) : capture();
    const Graph whole(graph);
    cudaGraphExec_t exec = nullptr;
    SGDSIM_CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));
    GraphExec answer(exec);
    // What a first launch would prepare: behind the gate it might wait for the gate itself.
    SGDSIM_CUDA_CHECK(cudaGraphUpload(exec, main_.get()));
    wait_for_stream(main_.get(), patience_, "the upload of a graph");
    return answer;
  }

  void record_in_graph(const Event& event) {
    SGDSIM_CUDA_CHECK(cudaEventRecordWithFlags(event.get(), main_.get(), cudaEventRecordExternal));
  }

  void queue_rounds(int rounds, bool beside_it) {
    queue_.queue_rounds(rounds, beside_it, main_, library_.get());
  }

  // Calls follow each other in the streams of the ranks; what is beside them follows once.
  void call_library(int rounds) {
    library_->during([&] {
      const OnDevice there(devices_.front());
      SGDSIM_CUDA_CHECK(cudaEventRecord(start_.get(), main_.get()));
      queue_.fork(false, main_);
      for (int round = 0; round < rounds; ++round) queue_.queue_steps(false, library_.get());
      queue_.join(false, main_);
      SGDSIM_CUDA_CHECK(cudaEventRecord(stop_.get(), main_.get()));
      if (plan().beside > 0) queue_rounds(1, true);
    });
    wait_for_stream(main_.get(), patience_, "a call of NCCL");
  }

  NcclTeam team_of(const Plan& plan) const {
    const Own own = own_ranks(plan.ranks);
    NcclTeam team{.ranks = plan.ranks,
                  .first = own.first,
                  .devices = {devices_.begin(), devices_.begin() + own.end - own.first},
                  .setting = plan.setting,
                  .has_name = processes_ == nullptr || processes_->is_first(),
                  .from_first = [](const std::string& name) { return name; }};
    if (processes_ != nullptr)
      team.from_first = [this](const std::string& name) { return processes_->all(name).front(); };
    return team;
  }
  std::vector<int> devices_;
  Processes* processes_;  // none: all ranks are here
  std::string why_no_nccl_;
  std::string why_no_peers_;
  StepQueue queue_{devices_};
  Patience patience_;
  std::vector<std::string> notes_;
  Stream main_;
  Stream beside_;
  Event start_;
  Event stop_;
  Event beside_stop_;
  Event opened_;  // the gate
  HostMemory gate_;
  Content content_{patience_};
  std::unique_ptr<Clocks> clocks_;  // of the first GPU
  double clock_MHz_ = 0;            // of the last run
  std::vector<Memory> flushed_;
  std::unique_ptr<NcclRanks> library_;
  GraphExec graph_;  // of the plan; none of calls of NCCL one by one
  int rounds_in_graph_ = 0;
  GraphExec beside_graph_;  // of what the plan has beside it
  int rounds_beside_ = 1;
};

}  // namespace

std::unique_ptr<Backend> cuda_backend(const std::vector<int>& devices, double patience_s,
                                      Processes* processes) {
  // Streams that share a hardware queue wait for each other; it is read by the first call of CUDA.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  std::vector<int> usable = usable_devices(devices);
  if (processes != nullptr) usable = share_of(usable, *processes);
  return std::make_unique<CudaBackend>(std::move(usable), patience_s, processes);
}

}  // namespace sgdsim::calibrate
