// Double binary tree: two trees, each for half of the message, so that both directions of every
// port are busy (Sanders, Speck and Traeff, Parallel Computing 35, 2009; NCCL since 2.4).
//
// The root hangs above both trees. The others are numbered 1 .. M in in-order, so that odd numbers
// are leaves; the second tree is the mirror image (M even) or shifted by one (M odd), so that who
// is a leaf in one tree is inside the other. Halves are cut into blocks that stream down the trees,
// or up them; all-reduce does both at once.
//
// The published closed form 2 lg P alpha + n (beta + gamma) counts infinitely small blocks and lets
// a port send up and down at once at full rate each; with one port per direction an all-reduce
// cannot take less than 2 (P-1)/P n beta. Message fidelity plays the ports as they are.
#include <algorithm>
#include <bit>
#include <cmath>

#include "models/collective/registry.h"

namespace sgdsim::collective::double_binary_tree {
namespace {

// The parent of number u of 1 .. last in the in-order tree; 0 above the top.
int in_order_parent(int u, int last) {
  const int low = u & -u;
  const int parent = (u ^ low) | (low << 1);
  return parent <= last ? parent : u ^ low;
}

std::vector<int> first_tree(int size) {
  std::vector<int> parents(static_cast<std::size_t>(size), -1);
  for (int u = 1; u < size; ++u)
    parents[static_cast<std::size_t>(u)] = in_order_parent(u, size - 1);
  return parents;
}

std::vector<int> second_tree(int size) {
  const int last = size - 1;
  const bool mirrored = last % 2 == 0;
  auto moved = [&](int u) { return mirrored ? last + 1 - u : u % last + 1; };
  std::vector<int> parents(static_cast<std::size_t>(size), -1);
  for (int u = 1; u < size; ++u) {
    const int parent = in_order_parent(u, last);
    parents[static_cast<std::size_t>(moved(u))] = parent == 0 ? 0 : moved(parent);
  }
  return parents;
}

double block_B(const CollectiveJob& job) {
  const double n = job.bytes();
  if (job.block) return static_cast<double>(job.block->count());
  // The way down has lg P stages and then n/b more steps of alpha + b beta.
  const double stages = 2 * log2_up(job.size());
  // Blocks that wait for no answer, if they are packets at least.
  if (job.starts_free(1))
    return std::min(job.least_free_block_B(n, stages),
                    std::max(job.largest_eager_B(), std::min(n, CollectiveJob::least_packet_B)));
  const auto alpha = static_cast<double>(job.cost.at(n).start_up().ps());
  const double rate = stages * job.cost.at(n).per_byte.ps();
  const double best = rate > 0 ? std::sqrt(n * alpha / rate) : n;
  // Of a shard there may be less than a byte.
  return std::clamp(std::round(best), std::min(n, std::max(1., std::ceil(n / 65536))), n);
}

std::vector<BlockRun> blocks(double half_B, double size_B) {
  std::vector<BlockRun> runs;
  const double full = std::floor(half_B / size_B);
  if (full > 0) runs.push_back({size_B, static_cast<int64_t>(full)});
  if (half_B > full * size_B) runs.push_back({half_B - full * size_B, 1});
  return runs;
}

Program schedule(const CollectiveJob& job) {
  TreePipeline trees;
  trees.team = job.rooted();
  trees.reduces = true;
  trees.reduce_overlaps = job.options.of(folds_beside);
  trees.link_duplex = job.options.of(duplex_of_links);
  const double first_half_B = std::ceil(job.bytes() / 2);
  auto add = [&](bool to_root) {
    for (int tree = 0; tree < 2; ++tree) {
      TreeFlow flow;
      flow.parents = tree == 0 ? first_tree(job.size()) : second_tree(job.size());
      flow.to_root = to_root;
      flow.priority_class = to_root ? 0 : 1;
      if (!to_root && job.operation == Operation::allreduce) flow.released_by = tree;
      flow.blocks = blocks(tree == 0 ? first_half_B : job.bytes() - first_half_B, block_B(job));
      trees.flows.push_back(flow);
    }
  };
  if (job.operation != Operation::broadcast) add(true);
  if (job.operation != Operation::reduce) add(false);
  return Program().then(trees);
}

std::optional<Duration> closed_form(const CollectiveJob& job) {
  const double n = job.bytes();
  const double b = block_B(job);
  const Duration flights = job.latency(b) * log2_up(job.size());
  const PairCost& cost = job.cost.at(b);
  const Duration down = flights + (job.size() > 2 ? cost.both_ways() : cost.per_byte).of(n);
  switch (job.operation) {
    case Operation::broadcast:
      return down;
    case Operation::reduce:
      return down + cost.reduce.of(n);
    default:
      return down + flights + cost.reduce.of(n);
  }
}

}  // namespace

Algorithm describe() {
  return {.name = "double_binary_tree",
          .summary = "two complementary trees of blocks, half of the message each",
          .operations = {Operation::broadcast, Operation::reduce, Operation::allreduce},
          .options = {duplex_of_links, folds_beside},
          .schedule = schedule,
          .closed_form = closed_form,
          .closed_form_note =
              "the published form of double_binary_tree, a limit for infinitely small blocks and "
              "ports that send up and down at once; its messages, simulated, take longer",
          .takes_block = true};
}

}  // namespace sgdsim::collective::double_binary_tree
