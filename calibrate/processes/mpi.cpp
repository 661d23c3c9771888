// MPI, by its calls that do not wait. One thread calls, and no error ends the program.
#include "calibrate/processes/messenger.h"

#ifdef SGDSIM_HAS_MPI
#include <array>
#include <limits>
#include <mpi.h>
#include <stdexcept>
#include <vector>

namespace sgdsim::calibrate {
namespace {

void check(int answer, const char* call) {
  if (answer == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  const bool is_known = MPI_Error_string(answer, text.data(), &length) == MPI_SUCCESS;
  throw std::runtime_error(std::string("MPI: ") + call + ": " +
                           (is_known ? text.data() : std::to_string(answer)));
}
#define SGDSIM_MPI_CHECK(call) check((call), #call)

class Mpi : public Messenger {
 public:
  Mpi() {
    int level = 0;
    SGDSIM_MPI_CHECK(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level));
    SGDSIM_MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    SGDSIM_MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &number_));
    SGDSIM_MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &count_));
    int length = 0;
    std::array<char, MPI_MAX_PROCESSOR_NAME> node{};
    SGDSIM_MPI_CHECK(MPI_Get_processor_name(node.data(), &length));
    node_ = node.data();
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
    SGDSIM_MPI_CHECK(MPI_Get_library_version(version.data(), &length));
    version_ = version.data();
    version_.resize(version_.find_first_of(",\n") == std::string::npos
                        ? version_.size()
                        : version_.find_first_of(",\n"));
  }

  int number() const override { return number_; }
  int count() const override { return count_; }
  std::string node() const override { return node_; }
  std::string version() const override { return version_; }

  int send(int to, int tag, const void* from, std::size_t bytes) override {
    const int message = new_message();
    SGDSIM_MPI_CHECK(MPI_Isend(from, length(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD,
                               &requests_[static_cast<std::size_t>(message)]));
    return message;
  }

  int receive(int from, int tag, void* to, std::size_t bytes) override {
    const int message = new_message();
    SGDSIM_MPI_CHECK(MPI_Irecv(to, length(bytes), MPI_BYTE, from, tag, MPI_COMM_WORLD,
                               &requests_[static_cast<std::size_t>(message)]));
    return message;
  }

  bool is_done(int message) override {
    int done = 0;
    SGDSIM_MPI_CHECK(
        MPI_Test(&requests_[static_cast<std::size_t>(message)], &done, MPI_STATUS_IGNORE));
    if (done != 0) free_.push_back(message);
    return done != 0;
  }

  std::optional<int> sender_of(int tag) override {
    int is_there = 0;
    MPI_Status status{};
    SGDSIM_MPI_CHECK(MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &is_there, &status));
    return is_there != 0 ? std::optional(status.MPI_SOURCE) : std::nullopt;
  }

  void leave() override { SGDSIM_MPI_CHECK(MPI_Finalize()); }

 private:
  int new_message() {
    if (free_.empty()) {
      requests_.push_back(MPI_REQUEST_NULL);
      return static_cast<int>(requests_.size()) - 1;
    }
    const int message = free_.back();
    free_.pop_back();
    return message;
  }

  // MPI counts in int.
  static int length(std::size_t bytes) {
    if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw std::runtime_error("MPI: a message of 2 GiB or more");
    return static_cast<int>(bytes);
  }

  int number_ = 0;
  int count_ = 1;
  std::string node_;
  std::string version_;
  std::vector<MPI_Request> requests_;
  std::vector<int> free_;
};

}  // namespace

std::unique_ptr<Messenger> mpi_messenger() { return std::make_unique<Mpi>(); }

}  // namespace sgdsim::calibrate
#else
#include "sim/core/error.h"

namespace sgdsim::calibrate {

std::unique_ptr<Messenger> mpi_messenger() {
  throw InputError("--mpi",
                   "this program was built without MPI; it is taken where CMake finds it, on "
                   "Debian in libopenmpi-dev");
}

}  // namespace sgdsim::calibrate
#endif
