// Signals, and a record that is not lost.
#include "calibrate/session.h"

#include <ctime>
#include <stdexcept>
#include <unistd.h>

namespace sgdsim::calibrate {
namespace {

// The only thing that a signal handler may touch.
volatile std::sig_atomic_t interrupted = 0;
// The second one ends the program at once, as if nobody had caught the first.
void on_interrupt(int number) {
  interrupted = 1;
  std::signal(number, SIG_DFL);
}

}  // namespace

std::string now() {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

bool Result::write(const std::string& text, std::ostream& log) {
  std::string problem = "standard output cannot be written";
  try {
    if (file_) {
      file_->write(text);
      file_->finish();
      return true;
    }
    if ((out_ << text).flush()) return true;
  } catch (const std::runtime_error& error) {
    problem = error.what();
  }
  log << "sgdsim-calibrate: failed: " << problem << '\n';
  const std::string name = "sgdsim-calibrate-" + std::to_string(getpid()) + ".json";
  for (const std::string& folder : {std::string("."), std::string("/tmp"), std::string("/dev/shm")})
    try {
      write_file(text, folder + "/" + name);
      log << "sgdsim-calibrate: what was measured is in " << folder << "/" << name << '\n';
      return false;
    } catch (const std::runtime_error& error) {
      log << "sgdsim-calibrate: failed: " << error.what() << '\n';
    }
  return false;
}

bool is_interrupted() { return interrupted != 0; }

Signals::Signals() {
  interrupted = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    before_[i] = std::signal(numbers[i], numbers[i] == SIGPIPE ? SIG_IGN : on_interrupt);
}

Signals::~Signals() {
  for (std::size_t i = 0; i < numbers.size(); ++i) std::signal(numbers[i], before_[i]);
}

}  // namespace sgdsim::calibrate
