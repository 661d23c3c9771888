// Plans divided among processes, played stream by stream in an order drawn by lot, with messages
// that are taken from the sender's memory at once or only when they are received.
#include <array>
#include <deque>
#include <doctest/doctest.h>
#include <map>

#include "calibrate/processes/local_player.h"
#include "calibrate/tasks/tasks.h"
#include "sim/core/random.h"

namespace sgdsim::calibrate {
namespace {

struct Parcel {
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
  std::vector<std::byte> copied;  // if it was taken at once
  bool is_taken = false;
};

struct Post {
  Random random{1};
  std::map<std::array<int, 3>, std::deque<std::shared_ptr<Parcel>>> parcels;  // from, to, tag
  int sent = 0;
};

class Postman : public Messenger {
 public:
  Postman(Post& post, int number, int count) : post_(post), number_(number), count_(count) {}
  int number() const override { return number_; }
  int count() const override { return count_; }
  std::string node() const override { return "here"; }
  std::string version() const override { return "none"; }

  int send(int to, int tag, const void* from, std::size_t bytes) override {
    const auto parcel = std::make_shared<Parcel>();
    parcel->from = static_cast<const std::byte*>(from);
    parcel->bytes = bytes;
    if (post_.random.below(2) == 0) parcel->copied.assign(parcel->from, parcel->from + bytes);
    post_.parcels[{number_, to, tag}].push_back(parcel);
    ++post_.sent;
    asked_.push_back([parcel] { return parcel->is_taken || !parcel->copied.empty(); });
    return static_cast<int>(asked_.size()) - 1;
  }

  int receive(int from, int tag, void* to, std::size_t bytes) override {
    asked_.push_back([this, from, tag, to, bytes] {
      auto& waiting = post_.parcels[{from, number_, tag}];
      if (waiting.empty() || post_.random.below(3) == 0) return false;
      const auto parcel = waiting.front();
      waiting.pop_front();
      CHECK(parcel->bytes == bytes);
      const std::byte* source = parcel->copied.empty() ? parcel->from : parcel->copied.data();
      std::copy_n(source, bytes, static_cast<std::byte*>(to));
      return parcel->is_taken = true;
    });
    return static_cast<int>(asked_.size()) - 1;
  }

  bool is_done(int message) override { return asked_[static_cast<std::size_t>(message)](); }
  std::optional<int> sender_of(int) override { return {}; }
  void leave() override {}

 private:
  Post& post_;
  int number_;
  int count_;
  std::vector<std::function<bool()>> asked_;
};

// One process: its ranks' memory, full of garbage, and what plays its part.
struct Process {
  Process(Post& post, int number, int count, const Task& task)
      : division{count},
        postman(post, number, count),
        player(postman, [this](const Place& place) { return at(place); }) {
    const Room& room = task.plan.room;
    for (int rank = 0; rank < task.plan.ranks; ++rank) {
      auto& own = memory.emplace_back();
      if (division.process_of(rank, task.plan.ranks) != number) continue;
      const int64_t sizes_B[] = {room.data_B, room.scratch_B, room.host_B};
      for (std::size_t i = 0; i < own.size(); ++i)
        own[i].assign(static_cast<std::size_t>(sizes_B[i]), std::byte{0xff});
      task.fill(rank, own[0]);
      own[0].resize(static_cast<std::size_t>(room.data_B), std::byte{0xff});
    }
    player.load(local_plan(task.plan, division, number), task.type);
  }
  std::byte* at(const Place& place) {
    return memory[static_cast<std::size_t>(place.rank)][static_cast<std::size_t>(place.buffer)]
               .data() +
           place.at_B;
  }

  Division division;
  Postman postman;
  LocalPlayer player;
  std::vector<std::array<std::vector<std::byte>, 3>> memory;  // by rank and buffer
};

enum class Verdict { right, wrong, stuck };

using Change = std::function<void(LocalPlan&, int process)>;

Verdict played(const Task& task, int processes, uint64_t order, int* sent = nullptr,
               const Change& change = {}) {
  Post post;
  post.random = Random(order);
  std::vector<std::unique_ptr<Process>> all;
  for (int i = 0; i < processes; ++i) {
    all.push_back(std::make_unique<Process>(post, i, processes, task));
    if (!change) continue;
    LocalPlan plan = local_plan(task.plan, {processes}, i);
    change(plan, i);
    all.back()->player.load(plan, task.type);
  }
  const auto is_done = [](const auto& one) { return one->player.is_done(); };
  int in_vain = 0;
  while (!std::all_of(all.begin(), all.end(), is_done)) {
    LocalPlayer& player = all[post.random.below(all.size())]->player;
    const auto streams = static_cast<uint64_t>(player.streams());
    const uint64_t lot = post.random.below(streams + 1);
    const bool has_advanced =
        lot == streams ? player.advance_sends() : player.advance(static_cast<int>(lot));
    in_vain = has_advanced ? 0 : in_vain + 1;
    if (in_vain > 20'000) return Verdict::stuck;
  }
  if (sent != nullptr) *sent = post.sent;
  for (int rank = 0; rank < task.plan.ranks; ++rank) {
    const int process = Division{processes}.process_of(rank, task.plan.ranks);
    const auto& memory = all[static_cast<std::size_t>(process)]->memory;
    if (task.first_wrong(rank, memory[static_cast<std::size_t>(rank)][0]) >= 0)
      return Verdict::wrong;
  }
  return Verdict::right;
}

std::vector<Task> tasks_among(int ranks, bool overlaps) {
  Request request;
  request.probes = {"collectives", "gtopk", "pairs"};
  request.ranks = {ranks};
  request.sizes_B = {4, 1000};
  request.blocks_B = {100};
  request.overlaps = overlaps;
  request.density = 0.1;
  std::vector<Task> tasks = tasks_of(request);
  std::erase_if(tasks, [](const Task& task) { return task.plan.has_calls(); });
  if (ranks == 2) tasks.push_back(copy_task(Way::through_host, (5 << 20) / 2, Type::float32));
  return tasks;
}

TEST_CASE("calibrate: ranks are divided among processes as neighbours, the first with one more") {
  const Division three{3};
  std::vector<int> of_seven;
  for (int rank = 0; rank < 7; ++rank) of_seven.push_back(three.process_of(rank, 7));
  CHECK(of_seven == std::vector<int>{0, 0, 0, 1, 1, 2, 2});
  CHECK(three.process_of(1, 2) == 1);
  CHECK(three.first(2, 2) == three.first(3, 2));  // the third one has none
  CHECK(Division{1}.process_of(63, 64) == 0);
}

TEST_CASE("calibrate: plans divided among processes are right, in any order of streams") {
  int played_tasks = 0;
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (const bool overlaps : {false, true})
      for (const Task& task : tasks_among(ranks, overlaps))
        for (int processes = 2; processes <= std::min(ranks, 5); ++processes)
          for (uint64_t order = 1; order <= 3; ++order) {
            int sent = 0;
            const Verdict verdict = played(task, processes, order, &sent);
            if (verdict != Verdict::right)
              FAIL_CHECK(text_of(task) << ", " << processes << " processes, order " << order
                                       << (verdict == Verdict::stuck ? ": stuck" : ": wrong"));
            const auto of = [&](int rank) { return Division{processes}.process_of(rank, ranks); };
            const auto copies = std::count_if(
                task.plan.steps.begin(), task.plan.steps.end(), [&](const Step& step) {
                  return step.act == Act::copy && of(step.from.rank) != of(step.to.rank);
                });
            if (task.plan.room.host_B == 0) CHECK(sent == copies);
            ++played_tasks;
          }
  CHECK(played_tasks > 5000);
}

// Otherwise the test above would prove nothing: data that leaves one step too early is not ready.
TEST_CASE("calibrate: a message that leaves too early shows in some order") {
  int moved = 0;
  for (const std::string algorithm : {"ring", "mst", "be", "lp"}) {
    const Task task = collective_task({.algorithm = algorithm,
                                       .operation = "allreduce",
                                       .ranks = 5,
                                       .bytes = 1000,
                                       .block_B = 250},
                                      Type::float32);
    for (int stream = 0; stream < task.plan.streams(); ++stream)
      for (std::size_t i = 1; i < 40; ++i) {
        bool is_moved = false;
        const Change earlier = [&](LocalPlan& plan, int) {
          auto& steps = plan.streams[static_cast<std::size_t>(stream)];
          if (i >= steps.size() || steps[i].kind != LocalStep::Kind::send) return;
          const LocalStep& before = steps[i - 1];
          const Step& copy = steps[i].step;
          if (before.kind == LocalStep::Kind::send ||
              !writes_into(before.step, copy.from, copy.bytes))
            return;
          std::swap(steps[i - 1], steps[i]);
          is_moved = true;
        };
        uint64_t order = 1;
        while (order <= 50 && played(task, 5, order, nullptr, earlier) == Verdict::right) {
          if (!is_moved) break;
          ++order;
        }
        if (order > 50) FAIL_CHECK(algorithm << " stream " << stream << " step " << i);
        if (is_moved) ++moved;
      }
  }
  CHECK(moved > 30);
}

}  // namespace
}  // namespace sgdsim::calibrate
