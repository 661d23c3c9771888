// A step is a copy, a kernel, a product, a call of NCCL or an event, in its rank's stream.
#include <algorithm>

#include "calibrate/cuda/kernels.cuh"
#include "calibrate/cuda/step_queue.cuh"

namespace sgdsim::calibrate::cuda {

bool has_products(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const Step& step) { return step.act == Act::product; });
}

void StepQueue::prepare(const Own& own, const Room& room) {
  rooms_.clear();
  data_.clear();
  scratch_.clear();
  host_.clear();
  streams_.clear();
  lanes_ = room.lanes;
  own_ = own;
  for (int rank = own_.first; rank < own_.end; ++rank) {
    data_.push_back(make_memory(device_of(rank), static_cast<std::size_t>(room.data_B)));
    scratch_.push_back(make_memory(device_of(rank), static_cast<std::size_t>(room.scratch_B)));
    host_.push_back(make_host_memory(static_cast<std::size_t>(room.host_B)));
    for (int lane = 0; lane < room.lanes; ++lane) streams_.push_back(make_stream(device_of(rank)));
  }
}

void StepQueue::load(const Plan& plan, Type type) {
  plan_ = plan;
  type_ = type;
  events_ = make_events();
  make_rooms();
  if (has_products(plan_) && !products_) products_ = make_products(devices_.front());
}

// A plan may have fewer lanes than were prepared; its ranks stay where they are.
cudaStream_t StepQueue::stream(int number) const {
  const int used = plan_.room.lanes;
  const int at = (number / used - own_.first) * lanes_ + number % used;
  return streams_[static_cast<std::size_t>(at)].get();
}

std::byte* StepQueue::at(const Place& place) const {
  const auto rank = static_cast<std::size_t>(place.rank - own_.first);
  void* const buffer = place.buffer == Buffer::host      ? host_[rank].get()
                       : place.buffer == Buffer::scratch ? scratch_[rank].get()
                                                         : data_[rank].get();
  return static_cast<std::byte*>(buffer) + place.at_B;
}

// One event for each of the plan's, one per stream for its end, one for the start.
std::vector<Event> StepQueue::make_events() {
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
std::vector<Room> StepQueue::sparse_rooms() const {
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
void StepQueue::make_rooms() {
  const std::vector<Room> rooms = sparse_rooms();
  rooms_.clear();
  for_streams([&](int i) {
    const Room& room = rooms[static_cast<std::size_t>(i)];
    rooms_.push_back(room.sorted > 0 ? SparseRoom(device_of_stream(i), room.searched, room.sorted)
                                     : SparseRoom());
  });
}

void StepQueue::fork(bool beside_it, const Stream& main) {
  SGDSIM_CUDA_CHECK(cudaEventRecord(forked_.get(), main.get()));
  for_streams([&](int i) {
    if (plan_.is_beside(i) == beside_it)
      SGDSIM_CUDA_CHECK(cudaStreamWaitEvent(stream(i), forked_.get(), 0));
  });
}

void StepQueue::join(bool beside_it, const Stream& main) {
  for_streams([&](int i) {
    if (plan_.is_beside(i) != beside_it) return;
    const Event& end = ends_[own_number(i)];
    const OnDevice there(device_of_stream(i));
    SGDSIM_CUDA_CHECK(cudaEventRecord(end.get(), stream(i)));
    SGDSIM_CUDA_CHECK(cudaStreamWaitEvent(main.get(), end.get(), 0));
  });
}

// Calls of the library are a group, as NCCL demands of one thread with several GPUs.
void StepQueue::queue_steps(bool beside_it, NcclRanks* library) {
  const bool has_calls = plan_.has_calls(beside_it);
  if (has_calls) library->begin();
  for (const Step& step : plan_.steps)
    if (is_own(step) && plan_.is_beside(step.stream) == beside_it) queue_step(step, library);
  if (has_calls) library->end();
}

void StepQueue::queue_step(const Step& step, NcclRanks* library) {
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
      products_->multiply(type_, at(step.to), at(step.from), at(step.with), step.shape, queue);
      return;
    case Act::library:
      library->call({step.call, type_, step.to.rank, at(step.to), step.bytes}, queue);
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

}  // namespace sgdsim::calibrate::cuda
