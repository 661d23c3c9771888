// Whatever bytes come, the cluster reader answers with a cluster or an InputError; and a cluster
// with a graph of moderate size can be drawn.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/core/error.h"
#include "topologies/cluster_file.h"
#include "topologies/export.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace sgdsim;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  try {
    const Document document = Document::parse(text, "fuzz.json");
    const ClusterFile file = read_cluster(document.root());
    constexpr int64_t moderate = 1000;
    if (file.connections > moderate) return 0;
    for (const GraphFormat& format : graph_formats) format.write(file.graph(), file.cluster.name);
  } catch (const InputError&) {
  }
  return 0;
}
