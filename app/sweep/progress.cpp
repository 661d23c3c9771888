// Drawing progress on standard error.
#include "app/sweep/progress.h"

#include <cmath>
#include <unistd.h>

#include "study/table.h"

namespace sgdsim {
namespace {

constexpr std::chrono::milliseconds between_bars{200};
constexpr std::chrono::seconds between_lines{10};
constexpr int bar_width = 30;

}  // namespace

Progress::Progress(std::ostream& log, bool quiet, int64_t total, int64_t there)
    : log_(&log),
      quiet_(quiet),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      total_(total),
      there_(there),
      start_(std::chrono::steady_clock::now()),
      shown_(start_) {}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::string Progress::rate_and_rest(int64_t done) const {
  const double rate = static_cast<double>(done - there_) / std::max(1e-9, seconds());
  if (rate <= 0) return "";
  return ", " + rounded(rate, 3) + " points/s, " +
         readable_time(static_cast<double>(total_ - done) / rate) + " left";
}

void Progress::update(int64_t done) {
  if (quiet_ || total_ == 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (is_terminal_ ? now - shown_ < between_bars : now - shown_ < between_lines) return;
  shown_ = now;
  const double part = static_cast<double>(done) / static_cast<double>(total_);
  const std::string text = rounded(100 * part, 3) + " %, " + std::to_string(done) + " of " +
                           std::to_string(total_) + rate_and_rest(done);
  if (!is_terminal_) {
    *log_ << "sgdsim: " << text << std::endl;
    return;
  }
  const auto full = static_cast<std::size_t>(std::lround(part * bar_width));
  *log_ << "\r\x1b[K[" << std::string(full, '#') << std::string(bar_width - full, ' ') << "] "
        << text << std::flush;
  has_bar_ = true;
}

void Progress::end() {
  if (has_bar_) *log_ << "\r\x1b[K" << std::flush;
}

std::string readable_time(double seconds) {
  if (seconds < 10) return rounded(seconds, 2) + " s";
  const auto whole = static_cast<int64_t>(std::llround(std::min(seconds, 1e15)));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  if (whole < int64_t{48} * 3600)
    return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
  return std::to_string(whole / 86400) + " days";
}

}  // namespace sgdsim
