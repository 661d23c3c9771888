// One field of each link.
#include "study/layout/usual_reach.h"

#include <algorithm>
#include <cmath>

#include "models/collective/nccl_box.h"
#include "sim/core/decimal.h"

namespace sgdsim {
namespace {

std::optional<double> add_to(Json& cluster, const char* link, double reach) {
  const auto found = cluster.find(link);
  if (found == cluster.end() || !found->is_object() || found->contains("efficiency")) return {};
  (*found)["efficiency"] = reach;
  return reach;
}

std::string percent(double part) { return std::to_string(std::lround(100 * part)) + " %"; }

}  // namespace

UsualReach add_usual_reach(Json& cluster) {
  if (!cluster.is_object()) return {};
  const Json shape = cluster.value("shape", Json());
  if (shape != "nvlink_box" && shape != "rails") return {};
  return {add_to(cluster, "gpu_link", reach_inside), add_to(cluster, "nic", reach_between)};
}

// Of the GPUs that NCCL has constants for; others count as those that compute in the same formats.
NcclView nccl_view(const UsualReach& reach, const Gpu& gpu) {
  const GpuGeneration generation = gpu.fp4_flops > 0   ? GpuGeneration::blackwell
                                   : gpu.fp8_flops > 0 ? GpuGeneration::hopper
                                                       : GpuGeneration::ampere;
  return {reach.inside.value_or(1), reach.between.value_or(1),
          generation_of(gpu.name).value_or(generation), may_reduce_in_switches(gpu.name)};
}

bool has_layout(const Json& jobs) {
  return jobs.is_array() && std::any_of(jobs.begin(), jobs.end(), [](const Json& job) {
           return job.is_object() && job.contains("layout");
         });
}

std::string reach_text(const UsualReach& reach) {
  std::string text = "Exchanges are taken to reach ";
  if (reach.inside) text += percent(*reach.inside) + " of the links inside nodes";
  if (reach.inside && reach.between) text += " and ";
  if (reach.between) text += percent(*reach.between) + " of the cards";
  return text + ", beside products; gpu_link.efficiency and nic.efficiency of the cluster set it";
}

std::string interference_text() {
  return "Products are assumed to take " + number_text(usual_interference.products) +
         " times as long beside exchanges (the mean of published measurements; 1.4 at most); "
         "interference of the GPU's file sets it";
}

}  // namespace sgdsim
