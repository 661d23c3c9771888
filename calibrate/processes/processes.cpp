// Agreeing takes log2(count) rounds, in which every process tells another one the most that it has
// heard of; what is longer goes by way of process 0.
#include "calibrate/processes/processes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

namespace sgdsim::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned looks_before_yield = 64;

// What fits into one message, so that nobody waits for its length first.
struct Report {
  int exit_code = 0;
  std::array<char, 1020> sentence{};
};

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class T>
T value_of(const std::string& bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

std::string process_name(int number) { return "process " + std::to_string(number); }

}  // namespace

Processes::Processes(std::unique_ptr<Messenger> messenger, double patience_s)
    : messenger_(std::move(messenger)), patience_s_(patience_s) {
  try {
    nodes_ = all(messenger_->node());
  } catch (const std::exception& error) {
    tell({1, error.what()});
    throw;
  }
}

int Processes::nodes(int first_processes) const {
  return static_cast<int>(
      std::set<std::string>(nodes_.begin(), nodes_.begin() + first_processes).size());
}

void Processes::wait_for(const std::function<bool()>& is_done, const std::string& what) {
  const Clock::time_point start = Clock::now();
  double limit_s = patience_s_;
  bool was_interrupted = false;
  for (unsigned looks = 1; !is_done(); ++looks) {
    if (looks % looks_before_yield != 0) continue;
    hear_who_ended();
    const double waited_s = std::chrono::duration<double>(Clock::now() - start).count();
    if (!was_interrupted && is_interrupted_()) {
      was_interrupted = true;
      limit_s = std::min(limit_s, waited_s + patience_once_interrupted_s_);
    }
    if (waited_s > limit_s) {
      has_failed_ = true;
      throw std::runtime_error("the other processes did not answer in time, while waiting for " +
                               what +
                               ": one of them has died, hangs, or is slower than --patience");
    }
    std::this_thread::yield();
  }
}

Processes::Letters::iterator Processes::send(int to, int tag, std::string bytes) {
  const auto letter = letters_.insert(letters_.end(), {0, std::move(bytes)});
  letter->message = messenger_->send(to, tag, letter->bytes.data(), letter->bytes.size());
  return letter;
}

Processes::Letters::iterator Processes::receive(int from, int tag, std::size_t bytes) {
  const auto letter = letters_.insert(letters_.end(), {0, std::string(bytes, ' ')});
  letter->message = messenger_->receive(from, tag, letter->bytes.data(), bytes);
  return letter;
}

std::string Processes::wait_for_letter(Letters::iterator letter, const std::string& what) {
  wait_for([&] { return messenger_->is_done(letter->message); }, what);
  std::string bytes = std::move(letter->bytes);
  letters_.erase(letter);
  return bytes;
}

double Processes::most(double value) {
  for (int distance = 1; distance < count(); distance *= 2) {
    const auto coming =
        receive((number() + count() - distance) % count(), tag_most, sizeof(double));
    const auto going = send((number() + distance) % count(), tag_most, bytes_of(value));
    value = std::max(value, value_of<double>(wait_for_letter(coming, "what the others say")));
    wait_for_letter(going, "what the others hear");
  }
  return value;
}

void Processes::send_text(int to, const std::string& text) {
  const std::string name = process_name(to);
  wait_for_letter(send(to, tag_text, bytes_of(text.size())), name);
  wait_for_letter(send(to, tag_text, text), name);
}

std::string Processes::text_from(int process) {
  const std::string name = process_name(process);
  const auto bytes =
      value_of<std::size_t>(wait_for_letter(receive(process, tag_text, sizeof(std::size_t)), name));
  return wait_for_letter(receive(process, tag_text, bytes), name);
}

std::vector<std::string> Processes::all(const std::string& text) {
  std::vector<std::string> texts(static_cast<std::size_t>(count()));
  if (!is_first()) {
    send_text(0, text);
    for (std::string& one : texts) one = text_from(0);
    return texts;
  }
  texts[0] = text;
  for (int from = 1; from < count(); ++from)
    texts[static_cast<std::size_t>(from)] = text_from(from);
  for (int to = 1; to < count(); ++to)
    for (const std::string& one : texts) send_text(to, one);
  return texts;
}

// ---- ends

// Reports are taken even if nobody asks any more, since their senders wait for that.
void Processes::hear_who_ended() {
  if (is_hearing_) return;
  const auto sender = messenger_->sender_of(tag_ended);
  if (!sender) return;
  is_hearing_ = true;
  const auto letter = receive(*sender, tag_ended, sizeof(Report));
  const auto report = value_of<Report>(wait_for_letter(letter, process_name(*sender)));
  is_hearing_ = false;
  if (!std::exchange(has_failed_, true))
    throw EndedElsewhere(*sender, {report.exit_code, report.sentence.data()});
}

void Processes::tell(const Ended& ended) {
  if (has_failed_) return;  // the others have heard of it, or do not answer
  has_failed_ = true;
  Report report{.exit_code = ended.exit_code, .sentence = {}};
  ended.sentence.copy(report.sentence.data(), report.sentence.size() - 1);
  try {
    // Nobody waits until they are taken: whoever has failed as well may not ask for them any more.
    for (int process = 0; process < count(); ++process)
      if (process != number()) send(process, tag_ended, bytes_of(report));
  } catch (const std::exception&) {  // who hears nothing gives up by itself
  }
}

int Processes::end(int exit_code) {
  patience_once_interrupted_s_ = 5;  // the first process may be writing
  try {
    if (is_first()) {
      std::vector<Letters::iterator> letters;
      for (int process = 1; process < count(); ++process)
        letters.push_back(send(process, tag_last, bytes_of(exit_code)));
      for (const auto& letter : letters) wait_for_letter(letter, "the end of the others");
    } else {
      const std::string last = wait_for_letter(receive(0, tag_last, sizeof exit_code), "the end");
      exit_code = std::max(exit_code, value_of<int>(last));
    }
    // Messages that nobody has taken would make the others wait.
    if (!has_failed_) messenger_->leave();
  } catch (const std::exception&) {  // what matters has been said and written
    return exit_code == 0 ? 1 : exit_code;
  }
  return exit_code;
}

}  // namespace sgdsim::calibrate
