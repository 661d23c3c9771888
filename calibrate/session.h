// What surrounds a measurement: when it is, how far it is, where its record goes, and signals.
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <optional>
#include <ostream>
#include <string>

#include "sim/core/output.h"

namespace sgdsim::calibrate {

// As UTC.
std::string now();

// A line every ten seconds.
class Progress {
 public:
  Progress(std::ostream& log, bool quiet) : log_(log), quiet_(quiet) {}
  void operator()(const std::string& line) {
    const auto now = std::chrono::steady_clock::now();
    if (quiet_ || now - last_ < std::chrono::seconds(10)) return;
    last_ = now;
    log_ << "sgdsim-calibrate: " << line << '\n';
  }

 private:
  std::ostream& log_;
  bool quiet_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Where the record goes. A file is opened before anything is measured, so that hours are not lost
// to a misspelt folder; and where it cannot take the record in the end, another one does.
class Result {
 public:
  Result(const std::string& file, bool force, std::ostream& out) : out_(out) {
    OutputGuard({}, force).claim("--out", file,
                                 {.schema = "sgdsim/measurement/1", .beginning = {}});
    if (file != "-") file_.emplace(file, OutputFile::Mode::replace);
  }

  // Whether the record went where it was to go.
  bool write(const std::string& text, std::ostream& log);

 private:
  std::ostream& out_;
  std::optional<OutputFile> file_;
};

// Whether a signal came since the last Signals were made.
bool is_interrupted();

// A signal ends the measuring, not the program: what was measured is written.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  static constexpr std::array numbers{SIGINT, SIGTERM, SIGHUP, SIGPIPE};
  std::array<void (*)(int), numbers.size()> before_{};
};

}  // namespace sgdsim::calibrate
