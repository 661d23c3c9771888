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
    rooms_.clear();
    library_.reset();
    data_.clear();
    scratch_.clear();
    host_.clear();
    streams_.clear();
    lanes_ = room.lanes;
    own_ = own_ranks(ranks);
    for (int rank = own_.first; rank < own_.end; ++rank) {
      data_.push_back(make_memory(device_of(rank), static_cast<std::size_t>(room.data_B)));
      scratch_.push_back(make_memory(device_of(rank), static_cast<std::size_t>(room.scratch_B)));
      host_.push_back(make_host_memory(static_cast<std::size_t>(room.host_B)));
      for (int lane = 0; lane < room.lanes; ++lane)
        streams_.push_back(make_stream(device_of(rank)));
    }
  }

  void write(int rank, const Stretch& stretch) override {
    content_.write(device_of(rank), at({rank, Buffer::data, 0}), stretch);
  }
  std::vector<std::byte> read(int rank, int64_t bytes) override {
    return content_.read(device_of(rank), at({rank, Buffer::data, 0}), bytes);
  }
  int64_t first_difference(int rank, const Stretch& stretch) override {
    return content_.first_difference(device_of(rank), at({rank, Buffer::data, 0}), stretch);
  }

  void load(const Plan& plan, Type type) override {
    graph_ = {};
    beside_graph_ = {};
    rounds_in_graph_ = 0;
    rounds_beside_ = 1;
    const bool is_set_alike = plan.library == plan_.library;
    plan_ = plan;
    type_ = type;
    events_ = make_events();
    make_rooms();
    if (has_products(plan_) && !products_) products_ = make_products(devices_.front());
    if (plan_.has_calls()) {
      if (!is_set_alike) library_.reset();
      if (!library_) library_ = nccl_ranks(team_of(plan.ranks), patience_);
      return;
    }
    if (!is_idle()) make_graph(1);
  }

  void play() override {
    const OnDevice there(devices_.front());
    if (is_idle()) return;
    if (plan_.has_calls()) return call_library(1);
    if (rounds_in_graph_ != 1) make_graph(1);
    SGDSIM_CUDA_CHECK(cudaGraphLaunch(graph_.get(), main_.get()));
    wait_for_stream(main_.get(), patience_, "the streams of a plan");
    if (plan_.beside == 0) return;
    if (beside_graph_.get() == nullptr) make_graph_beside();
    SGDSIM_CUDA_CHECK(cudaGraphLaunch(beside_graph_.get(), main_.get()));
    wait_for_stream(main_.get(), patience_, "the streams beside a plan");
  }

  double run_us(int rounds) override {
    const OnDevice there(devices_.front());
    clock_MHz_ = 0;
    if (is_idle()) return 0;
    if (plan_.has_calls(false)) rounds = calls_in_batch;
    if (plan_.has_calls(false) && !plan_.in_graph) {
      call_library(rounds);
      return elapsed_us(start_, stop_) / rounds;
    }
    if (rounds_in_graph_ != rounds) make_graph(rounds);
    const double us = gated_us();
    return us / rounds;
  }

  // Of cudaEventElapsedTime, by its manual. NCCL is called in batches anyway.
  double resolution_us() const override { return plan_.has_calls(false) || is_idle() ? 0 : 0.5; }

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
  // Neighbouring ranks, those of this process.
  struct Own {
    int first = 0;
    int end = 0;
  };
  Own own_ranks(int ranks) const {
    if (processes_ == nullptr) return {0, ranks};
    const Division division = processes_->division();
    return {division.first(processes_->number(), ranks),
            division.first(processes_->number() + 1, ranks)};
  }
  static bool has_products(const Plan& plan) {
    return std::any_of(plan.steps.begin(), plan.steps.end(),
                       [](const Step& step) { return step.act == Act::product; });
  }
  bool is_own(const Step& step) const {
    const int rank = plan_.rank_of(step.stream);
    return rank >= own_.first && rank < own_.end;
  }
  // Other processes have all the ranks.
  bool is_idle() const { return own_.first == own_.end; }
  // take(stream), of every own stream
  template <class F>
  void for_streams(const F& take) const {
    for (int i = plan_.stream(own_.first); i < plan_.stream(own_.end); ++i) take(i);
  }

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
      if (plan_.beside > 0 && beside_graph_.get() == nullptr) make_graph_beside();
      const bool is_together = play_gated();
      if (!is_together) return std::numeric_limits<double>::quiet_NaN();
      if (plan_.beside == 0 || elapsed_us(start_, beside_stop_) > elapsed_us(start_, stop_))
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
    if (plan_.beside > 0) {
      SGDSIM_CUDA_CHECK(cudaEventRecord(opened_.get(), main_.get()));
      SGDSIM_CUDA_CHECK(cudaStreamWaitEvent(beside_.get(), opened_.get(), 0));
      SGDSIM_CUDA_CHECK(cudaGraphLaunch(beside_graph_.get(), beside_.get()));
      SGDSIM_CUDA_CHECK(cudaEventRecord(beside_stop_.get(), beside_.get()));
    }
    SGDSIM_CUDA_CHECK(cudaGraphLaunch(graph_.get(), main_.get()));
    clocks_->look_after(main_.get());
    gate[0] = 1;
    wait_for_stream(main_.get(), patience_, "the streams of a plan");
    if (plan_.beside > 0) wait_for_stream(beside_.get(), patience_, "the streams beside a plan");
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
    plan_.has_calls(beside_it) ? library_->during(capture) : capture();
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
    for (int round = 0; round < rounds; ++round) {
      fork(beside_it);
      queue_steps(beside_it);
      join(beside_it);
    }
  }

  // Calls follow each other in the streams of the ranks; what is beside them follows once.
  void call_library(int rounds) {
    library_->during([&] {
      const OnDevice there(devices_.front());
      SGDSIM_CUDA_CHECK(cudaEventRecord(start_.get(), main_.get()));
      fork(false);
      for (int round = 0; round < rounds; ++round) queue_steps(false);
      join(false);
      SGDSIM_CUDA_CHECK(cudaEventRecord(stop_.get(), main_.get()));
      if (plan_.beside > 0) queue_rounds(1, true);
    });
    wait_for_stream(main_.get(), patience_, "a call of NCCL");
  }

  int device_of(int rank) const {
    return devices_[static_cast<std::size_t>(rank - own_.first) % devices_.size()];
  }
  int device_of_stream(int stream) const { return device_of(plan_.rank_of(stream)); }
  NcclTeam team_of(int ranks) const {
    NcclTeam team{.ranks = ranks,
                  .first = own_.first,
                  .devices = {devices_.begin(), devices_.begin() + own_.end - own_.first},
                  .setting = plan_.library,
                  .has_name = processes_ == nullptr || processes_->is_first(),
                  .from_first = [](const std::string& name) { return name; }};
    if (processes_ != nullptr)
      team.from_first = [this](const std::string& name) { return processes_->all(name).front(); };
    return team;
  }
  // A plan may have fewer lanes than were prepared; its ranks stay where they are.
  cudaStream_t stream(int number) const {
    const int used = plan_.room.lanes;
    const int at = (number / used - own_.first) * lanes_ + number % used;
    return streams_[static_cast<std::size_t>(at)].get();
  }

  // One event for each of the plan's, one per stream for its end, one for the start.
  std::vector<Event> make_events() {
    std::vector<Event> events(static_cast<std::size_t>(plan_.events));
    for (const Step& step : plan_.steps)
      if (step.act == Act::mark && is_own(step))
        events[static_cast<std::size_t>(step.event)] =
            make_event(device_of_stream(step.stream), cudaEventDisableTiming);
    ends_.clear();
    for_streams(
        [&](int i) { ends_.push_back(make_event(device_of_stream(i), cudaEventDisableTiming)); });
    forked_ = make_event(devices_.front(), cudaEventDisableTiming);
    return events;
  }

  // What each stream searches and sorts at once.
  std::vector<Room> sparse_rooms() const {
    std::vector<Room> rooms(static_cast<std::size_t>(plan_.streams()));
    for (const Step& step : plan_.steps) {
      Room& most = rooms[static_cast<std::size_t>(step.stream)];
      if (step.act == Act::select)
        most.grow_to({.searched = step.bytes / size_of(type_), .sorted = step.count});
      if (step.act == Act::merge) most.grow_to({.sorted = 2 * step.count});
    }
    return rooms;
  }

  // Sorts need memory, which cannot be had while a graph is captured.
  void make_rooms() {
    const std::vector<Room> rooms = sparse_rooms();
    rooms_.clear();
    for_streams([&](int i) {
      const Room& room = rooms[static_cast<std::size_t>(i)];
      rooms_.push_back(room.sorted > 0 ? SparseRoom(device_of_stream(i), room.searched, room.sorted)
                                       : SparseRoom());
    });
  }

  void fork(bool beside_it) {
    SGDSIM_CUDA_CHECK(cudaEventRecord(forked_.get(), main_.get()));
    for_streams([&](int i) {
      if (plan_.is_beside(i) == beside_it)
        SGDSIM_CUDA_CHECK(cudaStreamWaitEvent(stream(i), forked_.get(), 0));
    });
  }

  void join(bool beside_it) {
    for_streams([&](int i) {
      if (plan_.is_beside(i) != beside_it) return;
      const Event& end = ends_[own_number(i)];
      const OnDevice there(device_of_stream(i));
      SGDSIM_CUDA_CHECK(cudaEventRecord(end.get(), stream(i)));
      SGDSIM_CUDA_CHECK(cudaStreamWaitEvent(main_.get(), end.get(), 0));
    });
  }

  // Of a stream of the plan, among the own ones.
  std::size_t own_number(int stream) const {
    return static_cast<std::size_t>(stream - own_.first * plan_.room.lanes);
  }
  SparseRoom& room(int stream) { return rooms_[own_number(stream)]; }

  std::byte* at(const Place& place) const {
    const auto rank = static_cast<std::size_t>(place.rank - own_.first);
    void* const buffer = place.buffer == Buffer::host      ? host_[rank].get()
                         : place.buffer == Buffer::scratch ? scratch_[rank].get()
                                                           : data_[rank].get();
    return static_cast<std::byte*>(buffer) + place.at_B;
  }

  // Calls of the library are a group, as NCCL demands of one thread with several GPUs.
  void queue_steps(bool beside_it) {
    const bool has_calls = plan_.has_calls(beside_it);
    if (has_calls) library_->begin();
    for (const Step& step : plan_.steps)
      if (is_own(step) && plan_.is_beside(step.stream) == beside_it) queue_step(step);
    if (has_calls) library_->end();
  }

  void queue_step(const Step& step) {
    const OnDevice there(device_of_stream(step.stream));
    cudaStream_t queue = stream(step.stream);
    switch (step.act) {
      case Act::copy:
        if (step.by_kernel) return launch_copy(at(step.to), at(step.from), step.bytes, queue);
        SGDSIM_CUDA_CHECK(cudaMemcpyAsync(at(step.to), at(step.from),
                                          static_cast<std::size_t>(step.bytes), cudaMemcpyDefault,
                                          queue));
        return;
      case Act::sum:
        launch_sum(type_, at(step.to), at(step.from), at(step.with), step.bytes, queue);
        return;
      case Act::select:
        room(step.stream).select(type_, at(step.to), at(step.from), step.bytes, step.count, queue);
        return;
      case Act::merge:
        room(step.stream).merge(type_, at(step.to), at(step.from), step.count, queue);
        return;
      case Act::narrow16:
        launch_narrow16(at(step.to), at(step.from), step.bytes, queue);
        return;
      case Act::narrow8:
        launch_narrow8(type_, at(step.to), at(step.from), step.bytes, queue);
        return;
      case Act::product:
        products_->multiply(type_, at(step.to), at(step.from), at(step.with), step.count, queue);
        return;
      case Act::library:
        library_->call({step.call, type_, step.to.rank, at(step.to), step.bytes}, queue);
        return;
      case Act::nothing:
        launch_nothing(queue);
        return;
      case Act::mark:
        SGDSIM_CUDA_CHECK(
            cudaEventRecord(events_[static_cast<std::size_t>(step.event)].get(), queue));
        return;
      case Act::await:
        SGDSIM_CUDA_CHECK(
            cudaStreamWaitEvent(queue, events_[static_cast<std::size_t>(step.event)].get(), 0));
        return;
    }
  }

  std::vector<int> devices_;
  Processes* processes_;  // none: all ranks are here
  std::string why_no_nccl_;
  std::string why_no_peers_;
  Own own_;  // of the ranks that were prepared
  Patience patience_;
  std::vector<std::string> notes_;
  Stream main_;
  Stream beside_;
  Event start_;
  Event stop_;
  Event beside_stop_;
  Event opened_;  // the gate
  Event forked_;
  HostMemory gate_;
  Content content_{patience_};
  std::unique_ptr<Clocks> clocks_;  // of the first GPU
  double clock_MHz_ = 0;            // of the last run
  std::vector<Memory> data_;
  std::vector<Memory> scratch_;
  std::vector<HostMemory> host_;
  std::vector<Memory> flushed_;
  std::vector<Stream> streams_;  // by rank and lane
  int lanes_ = 1;                // of a rank, that were prepared
  Plan plan_;
  Type type_ = Type::float32;
  std::vector<Event> events_;  // of the plan
  std::vector<Event> ends_;
  std::vector<SparseRoom> rooms_;  // by stream
  std::unique_ptr<NcclRanks> library_;
  std::unique_ptr<Products> products_;  // of rank 0
  GraphExec graph_;                     // of the plan; none of calls of NCCL one by one
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
