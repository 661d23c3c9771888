// Independent work on many threads is what one thread makes of it.
#include "sim/core/worked_on.h"

#include <atomic>
#include <doctest/doctest.h>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/run_program.h"

namespace sgdsim {
namespace {

using Look = std::function<void()>;

TEST_CASE("worked_on: results in order, for any number of threads") {
  for (const int threads : {1, 2, 7}) {
    std::size_t reached = 0;
    const std::vector<std::size_t> squares = worked_on<std::size_t>(
        100, {.threads = threads, .reached = [&](std::size_t done) { reached = done; }},
        [](int, std::size_t number, const Look&) { return number * number; });
    REQUIRE(squares.size() == 100);
    for (std::size_t i = 0; i < squares.size(); ++i) CHECK(squares[i] == i * i);
    CHECK(reached == 100);
  }
  CHECK(worked_on<int>(0, {}, [](int, std::size_t, const Look&) { return 1; }).empty());
}

TEST_CASE("worked_on: of several that throw, the first in order counts") {
  for (const int threads : {1, 4})
    for (int repeated = 0; repeated < 20; ++repeated) {
      std::string what;
      try {
        worked_on<int>(50, {.threads = threads}, [](int, std::size_t number, const Look&) -> int {
          if (number == 3) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          if (number >= 3) throw std::runtime_error(std::to_string(number));
          return 0;
        });
      } catch (const std::runtime_error& error) {
        what = error.what();
      }
      CHECK(what == "3");
    }
}

TEST_CASE("worked_on: who looks on ends all of it, and is asked by one thread only") {
  struct Enough {};
  std::atomic<int> ended = 0;
  std::set<std::thread::id> who;
  const auto ask = [&] {
    who.insert(std::this_thread::get_id());
    throw Enough();
  };
  const auto work = [&](int, std::size_t, const Look& look) {
    try {
      while (true) look();
    } catch (const Interrupted&) {
      ++ended;
      throw;
    }
    return 0;
  };
  CHECK_THROWS_AS(worked_on<int>(4, {.threads = 2, .look = ask}, work), Enough);
  CHECK(ended >= 1);
  CHECK(who == std::set{std::this_thread::get_id()});
}

TEST_CASE("worked_on: a thread that helps asks for no more") {
  const auto inner = [](int thread, std::size_t number, const Look&) {
    CHECK(thread == 0);
    return static_cast<int>(number);
  };
  const std::vector<int> sums =
      worked_on<int>(4, {.threads = 2}, [&](int, std::size_t, const Look& look) {
        CHECK(Helping::is_here());
        const auto all = worked_on<int>(5, {.threads = 8, .look = look}, inner);
        return std::accumulate(all.begin(), all.end(), 0);
      });
  CHECK(sums == std::vector<int>(4, 10));
  CHECK(!Helping::is_here());
}

// The same words, in a thread that helps: there nothing is shared out.
TEST_CASE("worked_on: commands answer the same on one thread and on all") {
  if (all_cores() == 1) MESSAGE("one core: nothing is shared out here");
  const std::string step = std::string(SGDSIM_SOURCE_DIR) + "/app/experiments/bert_base_10gbe.json";
  const std::vector<std::vector<std::string>> all = {
      {"advise", step, "--format", "json"},
      {"advise", step, "--fidelity", "message", "--set", "cluster.nodes=4", "--format", "json"},
      {"plan", step, "--around", "5%", "--also", "trace.batch=8", "--format", "json"},
      {"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--format", "json"},
      {"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--gpus", "16", "--sequence", "1024",
       "--fidelity", "flow", "--format", "json"},
      {"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--near", "tp8 dp4 zero1 sp", "--fidelity",
       "message", "--format", "json"},
      {"layout", "llama3.1_405b", "-c", "dgx_h100_4", "--gpus", "16"}};
  for (const std::vector<std::string>& words : all) {
    CAPTURE(words);
    const Ran many = call_sgdsim(words);
    Ran one;
    {
      const Helping helping;
      one = call_sgdsim(words);
    }
    CHECK(many.exit_code == one.exit_code);
    CHECK(many.out == one.out);
    CHECK(many.log == one.log);
  }
}

}  // namespace
}  // namespace sgdsim
