// Torus ring: rings along the dimensions of a torus, one after another.
//
// Reduce-scatter along the first dimension, then along the next one on the chunk that is left, and
// so on; all-gather in the reverse order. Neighbours talk to neighbours only, in
// sum(2 (d_i - 1)) steps instead of 2 (P - 1), with the bytes of one ring.
#include <algorithm>
#include <climits>

#include "models/collective/registry.h"
#include "sim/core/error.h"

namespace sgdsim::collective::torus_ring {
namespace {

const OptionOf<std::vector<int>> dimensions_given{
    {"dims", "AxB[xC]", "torus_ring: ranks per dimension; default: the cluster's"}};

std::vector<int> dimensions(const CollectiveJob& job) {
  std::vector<int> dims = job.options.of(dimensions_given);
  if (dims.empty()) dims = job.grid;
  if (dims.empty())
    throw InputError("", "torus_ring needs the option dims=AxB[xC], or a torus cluster");
  int64_t product = 1;
  std::string text;
  for (const int d : dims) {
    product = std::min<int64_t>(product * d, INT_MAX);  // more than there are ranks
    text += (text.empty() ? "" : "x") + std::to_string(d);
  }
  if (product != job.size())
    throw InputError("", "torus_ring: dims " + text + " hold " +
                             (product == INT_MAX ? "too many" : std::to_string(product)) +
                             " ranks, not " + std::to_string(job.size()));
  return dims;
}

// The rings of every dimension, for one of the two halves of an all-reduce.
std::vector<CollectiveJob> rings(const CollectiveJob& job, Operation operation) {
  std::vector<CollectiveJob> parts;
  int stride = 1;
  Share share = job.share;
  for (const int d : dimensions(job)) {
    CollectiveJob part = job;
    part.is_part = true;
    part.operation = operation;
    part.team = {.size = d, .stride = stride};
    part.share = share;
    part.root.reset();
    part.following.clear();
    if (job.network != nullptr) part.cost = worst_of_job(ring::describe(), part);
    parts.push_back(part);
    stride *= d;
    share.split.push_back(d);
  }
  if (operation == Operation::allgather) return {parts.rbegin(), parts.rend()};
  return parts;
}

std::vector<CollectiveJob> all_rings(const CollectiveJob& job) {
  std::vector<CollectiveJob> parts;
  if (job.operation != Operation::allgather) parts = rings(job, Operation::reduce_scatter);
  if (job.operation != Operation::reduce_scatter)
    for (const CollectiveJob& part : rings(job, Operation::allgather)) parts.push_back(part);
  return parts;
}

Program schedule(const CollectiveJob& job) {
  Program program;
  for (const CollectiveJob& part : all_rings(job))
    program.then(schedule_of(ring::describe(), part));
  return program;
}

std::optional<Duration> closed_form(const CollectiveJob& job) {
  Duration sum;
  for (const CollectiveJob& part : all_rings(job))
    sum += closed_form_of(ring::describe(), part).value();
  return sum;
}

}  // namespace

Algorithm describe() {
  return {.name = "torus_ring",
          .summary = "rings along each dimension of a torus, one after another",
          .operations = {Operation::allreduce, Operation::reduce_scatter, Operation::allgather},
          .options = {dimensions_given},
          .schedule = schedule,
          .closed_form = closed_form,
          .needs_no_root = always};
}

}  // namespace sgdsim::collective::torus_ring
