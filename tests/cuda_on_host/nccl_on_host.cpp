// NCCL of the stand-in, a shared library as the real one, which finds the stand-in's runtime in the
// program that opens it.
//
// A group is taken whole: the streams of all ranks meet, the first one computes, and all go on. As
// in NCCL, one thread with several ranks must call within a group, once for each rank; and what is
// called within a capture of somebody else's stream is refused. Calls block, as communicators that
// were made so do; what blocks for ever ends when a communicator of the group is aborted. Sends and
// receives of a group are its all-to-all. Ranks of other processes give and get by way of memory
// that is shared.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "calibrate/element.h"
#include "tests/cuda_on_host/nccl.h"

namespace {

using sgdsim::calibrate::Type;
using sgdsim::cuda_on_host::nccl_behaviour;
using sgdsim::cuda_on_host::nccl_meeting;
using sgdsim::cuda_on_host::nccl_settings;

enum class Operation { broadcast, reduce, allreduce, reduce_scatter, allgather, send, receive };

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
  int peer = 0;  // of send and receive
};

std::vector<Call> calls;       // of the group that is open
std::vector<ncclComm_t> made;  // in it
std::vector<cudaEvent_t> events;
// Those that have not been destroyed. It outlives the end of the program, where what it points to
// would else count as lost.
std::set<ncclComm_t>& communicators = *new std::set<ncclComm_t>;
int depth = 0;
bool connects = false;  // the group that is open

}  // namespace

struct ncclComm {
  int rank = 0;
  int ranks = 0;
  int device = 0;
  std::atomic<bool> is_aborted = false;
};

namespace {

Type type_of(ncclDataType_t type) {
  if (type == ncclFloat32) return Type::float32;
  return type == ncclFloat16 ? Type::float16 : Type::bfloat16;
}

using Blobs = std::vector<std::vector<std::byte>>;  // by rank

std::size_t bytes_of(const Call& call) {
  return call.count * static_cast<std::size_t>(size_of(call.type));
}

// What each rank gives: inputs and outputs may be the same memory, so all of it is taken first. Of
// an all-to-all the parts for all ranks, of which the own one stays empty.
Blobs given_by(const std::vector<Call>& calls) {
  Blobs blobs(static_cast<std::size_t>(calls.front().ranks));
  for (const Call& call : calls) {
    auto& blob = blobs[static_cast<std::size_t>(call.rank)];
    const std::size_t part_B = bytes_of(call);
    const auto ranks = static_cast<std::size_t>(call.ranks);
    if (call.operation == Operation::receive) continue;
    if (call.operation == Operation::send) {
      blob.resize(ranks * part_B);
      std::copy_n(call.from, part_B,
                  blob.begin() + call.peer * static_cast<std::ptrdiff_t>(part_B));
    } else {
      const bool is_whole = call.operation == Operation::reduce_scatter;
      blob.assign(call.from, call.from + (is_whole ? ranks : 1) * part_B);
    }
  }
  return blobs;
}

void compute(const std::vector<Call>& calls, const Blobs& given) {
  const Call& first = calls.front();
  std::vector<std::byte> result = given.front();
  const bool sums = first.operation == Operation::reduce ||
                    first.operation == Operation::allreduce ||
                    first.operation == Operation::reduce_scatter;
  for (std::size_t rank = 1; rank < given.size(); ++rank)
    if (first.operation == Operation::allgather)
      result.insert(result.end(), given[rank].begin(), given[rank].end());
    else if (sums)
      sgdsim::calibrate::sum(first.type, result.data(), result.data(), given[rank].data(),
                             static_cast<int64_t>(result.size()));
  for (const Call& call : calls) {
    const std::size_t part_B = bytes_of(call);
    const auto own = static_cast<std::size_t>(call.rank) * part_B;
    if (call.operation == Operation::receive)
      std::copy_n(given[static_cast<std::size_t>(call.peer)].data() + own, part_B, call.to);
    else if (call.operation == Operation::reduce_scatter)
      std::copy_n(result.data() + own, part_B, call.to);
    else if (call.operation != Operation::send &&
             (call.operation != Operation::reduce || call.rank == 0))
      std::copy_n(result.data(), result.size(), call.to);
  }
}

// False if the others do not come.
bool meet() {
  const auto count = static_cast<unsigned>(nccl_meeting->processes);
  const unsigned round = nccl_meeting->arrived.fetch_add(1) / count;
  const auto start = std::chrono::steady_clock::now();
  while (nccl_meeting->arrived.load() / count == round) {
    if (std::chrono::steady_clock::now() - start >
        std::chrono::milliseconds(nccl_meeting->patience_ms))
      return false;
    std::this_thread::yield();
  }
  return true;
}

// Adds what ranks of other processes give; all processes have ranks.
bool exchange(const std::vector<Call>& calls, Blobs& given) {
  std::size_t most_B = 0;
  for (const Call& call : calls)
    most_B = std::max(most_B, given[static_cast<std::size_t>(call.rank)].size());
  for (const Call& call : calls) {
    const auto rank = static_cast<std::size_t>(call.rank);
    std::copy(given[rank].begin(), given[rank].end(), nccl_meeting->given[rank]);
  }
  if (!meet()) return false;
  for (std::size_t rank = 0; rank < given.size(); ++rank)
    if (given[rank].empty())
      given[rank].assign(nccl_meeting->given[rank], nccl_meeting->given[rank] + most_B);
  return meet();
}

cudaEvent_t new_event(int device) {
  cudaEvent_t event = nullptr;
  cudaSetDevice(device);
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  events.push_back(event);
  return event;
}

// Whether every rank that is here calls once, or sends to and receives from each other one.
bool is_right(const std::vector<Call>& all) {
  const int ranks = all.front().ranks;
  const bool exchanges = all.front().operation >= Operation::send;
  std::map<int, int> calls_of;
  for (const Call& call : all) {
    if (exchanges ? call.operation < Operation::send : call.operation != all.front().operation)
      return false;
    ++calls_of[call.rank];
  }
  if (nccl_meeting == nullptr && static_cast<int>(calls_of.size()) != ranks) return false;
  return std::all_of(calls_of.begin(), calls_of.end(), [&](const auto& one) {
    return one.second == (exchanges ? 2 * (ranks - 1) : 1);
  });
}

bool queue(std::vector<Call> all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Call& a, const Call& b) { return a.rank < b.rank; });
  const Call first = all.front();
  if (!is_right(all)) return false;
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
                             Blobs given = given_by(all);
                             if (nccl_meeting != nullptr && !exchange(all, given))
                               return sgdsim::cuda_on_host::hang_after(0);
                             compute(all, given);
                           }) == cudaSuccess;
  const cudaEvent_t done = new_event(first.device);
  is_queued = is_queued && cudaEventRecord(done, first.stream) == cudaSuccess;
  for (const Call& call : all)
    is_queued = is_queued && cudaStreamWaitEvent(call.stream, done) == cudaSuccess;
  cudaSetDevice(before);
  return is_queued;
}

ncclResult_t add(Operation operation, const void* from, void* to, std::size_t count,
                 ncclDataType_t type, ncclComm_t comm, cudaStream_t stream, int peer = 0) {
  if (depth == 0) return ncclInvalidUsage;  // one thread with several ranks would wait for itself
  made.push_back(comm);
  calls.push_back({operation, static_cast<const std::byte*>(from), static_cast<std::byte*>(to),
                   count, type_of(type), comm->rank, comm->ranks, comm->device, stream, peer});
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

// A new name every time, with bytes of every kind.
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static char number = 0;
  *id = {};
  for (std::size_t i = 0; i < sizeof id->internal; i += 3)
    id->internal[i] = static_cast<char>(number + static_cast<char>(i));
  ++number;
  if (nccl_meeting != nullptr) std::memcpy(nccl_meeting->name, id->internal, sizeof id->internal);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (depth == 0 || config->blocking != 1) return ncclInvalidUsage;
  if (rank >= ranks) return ncclInvalidUsage;
  if (nccl_meeting != nullptr &&
      std::memcmp(nccl_meeting->name, id.internal, sizeof id.internal) != 0)
    return ncclInvalidUsage;  // NCCL would wait for the others for ever
  const auto said = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "-" : value);
  };
  nccl_settings.push_back(said("NCCL_ALGO") + " " + said("NCCL_PROTO") + " " +
                          std::to_string(std::max(config->minCTAs, 0)));
  *comm = new ncclComm{.rank = rank, .ranks = ranks};
  communicators.insert(*comm);
  cudaGetDevice(&(*comm)->device);
  made.push_back(*comm);
  connects = true;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* state) {
  return *state = ncclSuccess, ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->is_aborted = true;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  made.push_back(comm);
  return ncclSuccess;
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
  const std::vector<ncclComm_t> here = std::exchange(made, {});
  const auto is_aborted = [](ncclComm_t comm) { return comm->is_aborted.load(); };
  if (std::exchange(connects, false) && nccl_behaviour.never_connects) {
    while (std::none_of(here.begin(), here.end(), is_aborted))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ncclInternalError;
  }
  const bool is_right = calls.empty() || queue(std::exchange(calls, {}));
  if (--nccl_behaviour.fails_at == 0) return ncclRemoteError;
  return is_right ? ncclSuccess : ncclUnhandledCudaError;
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
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return add(Operation::send, from, nullptr, count, type, comm, stream, peer);
}
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add(Operation::receive, nullptr, to, count, type, comm, stream, peer);
}
