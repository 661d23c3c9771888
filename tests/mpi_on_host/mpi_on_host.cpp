// MPI of the stand-in: between every two processes a row of slots in memory that they share. A
// message is complete for its sender when it lies in a slot, or, if it is large, when it was taken:
// so a program that relies on either shows.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <sstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "calibrate/command.h"
#include "sim/core/random.h"
#include "tests/mpi_on_host/mpi.h"
#include "tests/mpi_on_host/processes_on_host.h"

using namespace sgdsim;
using namespace sgdsim::mpi_on_host;

namespace {

constexpr int most_processes = 4;
constexpr int slots = 64;
constexpr std::size_t slot_B = 1 << 14;
constexpr std::size_t eager_B = 512;  // larger ones are complete when they were taken

enum State { empty, full, taken };

struct Slot {
  std::atomic<int> state;
  int tag;
  std::size_t bytes;
  std::byte data[slot_B];
};

struct Row {
  std::atomic<uint64_t> sent;  // messages so far; each in the slot of its number
  Slot slot[slots];
};

struct Area {
  Row rows[most_processes][most_processes];  // from, to
  std::atomic<int> calls[most_processes];
  std::atomic<bool> has_left[most_processes];
};

Area* area = nullptr;

struct Request {
  bool is_send = false;
  bool is_started = false;
  int other = 0;
  int tag = 0;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::size_t bytes = 0;
  Slot* slot = nullptr;
  int looks = 0;
};

// Of this process.
struct Process {
  int number = 0;
  int count = 1;
  Behaviour behaviour;
  std::map<int, Request> requests;
  std::map<int, std::deque<int>> outgoing;  // by receiver: those that wait for a slot
  std::vector<uint64_t> taken = std::vector<uint64_t>(most_processes, 0);  // of rows to this one
  int next = 0;
  bool is_initialized = false;
};
Process self;

// What every call does first: MPI_SUCCESS, or how it fails.
int arrive() {
  const int number = ++area->calls[self.number];
  if (number == self.behaviour.dies_at) std::raise(SIGKILL);
  if (number == self.behaviour.interrupted_at) std::raise(SIGTERM);
  const bool fails = number == self.behaviour.fails_at ||
                     (number > self.behaviour.fails_at && self.behaviour.fails_for_ever);
  return fails ? MPI_ERR_OTHER : MPI_SUCCESS;
}

bool hangs() { return area->calls[self.number] >= self.behaviour.hangs_at; }

void send_waiting(int to) {
  auto& waiting = self.outgoing[to];
  Row& row = area->rows[self.number][to];
  while (!waiting.empty()) {
    Slot& slot = row.slot[row.sent % slots];
    if (slot.state.load() == full) return;
    if (slot.state.load() == taken) slot.state = empty;
    Request& request = self.requests[waiting.front()];
    waiting.pop_front();
    slot.tag = request.tag;
    slot.bytes = request.bytes;
    std::memcpy(slot.data, request.from, request.bytes);
    if (request.bytes >= 300 && area->calls[self.number] >= self.behaviour.damages_at) {
      self.behaviour.damages_at = Behaviour::never;
      slot.data[3] ^= std::byte{0x5a};  // of a number, the sign and the exponent
    }
    request.slot = &slot;
    slot.state.store(full, std::memory_order_release);
    ++row.sent;
  }
}

// The first message with this tag that has not been taken.
Slot* message_from(int from, int tag) {
  Row& row = area->rows[from][self.number];
  uint64_t& first = self.taken[static_cast<std::size_t>(from)];
  const uint64_t sent = row.sent.load(std::memory_order_acquire);
  while (first < sent && row.slot[first % slots].state.load() != full) ++first;
  for (uint64_t i = first; i < sent; ++i) {
    Slot& slot = row.slot[i % slots];
    if (slot.state.load(std::memory_order_acquire) == full && slot.tag == tag) return &slot;
  }
  return nullptr;
}

int new_request(const Request& request, MPI_Request* handle) {
  *handle = self.next++;
  self.requests[*handle] = request;
  return MPI_SUCCESS;
}

bool is_valid(int count, MPI_Datatype type, int other, int tag, MPI_Comm comm) {
  return self.is_initialized && type == MPI_BYTE && comm == MPI_COMM_WORLD && count >= 0 &&
         static_cast<std::size_t>(count) <= slot_B && other >= 0 && other < self.count &&
         other != self.number && tag >= 0 && tag <= 32767;
}

// Whether the request is complete; then what it holds has arrived.
bool completes(Request& request) {
  if (request.is_send) {
    send_waiting(request.other);
    return request.slot != nullptr &&
           (request.bytes <= eager_B || request.slot->state.load() != full);
  }
  if (request.slot == nullptr) {
    request.slot = message_from(request.other, request.tag);
    request.looks = self.behaviour.looks;
  }
  if (request.slot == nullptr || request.looks-- > 0) return false;
  std::memcpy(request.to, request.slot->data, std::min(request.bytes, request.slot->bytes));
  request.slot->state.store(taken, std::memory_order_release);
  return true;
}

}  // namespace

int MPI_Init_thread(int*, char***, int wanted, int* provided) {
  const int answer = arrive();
  self.is_initialized = answer == MPI_SUCCESS && wanted == MPI_THREAD_FUNNELED;
  *provided = MPI_THREAD_FUNNELED;
  return answer;
}

int MPI_Finalize() {
  area->has_left[self.number] = true;
  return arrive();
}

int MPI_Comm_rank(MPI_Comm, int* rank) { return *rank = self.number, arrive(); }
int MPI_Comm_size(MPI_Comm, int* size) { return *size = self.count, arrive(); }
int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler) { return arrive(); }

int MPI_Error_string(int error, char* text, int* length) {
  std::strcpy(text, error == MPI_ERR_OTHER ? "MPI_ERR_OTHER: known error" : "MPI_ERR_ARG");
  *length = static_cast<int>(std::strlen(text));
  return MPI_SUCCESS;
}

int MPI_Get_processor_name(char* name, int* length) {
  std::strcpy(name, ("node" + std::to_string(self.behaviour.node)).c_str());
  *length = static_cast<int>(std::strlen(name));
  return arrive();
}

int MPI_Get_library_version(char* version, int* length) {
  std::strcpy(version, "MPI on the host v1, of a test");
  *length = static_cast<int>(std::strlen(version));
  return arrive();
}

int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (const int answer = arrive(); answer != MPI_SUCCESS) return answer;
  if (!is_valid(count, type, to, tag, comm)) return MPI_ERR_ARG;
  Request one{.is_send = true, .other = to, .tag = tag};
  one.from = static_cast<const std::byte*>(from);
  one.bytes = static_cast<std::size_t>(count);
  new_request(one, request);
  self.outgoing[to].push_back(*request);
  if (!hangs()) send_waiting(to);
  return MPI_SUCCESS;
}

int MPI_Irecv(void* to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (const int answer = arrive(); answer != MPI_SUCCESS) return answer;
  if (!is_valid(count, type, from, tag, comm)) return MPI_ERR_ARG;
  Request one{.other = from, .tag = tag};
  one.to = static_cast<std::byte*>(to);
  one.bytes = static_cast<std::size_t>(count);
  return new_request(one, request);
}

// Asking in vain is not counted: how often that happens is chance.
int MPI_Test(MPI_Request* request, int* done, MPI_Status*) {
  *done = 0;
  const auto known = self.requests.find(*request);
  if (known == self.requests.end()) return MPI_ERR_ARG;
  if (hangs() || !completes(known->second)) return MPI_SUCCESS;
  if (const int answer = arrive(); answer != MPI_SUCCESS) return answer;
  self.requests.erase(known);
  *request = MPI_REQUEST_NULL;
  *done = 1;
  return MPI_SUCCESS;
}

int MPI_Iprobe(int from, int tag, MPI_Comm, int* is_there, MPI_Status* status) {
  *is_there = 0;
  if (from != MPI_ANY_SOURCE) return MPI_ERR_ARG;
  for (int other = 0; other < self.count && !hangs(); ++other)
    if (other != self.number && message_from(other, tag) != nullptr) {
      *is_there = 1;
      status->MPI_SOURCE = other;
    }
  return *is_there == 0 ? MPI_SUCCESS : arrive();
}

// ---- processes

namespace {

// In the child: what it says goes into a file.
[[noreturn]] void be_process(int number, const std::vector<Behaviour>& behaviours,
                             const std::vector<std::string>& words, const std::string& log_file,
                             const std::function<void(int)>& before) {
  self = {};
  self.number = number;
  self.count = static_cast<int>(behaviours.size());
  self.behaviour = behaviours[static_cast<std::size_t>(number)];
  before(number);
  std::ostringstream out;
  std::ostringstream log;
  const int exit_code = calibrate::run(words, out, log);
  std::FILE* const file = std::freopen(log_file.c_str(), "w", stdout);
  if (file != nullptr) {
    std::fputs(log.str().c_str(), file);
    std::fflush(file);
  }
  _exit(exit_code);
}

int wait_for(pid_t process, std::chrono::steady_clock::time_point deadline) {
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) kill(process, SIGKILL);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Ran sgdsim::mpi_on_host::run_processes(const std::vector<Behaviour>& behaviours,
                                       std::vector<std::string> words,
                                       const std::function<void(int)>& before) {
  if (area == nullptr)
    area = static_cast<Area*>(
        mmap(nullptr, sizeof(Area), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const std::size_t count = behaviours.size();
  for (std::size_t i = 0; i < count; ++i) {
    area->calls[i] = 0;
    area->has_left[i] = false;
    for (std::size_t j = 0; j < count; ++j) {
      area->rows[i][j].sent = 0;
      for (Slot& slot : area->rows[i][j].slot) slot.state = empty;
    }
  }
  const std::string stem = std::filesystem::temp_directory_path().string() + "/sgdsim_processes_" +
                           std::to_string(getpid());
  const std::string record = stem + ".json";
  std::filesystem::remove(record);
  words.emplace_back("--mpi");
  const bool is_timed = std::find(words.begin(), words.end(), "--verify-only") == words.end();
  if (is_timed) words.insert(words.end(), {"--out", record, "--force"});
  std::fflush(nullptr);  // or every child would print it again
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < count; ++i) {
    const pid_t child = fork();
    const std::string log_file = stem + "." + std::to_string(i);
    if (child == 0) be_process(static_cast<int>(i), behaviours, words, log_file, before);
    children.push_back(child);
  }
  Ran ran;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string log_file = stem + "." + std::to_string(i);
    Answered one;
    one.exit_code = wait_for(children[i], deadline);
    one.calls = area->calls[i];
    one.has_left = area->has_left[i];
    if (std::filesystem::exists(log_file)) one.log = read_text(log_file);
    std::filesystem::remove(log_file);
    ran.processes.push_back(one);
  }
  if (std::filesystem::exists(record) && std::filesystem::file_size(record) > 0)
    ran.record = Json::parse(read_text(record));
  std::filesystem::remove(record);
  return ran;
}
