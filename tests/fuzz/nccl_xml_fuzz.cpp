// Whatever bytes come, the NCCL import answers with a cluster file or an InputError; and the reader
// of cluster files accepts what the import wrote.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/core/error.h"
#include "topologies/cluster_file.h"
#include "topologies/nccl_xml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace sgdsim;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  Json cluster;
  try {
    cluster = import_nccl_xml(text, "fuzz.xml", {size % 2 == 0 ? 1 : 3, "fuzz"}).cluster;
  } catch (const InputError&) {
    return 0;
  }
  read_cluster(Document::parse(cluster.dump(), "imported.json").root());  // must not throw
  return 0;
}
