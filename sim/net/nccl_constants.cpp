// The fields of NCCL's constants in cluster files.
#include "sim/net/nccl_constants.h"

#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

constexpr Duration longest_step = Duration::us(1'000'000);
constexpr double least_part = 1e-4;
constexpr double most_part = 1e4;

struct PairName {
  const char* key;
  const char* says;
};
constexpr std::array<PairName, nccl_pair_count> pair_names{{
    {"tree_ll", "constants of trees with protocol LL"},
    {"tree_ll128", "constants of trees with protocol LL128"},
    {"tree_simple", "constants of trees with protocol Simple"},
    {"ring_ll", "constants of rings with protocol LL"},
    {"ring_ll128", "constants of rings with protocol LL128"},
    {"ring_simple", "constants of rings with protocol Simple"},
    {"collnet_direct_simple", "constants of CollNet to which all GPUs of a node go"},
    {"collnet_chain_simple", "constants of CollNet with chains in nodes"},
    {"nvls_simple", "constants of NVLS, in a node, or across nodes with CollNet"},
    {"nvls_tree_simple", "constants of NVLS in nodes and trees between them"},
    {"pat_simple", "constants of PAT, with one rank per node"},
}};

void check_step(const Value& value) {
  if (value.duration() > longest_step)
    value.fail("expected at most 1 s, got " + to_text(value.duration()));
}

void check_sizes(const Value& value) {
  Object fields(value);
  const auto sizes = read_record<NcclSizes>(fields);
  if (sizes.to < sizes.from)
    value.fail("goes from " + to_text(sizes.from) + " to less, " + to_text(sizes.to));
}

}  // namespace

const char* nccl_pair_key(std::size_t pair) { return pair_names[pair].key; }

Fields fields_of(NcclPair& o) {
  return {Field("base", o.base, "latency that a collective pays once")
              .also(check_step)
              .otherwise("NCCL's own"),
          Field("inside", o.inside, "latency of a step within a node")
              .also(check_step)
              .otherwise("NCCL's own"),
          Field("across", o.across, "latency of a step between nodes")
              .also(check_step)
              .otherwise("NCCL's own"),
          Field("efficiency", o.efficiency, "part of the bandwidth that NCCL counts with")
              .from(least_part, most_part)
              .otherwise("1")};
}

Fields fields_of(NcclSizes& o) {
  return {Field("from", o.from, "the smallest message").needed(),
          Field("to", o.to, "the largest message").needed()};
}

Fields fields_of(NcclConstants& o) {
  Fields fields = {
      Field("generation", o.generation, "the GPUs").otherwise("hopper"),
      Field("gpu_link", o.gpu_link, "what joins the GPUs of a node").otherwise("nvlink"),
      Field("nvls", o.nvls, "whether NVLink switches reduce").otherwise("off"),
      Field("collnet", o.collnet, "whether network switches reduce (SHARP)").otherwise("off"),
      Field("nics", o.nics, "network cards per node")
          .from(1, most_nccl_nics)
          .otherwise("the cluster's"),
      Field("cpu", o.cpu, "whose hosts").otherwise("intel")};
  for (std::size_t pair = 0; pair < nccl_pair_count; ++pair)
    fields = std::move(fields) +
             Fields{Field(pair_names[pair].key, o.pairs[pair], pair_names[pair].says).if_any()};
  return std::move(fields) +
         Fields{Field("sizes", o.sizes, "messages that the constants were fitted to")
                    .also(check_sizes)};
}

Json to_json(const NcclConstants& constants) {
  NcclConstants copy = constants;
  return written(fields_of(copy));
}

}  // namespace sgdsim
