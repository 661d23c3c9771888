// A stand-in for the part of NCCL that calibrate/ uses. Its library is nccl_on_host.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/cuda_on_host/cuda_runtime.h"

#define NCCL_VERSION_CODE 22809

enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclInternalError = 3,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6
};
enum ncclDataType_t { ncclFloat16 = 6, ncclFloat32 = 7, ncclBfloat16 = 9 };
enum ncclRedOp_t { ncclSum = 0 };
using ncclComm_t = struct ncclComm*;
struct ncclUniqueId {
  char internal[128];
};
struct ncclConfig_t {
  int blocking;
  int minCTAs;
  int maxCTAs;
};
#define NCCL_CONFIG_INITIALIZER \
  { -1, -1, -1 }

extern "C" {
ncclResult_t ncclGetVersion(int* version);
const char* ncclGetErrorString(ncclResult_t result);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
}

namespace sgdsim::cuda_on_host {

// Where ranks of several processes meet: memory that they share, mapped before they were forked.
struct NcclMeeting {
  static constexpr int most_ranks = 8;
  static constexpr std::size_t most_B = 1 << 16;
  int processes = 0;
  int patience_ms = 0;  // then it hangs
  std::atomic<unsigned> arrived = 0;
  char name[128] = {};  // that the first process made up
  std::byte given[most_ranks][most_B];
};
extern NcclMeeting* nccl_meeting;  // none: all ranks are here

// What a test asks of it.
struct NcclBehaviour {
  bool never_connects = false;  // making communicators blocks until they are aborted
  int fails_at = 0;             // the group of this number fails, from 1
  bool never_meets = false;     // collectives are queued, and wait for ever
};
extern NcclBehaviour nccl_behaviour;
// What communicators were made with since a test emptied it: "Ring LL 4", "- - 0".
extern std::vector<std::string> nccl_settings;

}  // namespace sgdsim::cuda_on_host
