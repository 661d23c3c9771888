// Its functions are looked up by name in the shared library; their types come from its header,
// without which nothing can be called.
//
// Communicators block: with those that do not, every group that calls is handed to another thread
// of the host (NCCL 2.14 to 2.28), which small calls would be measured with. So all calls come from
// a thread of their own, and whoever waits for it can abort the communicators, which ends calls
// that wait, and go on without them.
#include "calibrate/cuda/nccl.cuh"

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif
#if defined(NCCL_VERSION_CODE) && NCCL_VERSION_CODE >= 21400
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

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
  decltype(&ncclCommAbort) end_calls = nullptr;
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
  find(file, "ncclCommAbort", all.end_calls, why_not);
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

void check(ncclResult_t answer, const char* call) {
  if (answer != ncclSuccess)
    throw std::runtime_error(std::string("NCCL: ") + call + ": " + library().error_string(answer));
}

ncclDataType_t type_of(Type type) {
  if (type == Type::float16) return ncclFloat16;
  return type == Type::float32 ? ncclFloat32 : ncclBfloat16;
}

// A thread that does one thing after another. Whoever waits for it may give up: then it is left to
// itself, with all that it needs.
class Caller {
 public:
  Caller() : thread_([shared = shared_] { work(*shared); }) {}
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() {
    if (has_given_up()) {
      thread_.detach();
    } else {
      put([] {}, true);
      thread_.join();
    }
  }

  void run(const std::function<void()>& calls, const Patience& patience, const std::string& what) {
    put(calls, false);
    const Shared& shared = *shared_;
    wait_for([&shared] { return shared.is_done ? cudaSuccess : cudaErrorNotReady; }, patience,
             what);
    if (shared.failure) std::rethrow_exception(shared.failure);
  }
  bool is_done() const { return shared_->is_done; }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<std::function<void()>> calls;
    bool is_last = false;
    std::atomic<bool> is_done = true;
    std::exception_ptr failure;
  };

  void put(std::function<void()> calls, bool is_last) {
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    shared_->is_done = false;
    shared_->failure = nullptr;
    shared_->is_last = is_last;
    shared_->calls = std::move(calls);
    shared_->changed.notify_one();
  }

  static void work(Shared& shared) {
    for (bool is_last = false; !is_last;) {
      std::unique_lock<std::mutex> lock(shared.mutex);
      shared.changed.wait(lock, [&] { return shared.calls.has_value(); });
      const std::function<void()> calls = *std::exchange(shared.calls, std::nullopt);
      is_last = shared.is_last;
      lock.unlock();
      try {
        calls();
      } catch (...) {
        shared.failure = std::current_exception();
      }
      shared.is_done = true;
    }
  }

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::thread thread_;
};

// NCCL reads its environment when it makes a communicator.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (value.empty()) return;
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
    is_set_ = true;
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    if (!is_set_) return;
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  bool is_set_ = false;
  std::optional<std::string> before_;
};

constexpr double patience_with_abort_s = 5;

// Outlives a wait that is given up, as the calls under way use it.
struct Team {
  NcclTeam own;
  std::vector<ncclComm_t> communicators = {};  // by rank of this process
  ncclUniqueId name = {};

  // The name under which the ranks find each other; what others have made up, elsewhere.
  void make_name() {
    if (own.has_name) check(library().unique_id(&name), "ncclGetUniqueId");
  }
  void take_name_of_first() {
    const std::string bytes = own.from_first({name.internal, sizeof name.internal});
    bytes.copy(name.internal, sizeof name.internal);
  }

  void connect() {
    const Environment algorithm("NCCL_ALGO", own.setting.algorithm);
    const Environment protocol("NCCL_PROTO", own.setting.protocol);
    begin();
    for (std::size_t i = 0; i < communicators.size(); ++i) {
      const OnDevice there(own.devices[i]);
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 1;
#if NCCL_VERSION_CODE >= 21700
      if (own.setting.channels > 0) config.minCTAs = config.maxCTAs = own.setting.channels;
#endif
      check(library().init_rank(&communicators[i], own.ranks, name, own.first + static_cast<int>(i),
                                &config),
            "ncclCommInitRankConfig");
    }
    end();
  }

  void begin() const { check(library().group_start(), "ncclGroupStart"); }
  void end() const {
    check(library().group_end(), "ncclGroupEnd");
    for (ncclComm_t one : communicators) {
      ncclResult_t state = ncclSuccess;
      check(library().async_error(one, &state), "ncclCommGetAsyncError");
      check(state, "a call that went on beside the host");
    }
  }

  void disconnect() const {
    begin();
    for (ncclComm_t one : communicators) static_cast<void>(library().finalize(one));
    end();
    for (ncclComm_t one : communicators) static_cast<void>(library().destroy(one));
  }
};

class Ranks : public NcclRanks {
 public:
  Ranks(const NcclTeam& team, const Patience& patience)
      : team_(std::make_shared<Team>()), patience_(patience) {
    team_->own = team;
    team_->communicators.resize(team.devices.size(), nullptr);
    run([team = team_] { team->make_name(); }, "NCCL, which makes up a name,");
    team_->take_name_of_first();  // processes speak to each other in this thread only
    run([team = team_] { team->connect(); }, "NCCL, which connects its ranks,");
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() override {
    if (has_given_up()) return;
    try {
      run([team = team_] { team->disconnect(); }, "NCCL, which ends,");
    } catch (const std::runtime_error&) {  // a destructor cannot report it
    }
  }

  void during(const std::function<void()>& calls) override { run(calls, "a call of NCCL"); }
  void begin() override { team_->begin(); }
  void end() override { team_->end(); }

  // In place; a rank's chunk of what is gathered or scattered is the one of its number.
  void call(const NcclCall& call, cudaStream_t stream) override {
    const auto count = static_cast<std::size_t>(call.bytes / size_of(call.type));
    const std::size_t part = count / static_cast<std::size_t>(team_->own.ranks);
    void* const data = call.data;
    void* const mine = call.data + call.rank * part_B(call);
    const ncclDataType_t kind = type_of(call.type);
    ncclComm_t all = communicator_of(call.rank);
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
  // What is given up is aborted, in a thread that may hang as well. Then the calls come back, with
  // errors; until they do, they use what whoever gave up will take away.
  void run(const std::function<void()>& calls, const std::string& what) {
    try {
      caller_.run(calls, patience_, what);
    } catch (const std::runtime_error&) {
      if (has_given_up()) end_calls();
      throw;
    }
  }

  void end_calls() {
    const auto is_done = std::make_shared<std::atomic<bool>>(false);
    std::thread([team = team_, is_done] {
      for (ncclComm_t one : team->communicators)
        if (one != nullptr) static_cast<void>(library().end_calls(one));
      *is_done = true;
    }).detach();
    try {
      wait_for([&] { return *is_done && caller_.is_done() ? cudaSuccess : cudaErrorNotReady; },
               {patience_with_abort_s, {}}, "the end of NCCL");
    } catch (const std::runtime_error&) {  // what did not end at first is what is told
    }
  }

  ncclComm_t communicator_of(int rank) const {
    return team_->communicators[static_cast<std::size_t>(rank - team_->own.first)];
  }

  int64_t part_B(const NcclCall& call) const {
    return call.bytes / size_of(call.type) / team_->own.ranks * size_of(call.type);
  }

  // NCCL has no all-to-all, but takes sends and receives of one group together. What comes lies
  // behind the data, by sender, as that of the direct all-to-all.
  void exchange(const NcclCall& call, std::size_t part, cudaStream_t stream) {
    const ncclDataType_t kind = type_of(call.type);
    ncclComm_t all = communicator_of(call.rank);
    for (int other = 0; other < team_->own.ranks; ++other) {
      if (other == call.rank) continue;
      const int64_t at_B = other * part_B(call);
      check(library().send(call.data + at_B, part, kind, other, all, stream), "ncclSend");
      check(library().receive(call.data + aligned_B(call.bytes) + at_B, part, kind, other, all,
                              stream),
            "ncclRecv");
    }
  }

  std::shared_ptr<Team> team_;
  Patience patience_;
  Caller caller_;
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
