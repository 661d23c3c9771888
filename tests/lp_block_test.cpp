// The block that `lp` takes where nobody gives one: no other block may be much better.
//
// The schedule itself is the judge. Blocks of a message of n bytes differ by their number m only,
// so m is tried one by one up to 16 and then by quarters of an octave, around whatever the default
// is.
#include <cmath>
#include <doctest/doctest.h>
#include <set>

#include "models/collective/options.h"
#include "models/collective/simulate.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

struct Setting {
  const char* reason;
  std::vector<std::pair<std::string, std::string>> options;
  bool shares_ports = false;  // an all-reduce's two ways
};

Duration time_with(const Setting& setting, Operation operation, const Cluster& cluster,
                   int64_t size_B, std::optional<Bytes> block) {
  CollectiveQuestion question;
  question.algorithm = "lp";
  question.operation = operation;
  question.messages = {Bytes(size_B)};
  question.block = block;
  for (const auto& [key, value] : setting.options) set_option(question.options, key, value, "test");
  return simulate_collective(question, cluster, "test").time;
}

// An all-reduce whose results come back through the ports of its sums has no formula: where folds
// take longer than sending, a twentieth.
TEST_CASE("lp: no block is more than a hundredth faster than the default") {
  const PairCost ten{Duration::us(10), PerByte::ps(100), PerByte()};
  const PairCost folding{Duration::us(10), PerByte::ps(100), PerByte::ps(40)};
  const PairCost slow{Duration::us(50), PerByte::ps(9000), PerByte()};
  const PairCost slow_folds{Duration::us(10), PerByte::ps(100), PerByte::ps(300)};
  const std::vector<Setting> settings = {
      {"as it comes", {}, true},
      {"one way after the other", {{"lp_allreduce", "sequential"}}},
      {"two links", {{"duplex", "link"}}},
      {"folds beside", {{"gamma", "overlap"}}, true},
      {"folds beside, one way after the other",
       {{"gamma", "overlap"}, {"lp_allreduce", "sequential"}}},
      {"folds beside, two links", {{"gamma", "overlap"}, {"duplex", "link"}}}};
  for (const Setting& setting : settings)
    for (const PairCost& cost : {ten, folding, slow, slow_folds})
      for (const Operation operation :
           {Operation::broadcast, Operation::reduce, Operation::allreduce})
        for (const int ranks : {2, 3, 4, 8, 13})
          for (const int64_t size_B : {1, 1000, 65'536, 110'217, 1'000'000, 30'000'000}) {
            const Cluster cluster{"test", Network::uniform(ranks, cost), 1, {}, {}};
            const double usual = time_with(setting, operation, cluster, size_B, std::nullopt).us();
            double best = usual;
            int64_t best_block = 0;
            std::set<int64_t> blocks;
            for (int64_t m = 1; m <= 16; ++m) blocks.insert((size_B + m - 1) / m);
            for (double m = 16; m < 400; m *= std::exp2(0.25))
              blocks.insert(std::max<int64_t>(1, std::llround(static_cast<double>(size_B) / m)));
            for (const int64_t block : blocks) {
              const double time = time_with(setting, operation, cluster, size_B, Bytes(block)).us();
              if (time < best) best_block = block;
              best = std::min(best, time);
            }
            INFO(setting.reason, ", ", name_of(operation), " of ", size_B, " B among ", ranks,
                 ", gamma ", cost.reduce.ps(), ", beta ", cost.per_byte.ps(), "; best block ",
                 best_block);
            const bool has_formula = operation != Operation::allreduce || !setting.shares_ports ||
                                     ranks == 2 || cost.reduce <= cost.per_byte;
            CHECK(usual <= (has_formula ? 1.01 : 1.05) * best);
          }
}

// The rows of which the default was up to 1.96 times as slow. Two members, all-reduce: each port
// has one flow, so that m blocks take (m + 1) (alpha + beta n / m), least at m = sqrt(beta n /
// alpha) = 100 for 1 GB, where it is 101 x 1010 us. With three or four members: (P - 2 + m) (alpha
// + beta n / m).
TEST_CASE("lp: default blocks of short messages and of two members") {
  struct Row {
    Operation operation;
    int ranks;
    int64_t size_B;
    double most_us;
  };
  const PairCost cost{Duration::us(10), PerByte::ps(100), PerByte()};
  for (const Row& row : std::vector<Row>{{Operation::allreduce, 2, 1'000'000'000, 101 * 1010.},
                                         {Operation::broadcast, 3, 110'217, 2 * (10 + 11.0217)},
                                         {Operation::broadcast, 4, 65'536, 3 * (10 + 6.5536)}}) {
    const Cluster cluster{"test", Network::uniform(row.ranks, cost), 1, {}, {}};
    CHECK(time_with({"", {}}, row.operation, cluster, row.size_B, std::nullopt).us() <=
          row.most_us + 0.001);
  }
}

// Blocks that cost nothing by themselves: as many as there are bytes would never end message by
// message.
TEST_CASE("lp: without latency blocks are not smaller than a packet") {
  const Cluster cluster{
      "test", Network::uniform(3, {Duration(), PerByte::ps(100), PerByte()}), 1, {}, {}};
  // m = 100 blocks of 4,096 B among three: (P - 2 + m) blocks, each 409.6 ns.
  CHECK(time_with({"", {}}, Operation::broadcast, cluster, 409'600, std::nullopt) ==
        Duration::ps(101 * 409'600));
}

TEST_CASE("a message below the block is one block") {
  const PairCost cost{Duration::us(10), PerByte::ps(100), PerByte()};
  const Cluster cluster{"test", Network::uniform(4, cost), 1, {}, {}};
  for (const char* algorithm : {"lp", "double_binary_tree"})
    for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message})
      for (const int64_t size_B : {1, 1000}) {
        CAPTURE(algorithm);
        CollectiveQuestion question;
        question.algorithm = algorithm;
        question.operation = Operation::broadcast;
        question.messages = {Bytes(size_B)};
        question.fidelity = fidelity;
        question.block = Bytes(size_B);
        const Duration whole = simulate_collective(question, cluster, "test").time;
        question.block = Bytes(65'536);
        CHECK(simulate_collective(question, cluster, "test").time == whole);
      }
}

}  // namespace
}  // namespace sgdsim
