// NCCL of the stand-in, a shared library as the real one, which finds the stand-in's runtime in the
// program that opens it.
//
// A group is taken whole: the streams of all ranks meet, the first one computes, and all go on. As
// in NCCL, one thread with several ranks must call within a group, once for each rank; and what is
// called within a capture of somebody else's stream is refused.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "calibrate/element.h"
#include "tests/cuda_on_host/nccl.h"

namespace {

using sgdsim::calibrate::Type;
using sgdsim::cuda_on_host::nccl_behaviour;

enum class Operation { broadcast, reduce, allreduce, reduce_scatter, allgather };

struct Call {
  Operation operation;
  const std::byte* from;
  std::byte* to;
  std::size_t count;
  Type type;
  int rank;
  int ranks;
  int device;
  cudaStream_t stream;
};

std::vector<Call> calls;       // of the group that is open
std::vector<ncclComm_t> made;  // in it
std::vector<cudaEvent_t> events;
// Those that have not been destroyed. It outlives the end of the program, where what it points to
// would else count as lost.
std::set<ncclComm_t>& communicators = *new std::set<ncclComm_t>;
int depth = 0;

}  // namespace

struct ncclComm {
  int rank = 0;
  int ranks = 0;
  int device = 0;
  int looks = 0;
  ncclResult_t state = ncclSuccess;
};

namespace {

Type type_of(ncclDataType_t type) {
  if (type == ncclFloat32) return Type::float32;
  return type == ncclFloat16 ? Type::float16 : Type::bfloat16;
}

// All ranks' data at once, since inputs and outputs may be the same.
void compute(const std::vector<Call>& all) {
  const Call& first = all.front();
  const auto size_B = static_cast<std::size_t>(size_of(first.type));
  const std::size_t part_B = first.count * size_B;
  const bool gathers = first.operation == Operation::allgather;
  const bool scatters = first.operation == Operation::reduce_scatter;
  const std::size_t whole_B = gathers || scatters ? part_B * all.size() : part_B;
  std::vector<std::byte> result(first.from, first.from + (gathers ? part_B : whole_B));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (gathers)
      result.insert(result.end(), all[rank].from, all[rank].from + part_B);
    else if (first.operation != Operation::broadcast)
      sgdsim::calibrate::sum(first.type, result.data(), result.data(), all[rank].from,
                             static_cast<int64_t>(whole_B));
  }
  for (const Call& call : all) {
    if (first.operation == Operation::reduce && call.rank != 0) continue;
    const std::size_t at = scatters ? static_cast<std::size_t>(call.rank) * part_B : 0;
    std::copy_n(result.data() + at, scatters ? part_B : whole_B, call.to);
  }
}

cudaEvent_t new_event(int device) {
  cudaEvent_t event = nullptr;
  cudaSetDevice(device);
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  events.push_back(event);
  return event;
}

bool queue(std::vector<Call> all) {
  std::sort(all.begin(), all.end(), [](const Call& a, const Call& b) { return a.rank < b.rank; });
  const Call first = all.front();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].rank != static_cast<int>(i) || all[i].operation != first.operation) return false;
  if (all.size() != static_cast<std::size_t>(first.ranks)) return false;
  int before = 0;
  cudaGetDevice(&before);
  bool is_queued = true;
  for (const Call& call : all) {
    if (nccl_behaviour.never_meets && call.rank > 0) continue;
    const cudaEvent_t here = new_event(call.device);
    is_queued = is_queued && cudaEventRecord(here, call.stream) == cudaSuccess &&
                cudaStreamWaitEvent(first.stream, here) == cudaSuccess;
  }
  cudaSetDevice(first.device);
  is_queued = is_queued && sgdsim::cuda_on_host::issue(first.stream, nullptr, {}, [all] {
                             if (nccl_behaviour.never_meets) sgdsim::cuda_on_host::hang_after(0);
                             compute(all);
                           }) == cudaSuccess;
  const cudaEvent_t done = new_event(first.device);
  is_queued = is_queued && cudaEventRecord(done, first.stream) == cudaSuccess;
  for (const Call& call : all)
    is_queued = is_queued && cudaStreamWaitEvent(call.stream, done) == cudaSuccess;
  cudaSetDevice(before);
  return is_queued;
}

ncclResult_t add(Operation operation, const void* from, void* to, std::size_t count,
                 ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) {
  if (depth == 0) return ncclInvalidUsage;  // one thread with several ranks would wait for itself
  made.push_back(comm);
  calls.push_back({operation, static_cast<const std::byte*>(from), static_cast<std::byte*>(to),
                   count, type_of(type), comm->rank, comm->ranks, comm->device, stream});
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) { return *version = NCCL_VERSION_CODE, ncclSuccess; }

const char* ncclGetErrorString(ncclResult_t result) {
  static const std::map<ncclResult_t, const char*> names = {
      {ncclUnhandledCudaError, "unhandled cuda error"},
      {ncclInvalidUsage, "invalid usage"},
      {ncclRemoteError, "remote process exited or there was a network error"}};
  const auto name = names.find(result);
  return name == names.end() ? "no error" : name->second;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) { return *id = {}, ncclSuccess; }

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId, int rank,
                                    ncclConfig_t* config) {
  if (depth == 0 || config->blocking != 0) return ncclInvalidUsage;
  *comm = new ncclComm{.rank = rank, .ranks = ranks};
  communicators.insert(*comm);
  cudaGetDevice(&(*comm)->device);
  made.push_back(*comm);
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  const bool is_done = comm->looks == 0;
  if (comm->looks > 0) --comm->looks;
  *state = is_done ? comm->state : ncclInProgress;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  made.push_back(comm);
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  communicators.erase(comm);
  delete comm;
  for (const cudaEvent_t event : events) cudaEventDestroy(event);
  events.clear();
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() { return ++depth, ncclSuccess; }

ncclResult_t ncclGroupEnd() {
  if (--depth > 0) return ncclSuccess;
  const bool is_right = calls.empty() || queue(std::exchange(calls, {}));
  const bool fails = --nccl_behaviour.fails_at == 0;
  for (const ncclComm_t comm : std::exchange(made, {})) {
    comm->looks = nccl_behaviour.looks;
    comm->state = fails ? ncclRemoteError : is_right ? ncclSuccess : ncclUnhandledCudaError;
  }
  return ncclInProgress;
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type, int,
                           ncclComm_t comm, cudaStream_t stream) {
  return add(Operation::broadcast, from, to, count, type, comm, stream);
}
ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t, int, ncclComm_t comm, cudaStream_t stream) {
  return add(Operation::reduce, from, to, count, type, comm, stream);
}
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t, ncclComm_t comm, cudaStream_t stream) {
  return add(Operation::allreduce, from, to, count, type, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t, ncclComm_t comm, cudaStream_t stream) {
  return add(Operation::reduce_scatter, from, to, count, type, comm, stream);
}
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return add(Operation::allgather, from, to, count, type, comm, stream);
}
