// Its functions are looked up by name in the shared library; their types come from its header,
// without which nothing can be called.
//
// Communicators do not block (NCCL 2.14 and later): a call that takes time says so, and is asked
// until it is done or the patience is over. A call that blocks could not be given up.
#include "calibrate/cuda/nccl.cuh"

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif
#if defined(NCCL_VERSION_CODE) && NCCL_VERSION_CODE >= 21400
#include <dlfcn.h>
#include <stdexcept>

#include "calibrate/cuda/values.cuh"

namespace sgdsim::calibrate::cuda {
namespace {

struct Library {
  NcclNews news;
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  decltype(&ncclGetUniqueId) unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init_rank = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclCommFinalize) finalize = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclReduce) reduce = nullptr;
  decltype(&ncclAllReduce) allreduce = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&ncclAllGather) allgather = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function& function, std::string& why_not) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) why_not = std::string("libnccl.so.2 has no ") + name;
}

// Never closed: its threads may outlive whoever asked for it.
Library load_library() {
  Library all;
  std::string& why_not = all.news.why_not;
  void* const file = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) {
    why_not = "libnccl.so.2 is not found";
    return all;
  }
  find(file, "ncclGetVersion", all.get_version, why_not);
  find(file, "ncclGetErrorString", all.error_string, why_not);
  find(file, "ncclGetUniqueId", all.unique_id, why_not);
  find(file, "ncclCommInitRankConfig", all.init_rank, why_not);
  find(file, "ncclCommGetAsyncError", all.async_error, why_not);
  find(file, "ncclCommFinalize", all.finalize, why_not);
  find(file, "ncclCommDestroy", all.destroy, why_not);
  find(file, "ncclGroupStart", all.group_start, why_not);
  find(file, "ncclGroupEnd", all.group_end, why_not);
  find(file, "ncclBroadcast", all.broadcast, why_not);
  find(file, "ncclReduce", all.reduce, why_not);
  find(file, "ncclAllReduce", all.allreduce, why_not);
  find(file, "ncclReduceScatter", all.reduce_scatter, why_not);
  find(file, "ncclAllGather", all.allgather, why_not);
  find(file, "ncclSend", all.send, why_not);
  find(file, "ncclRecv", all.receive, why_not);
  int version = 0;
  if (why_not.empty() && all.get_version(&version) == ncclSuccess)
    all.news.version = std::to_string(version / 10000) + "." +
                       std::to_string(version % 10000 / 100) + "." + std::to_string(version % 100);
  return all;
}

const Library& library() {
  static const Library loaded = load_library();
  return loaded;
}

// What takes time goes on beside the host, and is waited for at the end of its group.
void check(ncclResult_t answer, const char* call) {
  if (answer != ncclSuccess && answer != ncclInProgress)
    throw std::runtime_error(std::string("NCCL: ") + call + ": " + library().error_string(answer));
}

ncclDataType_t type_of(Type type) {
  if (type == Type::float16) return ncclFloat16;
  return type == Type::float32 ? ncclFloat32 : ncclBfloat16;
}

class Ranks : public NcclRanks {
 public:
  Ranks(const NcclTeam& team, const Patience& patience)
      : team_(team), communicators_(team.devices.size(), nullptr), patience_(patience) {
    ncclUniqueId name{};
    if (team.has_name) check(library().unique_id(&name), "ncclGetUniqueId");
    const std::string bytes = team.from_first({name.internal, sizeof name.internal});
    bytes.copy(name.internal, sizeof name.internal);
    begin();
    for (std::size_t i = 0; i < communicators_.size(); ++i) {
      const OnDevice there(team.devices[i]);
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      check(library().init_rank(&communicators_[i], team.ranks, name,
                                team.first + static_cast<int>(i), &config),
            "ncclCommInitRankConfig");
    }
    end();
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() override {
    if (has_given_up()) return;
    try {
      begin();
      for (ncclComm_t one : communicators_) static_cast<void>(library().finalize(one));
      end();
      for (ncclComm_t one : communicators_) static_cast<void>(library().destroy(one));
    } catch (const std::runtime_error&) {  // a destructor cannot report it
    }
  }

  void begin() override { check(library().group_start(), "ncclGroupStart"); }
  void end() override {
    check(library().group_end(), "ncclGroupEnd");
    for (ncclComm_t one : communicators_)
      wait_for([one] { return progress_of(one); }, patience_, "NCCL, which connects its ranks,");
  }

  // In place; a rank's chunk of what is gathered or scattered is the one of its number.
  void call(const NcclCall& call, cudaStream_t stream) override {
    const auto count = static_cast<std::size_t>(call.bytes / size_of(call.type));
    const std::size_t part = count / static_cast<std::size_t>(team_.ranks);
    void* const data = call.data;
    void* const mine = call.data + call.rank * part_B(call);
    const ncclDataType_t kind = type_of(call.type);
    ncclComm_t all = communicators_[static_cast<std::size_t>(call.rank - team_.first)];
    switch (call.what) {
      case LibraryCall::broadcast:
        return check(library().broadcast(data, data, count, kind, 0, all, stream), "ncclBroadcast");
      case LibraryCall::reduce:
        return check(library().reduce(data, data, count, kind, ncclSum, 0, all, stream),
                     "ncclReduce");
      case LibraryCall::allreduce:
        return check(library().allreduce(data, data, count, kind, ncclSum, all, stream),
                     "ncclAllReduce");
      case LibraryCall::reduce_scatter:
        return check(library().reduce_scatter(data, mine, part, kind, ncclSum, all, stream),
                     "ncclReduceScatter");
      case LibraryCall::allgather:
        return check(library().allgather(mine, data, part, kind, all, stream), "ncclAllGather");
      case LibraryCall::alltoall:
        return exchange(call, part, stream);
    }
  }

 private:
  static cudaError_t progress_of(ncclComm_t one) {
    ncclResult_t state = ncclSuccess;
    check(library().async_error(one, &state), "ncclCommGetAsyncError");
    if (state == ncclInProgress) return cudaErrorNotReady;
    check(state, "a call that went on beside the host");
    return cudaSuccess;
  }

  int64_t part_B(const NcclCall& call) const {
    return call.bytes / size_of(call.type) / team_.ranks * size_of(call.type);
  }

  // NCCL has no all-to-all, but takes sends and receives of one group together. What comes lies
  // behind the data, by sender, as that of the direct all-to-all.
  void exchange(const NcclCall& call, std::size_t part, cudaStream_t stream) {
    const ncclDataType_t kind = type_of(call.type);
    ncclComm_t all = communicators_[static_cast<std::size_t>(call.rank - team_.first)];
    for (int other = 0; other < team_.ranks; ++other) {
      if (other == call.rank) continue;
      const int64_t at_B = other * part_B(call);
      check(library().send(call.data + at_B, part, kind, other, all, stream), "ncclSend");
      check(library().receive(call.data + aligned_B(call.bytes) + at_B, part, kind, other, all,
                              stream),
            "ncclRecv");
    }
  }

  NcclTeam team_;
  std::vector<ncclComm_t> communicators_;  // by rank of this process
  Patience patience_;
};

}  // namespace

const NcclNews& nccl_news() { return library().news; }

std::unique_ptr<NcclRanks> nccl_ranks(const NcclTeam& team, const Patience& patience) {
  return std::make_unique<Ranks>(team, patience);
}

}  // namespace sgdsim::calibrate::cuda
#else
namespace sgdsim::calibrate::cuda {

const NcclNews& nccl_news() {
  static const NcclNews none{"this program was built without nccl.h of NCCL 2.14 or later", ""};
  return none;
}

std::unique_ptr<NcclRanks> nccl_ranks(const NcclTeam&, const Patience&) { return nullptr; }

}  // namespace sgdsim::calibrate::cuda
#endif
