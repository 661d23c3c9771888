// The processes of a measurement, of which this one is one.
//
// All of them go through the same tasks in step: whatever decides what comes next (a time, a wrong
// result, a signal) is agreed upon first. A process that fails tells the others, whose waits end
// with its sentence. Whoever hears nothing gives up after a while; after a signal soon, because
// mpirun kills what is still there a second after it.
#pragma once

#include <algorithm>
#include <functional>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibrate/processes/messenger.h"

namespace sgdsim::calibrate {

// How the ranks of a plan are divided: neighbours together, the first processes with one more.
struct Division {
  int processes = 1;
  int first(int process, int ranks) const {
    const int used = std::min(processes, ranks);
    const int some = std::min(process, used);
    return some * (ranks / used) + std::min(some, ranks % used);
  }
  int process_of(int rank, int ranks) const {
    int process = 0;
    while (first(process + 1, ranks) <= rank) ++process;
    return process;
  }
};

// Why another process ended, and with which exit code it did.
struct Ended {
  int exit_code = 0;
  std::string sentence;
};

class EndedElsewhere : public std::runtime_error {
 public:
  EndedElsewhere(int process, const Ended& ended)
      : std::runtime_error("process " + std::to_string(process) + ": " + ended.sentence),
        exit_code(ended.exit_code) {}
  int exit_code;
};

class Processes {
 public:
  Processes(std::unique_ptr<Messenger> messenger, double patience_s);
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int number() const { return messenger_->number(); }
  int count() const { return messenger_->count(); }
  bool is_first() const { return number() == 0; }
  Division division() const { return {count()}; }
  Messenger& messenger() { return *messenger_; }
  std::string version() const { return messenger_->version(); }
  // On how many nodes the first ones are.
  int nodes(int first_processes) const;
  const std::string& node() const { return nodes_[static_cast<std::size_t>(number())]; }

  void set_patience(double seconds) { patience_s_ = seconds; }
  void set_interrupt(const std::function<bool()>& is_interrupted) {
    is_interrupted_ = is_interrupted;
  }

  // Until is_done(), which is asked again and again. std::runtime_error if the patience is over,
  // EndedElsewhere if another process has failed.
  void wait_for(const std::function<bool()>& is_done, const std::string& what);

  // The following are called by all, and answer the same to all.
  double most(double value);
  bool any(bool is_so) { return most(is_so ? 1 : 0) > 0; }
  void meet() { most(0); }
  // What each process says, by its number.
  std::vector<std::string> all(const std::string& text);

  // Whether another process has told that it failed.
  bool has_news() { return messenger_->sender_of(tag_ended).has_value(); }
  // EndedElsewhere, if so.
  void hear_who_ended();
  // To the others, from the process that fails.
  void tell(const Ended& ended);
  // The end of a process: the first one lets the others go when it has written what there is to
  // write. The exit code of all.
  int end(int exit_code);

 private:
  static constexpr int tag_most = 1, tag_text = 2, tag_ended = 3, tag_last = 4;

  // A message under way. Its bytes stay where they are until it is done, even if nobody waits for
  // it any more.
  struct Letter {
    int message = 0;
    std::string bytes;
  };
  using Letters = std::list<Letter>;
  Letters::iterator send(int to, int tag, std::string bytes);
  Letters::iterator receive(int from, int tag, std::size_t bytes);
  std::string wait_for_letter(Letters::iterator letter, const std::string& what);
  void send_text(int to, const std::string& text);
  std::string text_from(int process);

  std::unique_ptr<Messenger> messenger_;
  double patience_s_;
  double patience_once_interrupted_s_ = 0.4;
  std::function<bool()> is_interrupted_ = [] { return false; };
  Letters letters_;
  std::vector<std::string> nodes_;  // by process
  bool has_failed_ = false;         // here or elsewhere
  bool is_hearing_ = false;         // of a failure
};

}  // namespace sgdsim::calibrate
