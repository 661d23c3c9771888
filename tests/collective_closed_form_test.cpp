// The schedules against formulas. First every closed form of the registry against its own schedule,
// then schedules against formulas written here from the published costs, in whole picoseconds.
//
// Exact means to the picosecond. Both sides of the first test round each message by itself. The
// formulas of this file are evaluated where nothing needs rounding: beta and gamma are multiples of
// every divisor of the message.
#include <algorithm>
#include <bit>
#include <doctest/doctest.h>
#include <functional>
#include <map>

#include "models/collective/options.h"
#include "tests/collective_cases.h"

using namespace sgdsim;

namespace {

// The published form of double_binary_tree is a limit for infinitely small blocks.
bool is_a_limit(const CollectiveCase& one) {
  auto names_it = [](std::string_view name) { return name == "double_binary_tree"; };
  if (one.algorithm->name == "hierarchical")
    return names_it(part_of(one.options, "inner")) || names_it(part_of(one.options, "outer"));
  return names_it(one.algorithm->name);
}

// Whole picoseconds: alpha, beta and gamma of a table row, and what it is asked for.
struct Integers {
  int64_t P, n, a, b, g;
  int64_t m = 1;        // blocks
  int64_t up() const {  // ceil(lg P)
    return static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(P - 1)));
  }
  int64_t down() const {
    return static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(P))) - 1;
  }
  int64_t core() const { return int64_t{1} << down(); }
  bool power() const { return core() == P; }
  // A message and a fold of `part` of `parts` of n bytes.
  int64_t message(int64_t part = 1, int64_t parts = 1) const { return a + n * part * (b / parts); }
  int64_t fold(int64_t part = 1, int64_t parts = 1) const { return n * part * (g / parts); }
};

struct Form {
  const char* algorithm;
  Operation operation;
  std::vector<std::pair<const char*, const char*>> options;
  std::function<int64_t(const Integers&)> expected;
  bool powers_only = false;
  int64_t least_blocks = 1;
  bool without_gamma = false;
  bool has_schedule = true;
};

void check_form(const Form& form, Integers x) {
  if (form.powers_only && !x.power()) return;
  if (x.m < form.least_blocks) return;
  if (form.without_gamma) x.g = 0;
  CollectiveCase one;
  one.algorithm = &algorithm_named(form.algorithm, "");
  one.operation = form.operation;
  one.size = Bytes(x.n);
  if (one.algorithm->takes_block) one.block = Bytes(x.n / x.m);
  one.options.fractional_chunks = true;
  for (const auto& [key, value] : form.options) {
    set_option(one.options, key, value, "test");
    one.option_text += std::string(" ") + key + "=" + value;
  }
  one.network = Network::uniform(static_cast<int>(x.P),
                                 {Duration::ps(x.a), PerByte::ps(static_cast<double>(x.b)),
                                  PerByte::ps(static_cast<double>(x.g))});
  INFO(one.text());
  const int64_t expected = form.expected(x);
  REQUIRE(one.closed_form());
  CHECK(one.closed_form()->ps() == expected);
  if (!form.has_schedule) return;
  CHECK(one.played(PathChoice::rounds).last_end().ps() == expected);
  CHECK(one.time().ps() == expected);
}

Integers draw_integers(Random& random, int64_t ranks) {
  Integers x{ranks, 0, 0, 0, 0};
  auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random.below(static_cast<uint64_t>(bound)));
  };
  x.n = 1 + below(20'000);
  x.a = below(5'000'000);
  x.b = x.P * x.core() * below(20);
  x.g = x.P * x.core() * below(20);
  return x;
}

}  // namespace

TEST_CASE("every schedule takes the time of its closed form") {
  Random random(5);
  std::map<std::string_view, int> with_form;
  for_each_offer([&](const Algorithm& algorithm, Operation operation) {
    for (int i = 0; i < (algorithm.name == "hierarchical" ? 300 : 100); ++i) {
      const CollectiveCase one = draw_case(random, algorithm, operation, {.uniform_network = true});
      const auto form = one.closed_form();
      if (!form || is_a_limit(one)) continue;
      INFO(one.text());
      CHECK(one.time() == *form);
      ++with_form[algorithm.name];
    }
  });
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.name != "double_binary_tree") CHECK(with_form[algorithm.name] >= 150);
}

// r = P - p' members fold, where P is no power of two. As published by MPICH, where p' is exact.
TEST_CASE("MPICH's forms, P = 2 to 64") {
  auto halving = [](const Integers& x) {  // down a + (p'-1)/p' n b
    return x.down() * x.a + x.n * (x.core() - 1) * (x.b / x.core());
  };
  auto folding = [](const Integers& x) { return x.n * (x.core() - 1) * (x.g / x.core()); };
  auto fold = [](const Integers& x) { return x.power() ? 0 : x.message() + x.fold(); };
  auto unfold = [](const Integers& x) { return x.power() ? 0 : x.message(); };
  auto rabenseifner = [=](const Integers& x) {
    return fold(x) + 2 * halving(x) + folding(x) + unfold(x);
  };
  auto around = [](const Integers& x) { return (x.P - 1) * x.message(1, x.P); };
  auto around_folds = [](const Integers& x) { return (x.P - 1) * x.fold(1, x.P); };
  using I = const Integers&;
  const std::vector<Form> forms = {
      {"mst", Operation::broadcast, {}, [](I x) { return x.up() * x.message(); }},
      {"mst", Operation::reduce, {}, [](I x) { return x.up() * (x.message() + x.fold()); }},
      {"mst", Operation::allreduce, {}, [](I x) { return x.up() * (2 * x.message() + x.fold()); }},
      {"mst",
       Operation::reduce,
       {{"mst_reduce", "eager"}},
       [](I x) { return x.up() * (x.message() + x.fold()); },
       true},
      {"be", Operation::allreduce, {}, rabenseifner},
      {"be", Operation::reduce, {}, [=](I x) { return fold(x) + 2 * halving(x) + folding(x); }},
      {"be",
       Operation::broadcast,
       {},
       [](I x) { return (x.up() + x.P - 1) * x.a + 2 * (x.P - 1) * x.n * (x.b / x.P); }},
      {"be",
       Operation::broadcast,
       {{"be_allgather", "recursive-doubling"}},
       [](I x) { return 2 * x.up() * x.a + 2 * (x.P - 1) * x.n * (x.b / x.P); },
       true},
      {"halving_doubling", Operation::allreduce, {}, rabenseifner},
      {"halving_doubling", Operation::allgather, {}, halving, true},
      {"halving_doubling",
       Operation::reduce_scatter,
       {},
       [=](I x) { return halving(x) + folding(x); },
       true},
      {"ring", Operation::allreduce, {}, [=](I x) { return 2 * around(x) + around_folds(x); }},
      {"ring", Operation::reduce_scatter, {}, [=](I x) { return around(x) + around_folds(x); }},
      {"ring", Operation::allgather, {}, around},
      {"direct", Operation::allreduce, {}, [=](I x) { return 2 * around(x) + around_folds(x); }},
      {"direct", Operation::alltoall, {}, around},
      {"recursive_doubling",
       Operation::allreduce,
       {},
       [=](I x) { return fold(x) + x.down() * (x.message() + x.fold()) + unfold(x); }},
      {"recursive_doubling",
       Operation::allgather,
       {},
       [](I x) { return x.up() * x.a + (x.P - 1) * x.n * (x.b / x.P); }},
      {"linear", Operation::broadcast, {}, [](I x) { return (x.P - 1) * x.message(); }},
      {"double_binary_tree",
       Operation::allreduce,
       {},
       [](I x) { return 2 * x.up() * x.a + x.n * (x.b + x.g); },
       false,
       1,
       false,
       false},
  };
  Random random(64);
  for (int64_t ranks = 2; ranks <= 64; ++ranks)
    for (const Form& form : forms)
      for (int i = 0; i < 3; ++i) check_form(form, draw_integers(random, ranks));
}

// Spec of the pipeline: m equal blocks, tau_c = alpha + b beta, tau_r = tau_c + b gamma.
TEST_CASE("LP's forms for equal blocks, P = 2 to 64") {
  auto c = [](const Integers& x) { return x.message(1, x.m); };
  auto r = [](const Integers& x) { return x.message(1, x.m) + x.fold(1, x.m); };
  auto g = [](const Integers& x) { return x.fold(1, x.m); };
  using I = const Integers&;
  const Operation broadcast = Operation::broadcast;
  const Operation reduce = Operation::reduce;
  const Operation allreduce = Operation::allreduce;
  const std::vector<Form> forms = {
      {"lp", broadcast, {}, [=](I x) { return (x.P - 2 + x.m) * c(x); }},
      {"lp", broadcast, {{"duplex", "link"}}, [=](I x) { return (x.P - 2 + x.m) * c(x); }},
      {"lp", reduce, {}, [=](I x) { return (x.P - 2 + x.m) * r(x); }},
      {"lp",
       reduce,
       {{"gamma", "overlap"}},
       [=](I x) { return (x.P - 1) * r(x) + (x.m - 1) * std::max(c(x), g(x)); }},
      {"lp",
       allreduce,
       {{"lp_allreduce", "sequential"}},
       [=](I x) { return (x.P - 2 + x.m) * (c(x) + r(x)); }},
      {"lp",
       allreduce,
       {{"duplex", "link"}},
       [=](I x) { return (x.P - 1) * (r(x) + c(x)) + (x.m - 1) * r(x); }},
      {"lp",
       allreduce,
       {{"duplex", "link"}, {"gamma", "overlap"}},
       [=](I x) { return (x.P - 1) * (r(x) + c(x)) + (x.m - 1) * std::max(c(x), g(x)); }},
      {"lp",
       allreduce,
       {},
       [=](I x) { return (x.P == 2 ? x.m + 1 : 2 * (x.P + x.m - 2) - 1) * c(x); },
       false,
       2,
       true},
      {"lp",
       broadcast,
       {{"lp_steps", "paper"}},
       [=](I x) { return (x.P - 1 + x.m) * c(x); },
       false,
       1,
       false,
       false},
  };
  Random random(65);
  for (int64_t ranks = 2; ranks <= 64; ++ranks)
    for (const Form& form : forms)
      for (int i = 0; i < 3; ++i) {
        Integers x = draw_integers(random, ranks);
        x.m = 1 + static_cast<int64_t>(random.below(12));
        x.n -= x.n % x.m;
        if (x.n == 0) x.n = x.m;
        x.b *= x.m;
        x.g *= x.m;
        check_form(form, x);
      }
}

// Streaming several messages, each of one block, makes any list of blocks.
TEST_CASE("LP with any list of blocks: the sum of all and P - 2 times the longest") {
  Random random(9);
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (int blocks = 1; blocks <= 12; ++blocks)
      for (const Operation operation : {Operation::broadcast, Operation::reduce}) {
        const bool folds = operation == Operation::reduce;
        const auto a = static_cast<int64_t>(random.below(1'000));
        const auto b = static_cast<int64_t>(random.below(20));
        const auto g = static_cast<int64_t>(random.below(20));
        CollectiveCase one;
        one.algorithm = &algorithm_named("lp", "");
        one.operation = operation;
        one.set("lp_drain", "off");
        one.network = Network::uniform(ranks, {Duration::ps(a), PerByte::ps(static_cast<double>(b)),
                                               PerByte::ps(static_cast<double>(g))});
        int64_t sum = 0;
        int64_t longest = 0;
        for (int i = 0; i < blocks; ++i) {
          const auto size =  // no bytes are no block
              static_cast<int64_t>(random.below(8) == 0 ? 0 : random.below(300));
          const int64_t stage = a + size * (b + (folds ? g : 0));
          (i == 0 ? one.size = Bytes(size) : one.following.emplace_back(size));
          if (size == 0) continue;
          sum += stage;
          longest = std::max(longest, stage);
        }
        one.block = Bytes(300);
        const int64_t expected = sum + (ranks - 2) * longest;
        INFO(one.text());
        CHECK(one.closed_form()->ps() == expected);
        for (const PathChoice path : {PathChoice::rounds, PathChoice::events})
          CHECK(one.played(path).last_end().ps() == expected);
      }
}

// send_i = t_i + a + c b; recv_i = max(t_i, t_(i-1)) + a + c' b; t_i = max(send, recv) + c' g. In
// step k of the reduce-scatter i sends chunk i - k, in the all-gather chunk i + 1 - k.
TEST_CASE("the ring's recurrence with unequal chunks, every worker by itself") {
  Random random(12);
  for (int64_t P = 2; P <= 40; ++P) {
    Integers x = draw_integers(random, P);
    auto chunk = [&](int64_t i) {
      const int64_t c = ((i % P) + P) % P;
      return x.n / P + (c < x.n % P ? 1 : 0);
    };
    std::vector<int64_t> t(static_cast<std::size_t>(P), 0);
    for (const int64_t gather : {0, 1})
      for (int64_t k = 0; k < P - 1; ++k) {
        const std::vector<int64_t> old = t;
        for (int64_t i = 0; i < P; ++i) {
          const int64_t at = old[static_cast<std::size_t>(i)];
          const int64_t before = old[static_cast<std::size_t>((i + P - 1) % P)];
          const int64_t send = at + x.a + chunk(i + gather - k) * x.b;
          const int64_t in = chunk(i - 1 + gather - k);
          const int64_t receive = std::max(at, before) + x.a + in * x.b;
          t[static_cast<std::size_t>(i)] = std::max(send, receive) + (gather == 0 ? in * x.g : 0);
        }
      }
    CollectiveCase one;
    one.algorithm = &algorithm_named("ring", "");
    one.size = Bytes(x.n);
    one.network = Network::uniform(static_cast<int>(P),
                                   {Duration::ps(x.a), PerByte::ps(static_cast<double>(x.b)),
                                    PerByte::ps(static_cast<double>(x.g))});
    const Played played = one.played(PathChoice::rounds);
    for (int64_t i = 0; i < P; ++i)
      CHECK(played.end_of(static_cast<int>(i)).ps() == t[static_cast<std::size_t>(i)]);
    const int64_t longest = x.a + (x.n + P - 1) / P * x.b;
    CHECK(played.last_end().ps() <= (P - 1) * (2 * longest + (x.n + P - 1) / P * x.g));
  }
}

// A port that is faster than its sender's is free early, but the data is there when all of it is.
TEST_CASE("a chain ends with its last byte, not with its last busy port") {
  Network network = Network::uniform(2, {Duration::ps(5000), PerByte::ps(1), {}});
  network.set_ports({{{{}, PerByte::ps(10), {}}, {}}, {}});
  CollectiveCase one;
  one.algorithm = &algorithm_named("lp", "");
  one.operation = Operation::broadcast;
  one.root = 0;
  one.size = Bytes(1000);
  one.block = Bytes(100);
  one.options.alpha = AlphaRule::wire;
  one.network = network;
  for (const PathChoice path : {PathChoice::rounds, PathChoice::events})
    CHECK(one.played(path).ends[1].ps() == 5000 + 1000 * 10);
}
