// The guessed channels against what NCCL printed, and against division where no log is at hand.
#include "models/collective/nccl_graph.h"

#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "tests/nccl_cases.h"

namespace sgdsim {
namespace {

struct GuessRow {
  std::string reason;
  NcclMachine machine;
  NcclWires wires;
  NcclGraph ring;
  NcclGraph tree;
};

const std::vector<GuessRow> guess_rows = {
    {"log of 8 A100: 240 = 6 x 40, split",
     machine(8, 1, GpuGeneration::ampere),
     {gb(240), 0, {}},
     graph(12, 20, 20),
     graph(12, 20, 20)},
    {"log of 2 A100: a tree of two has twice the wires",
     machine(2, 1, GpuGeneration::ampere),
     {gb(240), 0, {}},
     graph(12, 20, 20),
     graph(12, 40, 40)},
    {"log of 8 H100: 370.8 holds 6 x 60, split",
     machine(8, 1, GpuGeneration::hopper),
     {gb(370.8), 0, {}},
     graph(12, 30, 30),
     graph(12, 30, 30)},
    {"8 NICs of 50: 7 x 48 inside < 8 x 45; trees 8 x 48 of 423.8",
     machine(16, 2, GpuGeneration::hopper),
     {gb(370.8), 8, gb(50)},
     graph(8, 45, 45),
     graph(8, 48, 48)},
    {"8 NICs of 25 by A100: 8 x 24; trees widen inside to 30, 8 x 48 is too much",
     machine(16, 2, GpuGeneration::ampere),
     {gb(240), 8, gb(25)},
     graph(8, 24, 24),
     graph(8, 30, 24)},
    {"log of two lone GPUs: 2 x 1.2, trees twice inside, where nothing is",
     machine(2, 2, GpuGeneration::blackwell),
     {{}, 2, gb(1.25)},
     graph(2, 1.2, 1.2),
     graph(2, 2.4, 1.2)},
    {"slower than every speed: one channel of 0.1",
     machine(4, 1, GpuGeneration::volta),
     {gb(1), 0, {}},
     graph(1, 0.1, 0.1),
     graph(1, 0.1, 0.1)},
};

TEST_CASE("nccl graph: the channels that fit") {
  for (const GuessRow& row : guess_rows) {
    INFO(row.reason);
    const NcclMachine guessed = nccl_guess_graphs(row.machine, row.wires);
    CHECK(guessed.ring == row.ring);
    CHECK(guessed.tree == row.tree);
  }
}

TEST_CASE("nccl graph: NVLS has a channel per GPU, as in the log of 8 H100") {
  NcclMachine one_node = machine(8, 1, GpuGeneration::hopper);
  one_node.nvls = true;
  CHECK(nccl_guess_graphs(one_node, {gb(370.8), 0, {}}).nvls_graph == graph(8, 40, 60));
}

TEST_CASE("nccl graph: wires that are missing are asked for") {
  const NcclMachine two_nodes = machine(16, 2, GpuGeneration::hopper);
  CHECK_THROWS_AS(nccl_guess_graphs(two_nodes, {gb(370.8), 0, {}}), InputError);
  CHECK_THROWS_AS(nccl_guess_graphs(two_nodes, {{}, 8, gb(50)}), InputError);
  CHECK_THROWS_AS(nccl_guess_graphs(machine(1, 2, GpuGeneration::hopper), {}), InputError);
}

}  // namespace
}  // namespace sgdsim
