// A collective as steps for streams: the one text of an algorithm, for the host and for CUDA.
//
// Every rank has a buffer of data, a scratch buffer, host memory, and one or more streams. The
// steps of a stream happen in order; between streams an event orders them: `await` holds a stream
// until the `mark` of that event has been passed. Data is copied by the receiver's stream and
// summed where it arrives. Steps are listed such that a mark stands before every await of it;
// played one after the other in this order they give the right result too, which is how a test
// checks an algorithm without threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sgdsim::calibrate {

enum class Buffer : uint8_t {
  data,
  scratch,
  host  // for GPUs pinned memory beside them
};

struct Place {
  int rank = 0;
  Buffer buffer = Buffer::data;
  int64_t at_B = 0;
};

enum class Act : uint8_t {
  copy,
  sum,       // to = from + with
  select,    // the `count` entries of largest magnitude of from, as pairs
  merge,     // to = the `count` largest of the sum of the pairs in to and in from
  narrow16,  // float32 to float16
  narrow8,   // to whole numbers from -127 to 127, behind a float32 that scales them
  product,   // to = from x with, of matrices that lie row by row
  library,   // one rank's part of a collective of the machine's own library, in place at `to`
  nothing,   // an empty kernel
  mark,
  await
};

enum class LibraryCall : uint8_t {
  broadcast,
  reduce,
  allreduce,
  reduce_scatter,
  allgather,
  alltoall  // what comes lies behind the data
};

// How the library is told to do its part. Empty, or 0: as it likes.
struct LibrarySetting {
  std::string algorithm = {};  // as its environment names them: Ring, Tree, NVLS, ...
  std::string protocol = {};   // LL, LL128, Simple
  int channels = 0;

  bool operator==(const LibrarySetting&) const = default;
};

// Of products of matrices: `rows` x `inner` times `inner` x `columns`, as many as `groups` of them,
// whose matrices lie behind each other.
struct ProductShape {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t inner = 0;
  int64_t groups = 1;

  double flop() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) *
           static_cast<double>(inner) * static_cast<double>(groups);
  }
};

struct Step {
  Act act = Act::copy;
  int stream = 0;
  int event = -1;  // mark, await
  int64_t bytes = 0;
  int64_t count = 0;  // of pairs
  ProductShape shape = {};
  LibraryCall call = LibraryCall::allreduce;
  bool by_kernel = false;  // a copy by the multiprocessors of a GPU, not by a copy engine
  Place to = {};
  Place from = {};
  Place with = {};
};

// Of every rank.
struct Room {
  int lanes = 1;  // streams
  int64_t data_B = 0;
  int64_t scratch_B = 0;
  int64_t host_B = 0;
  int64_t searched = 0;  // elements of which some are selected at once
  int64_t sorted = 0;    // pairs that are sorted at once

  void grow_to(const Room& other);
};

struct Plan {
  int ranks = 1;
  Room room;  // the data's is the business of whoever fills it
  int events = 0;
  std::vector<Step> steps;
  LibrarySetting setting = {};
  // From this lane on, ranks do what disturbs the others, again and again until those are done; 0:
  // no lane does.
  int beside = 0;
  bool in_graph = false;  // calls of the library are timed as one graph of many, not one by one

  int stream(int rank, int lane = 0) const { return rank * room.lanes + lane; }
  int streams() const { return ranks * room.lanes; }
  int rank_of(int stream) const { return stream / room.lanes; }
  bool is_beside(int stream) const { return beside > 0 && stream % room.lanes >= beside; }
  // What copies and sums read and write: 2 bytes for each that is copied, 3 for each summed.
  // Nothing where the plan does anything else, or goes through the host's memory.
  std::optional<int64_t> moved_B() const;
  // Multiplications and additions of its products of matrices.
  double flop() const;
  // Whether it calls the machine's own library of collectives (in what is timed, or beside it), or
  // copies by kernel.
  bool has_calls() const;
  bool has_calls(bool beside_it) const;
  bool has_copies_by_kernel() const;
};

// The next place that suits every type and every GPU.
constexpr int64_t aligned_B(int64_t bytes) { return (bytes + 255) / 256 * 256; }

// Sums take 16 bytes at a time where their operands lie alike modulo 16. So what is summed with the
// data at a place lies in a slot at this place, for which the slot has 15 bytes more.
constexpr int64_t alike_B(int64_t slot_B, int64_t at_B) { return slot_B + at_B % 16; }

class PlanWriter {
 public:
  PlanWriter(int ranks, int lanes) { plan_.ranks = ranks, plan_.room.lanes = lanes; }

  int stream(int rank, int lane = 0) const { return plan_.stream(rank, lane); }
  void copy(int stream, const Place& to, const Place& from, int64_t bytes, bool by_kernel = false);
  void sum(int stream, const Place& to, const Place& from, const Place& with, int64_t bytes);
  void select(int stream, const Place& to, const Place& from, int64_t bytes, int64_t count);
  void merge(int stream, const Place& to, const Place& from, int64_t count);
  void narrow(Act act, int stream, const Place& to, const Place& from, int64_t bytes);
  void product(int stream, const Place& to, const Place& from, const Place& with,
               const ProductShape& shape);
  void call(LibraryCall call, int stream, const Place& to, int64_t bytes);
  void nothing(int stream);
  // An event that has passed when all steps of the stream so far have.
  int mark(int stream);
  // Nothing for an event of -1.
  void await(int stream, int event);
  // Every stream waits for all.
  void barrier();
  // Room at the end of every rank's scratch buffer.
  int64_t reserve(int64_t bytes);
  int64_t reserve_slot(int64_t bytes) { return reserve(bytes > 0 ? bytes + 15 : 0); }
  int64_t reserve_on_host(int64_t bytes);
  Plan take() { return std::move(plan_); }

 private:
  void add(const Step& step) { plan_.steps.push_back(step); }

  Plan plan_;
};

}  // namespace sgdsim::calibrate
