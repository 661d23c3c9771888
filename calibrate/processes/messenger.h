// Messages between the processes of a measurement: the little of MPI that is used.
//
// Nothing waits here: what is started is asked about until it is done, so that every wait can have
// an end (processes.h). An interface with virtual functions, because a program may be built without
// MPI, and because tests deliver messages in any order.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace sgdsim::calibrate {

class Messenger {
 public:
  Messenger() = default;
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;
  virtual ~Messenger() = default;

  virtual int number() const = 0;  // of this process, from 0
  virtual int count() const = 0;
  virtual std::string node() const = 0;     // the host's name
  virtual std::string version() const = 0;  // "Open MPI v4.1.4"

  // Starts a message, and answers under which number is_done() is asked about it. Messages of one
  // tag between two processes arrive in the order in which they were sent.
  virtual int send(int to, int tag, const void* from, std::size_t bytes) = 0;
  virtual int receive(int from, int tag, void* to, std::size_t bytes) = 0;
  // Once it has been done, its number stands for nothing any more.
  virtual bool is_done(int message) = 0;
  // Who has sent such a message that nobody has begun to receive.
  virtual std::optional<int> sender_of(int tag) = 0;
  // Leaves the others; every message must be done.
  virtual void leave() = 0;
};

// InputError if the program was built without MPI.
std::unique_ptr<Messenger> mpi_messenger();

}  // namespace sgdsim::calibrate
