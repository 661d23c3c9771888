// How far a long run is: a bar on a terminal, else a line every ten seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

namespace sgdsim {

class Progress {
 public:
  // `total` points, of which `there` need not be computed.
  Progress(std::ostream& log, bool quiet, int64_t total, int64_t there);
  void update(int64_t done);
  // Ends the bar.
  void end();
  double seconds() const;  // since the start

 private:
  std::string rate_and_rest(int64_t done) const;

  std::ostream* log_;
  bool quiet_;
  bool is_terminal_;
  int64_t total_;
  int64_t there_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point shown_;
  bool has_bar_ = false;
};

// "2 h 5 min", "12 s", "0.4 s".
std::string readable_time(double seconds);

}  // namespace sgdsim
