// Collectives in flight together of workers that are all alike: one is played, and every worker is
// played: the same picoseconds.
#include "sim/play/alike_calls.h"

#include <doctest/doctest.h>
#include <map>
#include <string>

#include "sim/net/port_resources.h"
#include "sim/play/play_in_time.h"
#include "tests/collective_cases.h"
#include "tests/rounds.h"

using namespace sgdsim;

namespace {

struct InFlight {
  std::string text;
  Network network = Network::uniform(1, {});
  std::vector<Program> programs;
  std::vector<Call> calls;
  SharingOptions options;
};

// Calls of any algorithms, of a few sizes, one behind the other.
InFlight draw_in_flight(Random& random, const Algorithm& algorithm, Operation operation) {
  const CaseLimits limits{.most_ranks = 20,
                          .most_bytes = 200'000,
                          .most_messages = 2'000,
                          .automatic_blocks = false,
                          .uniform_network = true};
  const CollectiveCase one = draw_case(random, algorithm, operation, limits);
  InFlight drawn;
  drawn.text = one.text();
  drawn.network = one.network;
  const auto count = static_cast<std::size_t>(1 + random.below(5));
  while (drawn.programs.size() < count) {
    const Algorithm& its =
        random.below(3) == 0 ? algorithms()[random.below(algorithms().size())] : algorithm;
    const Operation what =
        &its == &algorithm ? operation : its.operations[random.below(its.operations.size())];
    const auto ranks = static_cast<uint64_t>(one.ranks());
    Bytes size = one.size;
    if (random.below(2) == 0) size = Bytes(static_cast<int64_t>(random.below(40'000) * ranks));
    const auto other = draw_choices(random, its, what, one.network, size, limits);
    if (!other) continue;
    drawn.text += "; " + other->text();
    drawn.programs.push_back(other->program());
  }
  Time ready;
  for (const Program& program : drawn.programs) {
    ready += Duration::ps(static_cast<int64_t>(random.below(3) * random.below(50'000'000)));
    drawn.calls.push_back({&program, &drawn.network,
                           std::vector<Time>(static_cast<std::size_t>(one.ranks()), ready),
                           Duration::ps(static_cast<int64_t>(random.below(2) * 12'345))});
  }
  drawn.options = {.alpha = one.options.alpha, .at_once = 1 + static_cast<int>(random.below(4))};
  return drawn;
}

bool are_one(const InFlight& drawn) {
  PortResources ports(drawn.network);
  std::vector<PlayedProgram> programs;
  for (const Call& call : drawn.calls) programs.push_back({call.program, call.network});
  const std::vector<uint64_t> first(static_cast<std::size_t>(drawn.network.workers()));
  return find_one_for_all(programs, first, &ports).has_value();
}

}  // namespace

TEST_CASE("alike calls: random collectives in flight end as where every worker is played") {
  Random random(64);
  int reduced = 0;
  std::map<std::string_view, int> several;  // of each algorithm, met in flight
  for_each_offer([&](const Algorithm& algorithm, Operation operation) {
    for (int i = 0; i < rounds(150); ++i) {
      InFlight drawn = draw_in_flight(random, algorithm, operation);
      if (!are_one(drawn)) continue;
      CAPTURE(drawn.text);
      CAPTURE(drawn.options.at_once);
      drawn.options.reduction = Reduction::never;
      const std::vector<CallTimes> all = play_in_time(drawn.calls, drawn.options);
      drawn.options.reduction = Reduction::fitting;
      drawn.options.one_answers = true;
      const std::vector<CallTimes> one = play_in_time(drawn.calls, drawn.options);
      REQUIRE(one.size() == all.size());
      for (std::size_t call = 0; call < all.size(); ++call) {
        REQUIRE(one[call].ends.size() == 1);
        CAPTURE(call);
        for (const Time start : all[call].starts) REQUIRE(start == one[call].starts.front());
        for (const Time end : all[call].ends) REQUIRE(end == one[call].ends.front());
        if (call > 0 && one[call].starts.front() < one[call - 1].ends.front())
          ++several[algorithm.name];
      }
      ++reduced;
    }
  });
  CHECK(reduced > rounds(1200));
  for (const char* name : {"ring", "direct", "recursive_doubling", "halving_doubling"}) {
    CAPTURE(name);
    CHECK(several[name] > rounds(50));
  }
}

// Four workers, 1 ns/B and 10 us of flight. A ring of 8 kB has six rounds of 2 us of bytes and
// 10 us on the way. The second is ready 1 us later: both share the port from then on, so that the
// first has 1 us left, of which half goes by; then it ends a round at 3 us + 10 us, when the second
// has 1 us of its bytes left and the port for itself.
TEST_CASE("alike calls: a drawing of two rings that overlap") {
  const Network network = Network::uniform(4, {Duration::us(10), PerByte::ps(1000), {}});
  Phase phase;
  phase.team = {.size = 4, .stride = 1};
  phase.share = {.total = Bytes(8000), .fractional = false, .split = {}};
  phase.load = Load::chunk;
  phase.chunk_slope = -1;
  phase.rounds = 1;
  const Program program = Program().then(phase);
  const std::vector<AlikeCall> calls = {{&program, &network, Time(), {}},
                                        {&program, &network, Time() + Duration::us(1), {}}};
  const std::vector<AlikeTimes> times = play_alike(calls, AlphaRule::wire, 2);
  CHECK(times[0].ends == Time() + Duration::us(13));
  CHECK(times[1].starts == Time() + Duration::us(1));
  CHECK(times[1].ends == Time() + Duration::us(14));
  // One at a time.
  const std::vector<AlikeTimes> serial = play_alike(calls, AlphaRule::wire, 1);
  CHECK(serial[0].ends == Time() + Duration::us(12));
  CHECK(serial[1].starts == Time() + Duration::us(12));
  CHECK(serial[1].ends == Time() + Duration::us(24));
  // Alone, and of nothing.
  CHECK(play_alike({}, AlphaRule::port, 1).empty());
  const Program nothing;
  const std::vector<AlikeCall> empty(3, {&nothing, &network, Time() + Duration::us(5), {}});
  for (const AlikeTimes& one : play_alike(empty, AlphaRule::port, 1))
    CHECK(one.ends == Time() + Duration::us(5));
}
