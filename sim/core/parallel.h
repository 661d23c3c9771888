// Work on many threads whose results come out in the order of the items, whatever thread was first.
//
// Items are drawn one by one under a lock, worked on in parallel, and handed over, in order, on the
// thread that called: there, files are written and people are told. Threads that run ahead wait:
// at most `window` results are kept, so memory does not grow with the number of items.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sgdsim {

// The system gives none, or no memory for one.
struct NoThreads : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Item, class Result>
class OrderedWork {
 public:
  struct Parts {
    // The next item, or nothing if there is none. Never called twice at once.
    std::function<std::optional<Item>()> next;
    // Called by many threads; `thread` counts from 0.
    std::function<Result(int thread, const Item& item)> work;
    // Called by the thread that called run(), with all results that are there and in order; with
    // none of them at least every `patience`, so that it can look at a clock. False: stop drawing
    // items; what was drawn is still finished and taken.
    std::function<bool(std::vector<Result>&& results)> take;
  };

  OrderedWork(Parts parts, int threads, std::chrono::milliseconds patience)
      : parts_(std::move(parts)), threads_(threads), patience_(patience) {}

  // Throws what `next`, `work` or `take` threw first, after all threads have ended.
  void run() {
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(threads_));
    try {
      for (int thread = 0; thread < threads_; ++thread)
        threads.emplace_back([this, thread] { draw_and_work(thread); });
    } catch (const std::exception& error) {
      // The system gives no more threads, or no memory for them: those that there are do the work.
      if (threads.empty())
        throw NoThreads(std::string("no thread could be started: ") + error.what());
      threads_ = static_cast<int>(threads.size());
    }
    try {
      hand_over();
    } catch (...) {
      fail(std::current_exception());
    }
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  static constexpr std::size_t window = 4096;
  static constexpr std::size_t batch = 1024;  // as many results wake up the thread that takes them

  void draw_and_work(int thread) {
    try {
      std::unique_lock lock(mutex_);
      while (true) {
        room_.wait(lock, [&] { return stopped_ || results_.size() < window; });
        std::optional<Item> item;
        if (!stopped_) item = parts_.next();
        if (!item) break;
        const std::size_t number = first_ + results_.size();
        results_.emplace_back();
        lock.unlock();
        Result result = parts_.work(thread, *item);
        lock.lock();
        results_[number - first_] = std::move(result);
        if (results_.size() >= batch && results_.front()) there_.notify_one();
      }
      stopped_ = true;
      ++ended_;
      there_.notify_one();
      room_.notify_all();
    } catch (...) {
      fail(std::current_exception());
      const std::lock_guard lock(mutex_);
      ++ended_;
      there_.notify_one();
    }
  }

  void hand_over() {
    bool ended = false;
    while (!ended) {
      std::vector<Result> ready;
      {
        std::unique_lock lock(mutex_);
        there_.wait_for(lock, patience_, [&] {
          return ended_ == threads_ || (results_.size() >= batch && results_.front());
        });
        ended = ended_ == threads_;
        for (; !results_.empty() && results_.front(); results_.pop_front(), ++first_)
          ready.push_back(std::move(*results_.front()));
        room_.notify_all();
      }
      if (parts_.take(std::move(ready))) continue;
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      room_.notify_all();
    }
  }

  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    stopped_ = true;
    room_.notify_all();
  }

  Parts parts_;
  int threads_;
  std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable room_;               // for threads that have run ahead
  std::condition_variable there_;              // for the thread that takes results
  std::deque<std::optional<Result>> results_;  // from item `first_` on; empty: being worked on
  std::size_t first_ = 0;
  int ended_ = 0;
  bool stopped_ = false;
  std::exception_ptr failure_;
};

}  // namespace sgdsim
