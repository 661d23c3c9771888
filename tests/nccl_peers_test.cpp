// Machines whose GPUs are joined one to one: AMD's xGMI, NVLinks without switches.
#include <doctest/doctest.h>

#include "models/collective/nccl_box.h"
#include "sim/core/error.h"
#include "tests/cluster_cases.h"
#include "topologies/nccl_xml.h"

namespace sgdsim {
namespace {

// GPUs with so many links to each other one.
std::string mesh(int gpus, const std::string& attributes, const std::string& link) {
  const auto bus = [](int gpu) { return std::to_string(gpu) + "5:00.0"; };
  std::string text = R"(<system><cpu arch="x86_64">)";
  for (int gpu = 0; gpu < gpus; ++gpu) {
    text += R"(<pci busid=")" + bus(gpu) + R"(" class="0x120000" link_speed="32 GT/s">)" + "<gpu " +
            attributes + R"( rank=")" + std::to_string(gpu) + R"(">)";
    for (int other = 0; other < gpus; ++other)
      if (other != gpu) text += "<" + link + R"( target=")" + bus(other) + R"("/>)";
    text += "</gpu></pci>";
  }
  return text + "</cpu></system>";
}

TEST_CASE("nccl peers: where every GPU has links to all others, it sends over all of them") {
  struct Row {
    std::string reason;
    int gpus;
    std::string attributes;
    std::string link;
    std::string gpu_link;
    std::string note;  // its end
  };
  const std::vector<Row> rows = {
      {"MI300X, 7 links of 48 GB/s", 8, R"(gcn="gfx942" sm="94")", R"(xgmi count="1")", "336 GBps",
       "336 GB/s, as rings over all of them do; a single pair has 48 GB/s"},
      {"MI350X", 8, R"(gcn="gfx950")", R"(xgmi count="1")", "336 GBps",
       "336 GB/s, as rings over all of them do; a single pair has 48 GB/s"},
      {"MI200, 4 links of 36 GB/s to one", 2, R"(gcn="gfx90a")", R"(xgmi count="4")", "144 GBps",
       ""},
      {"MI200 as older files write it", 2, R"(gcn="910")", R"(xgmi count="4")", "144 GBps", ""},
      {"MI100, 3 links of 24 GB/s", 4, R"(gcn="gfx908")", R"(xgmi count="1")", "72 GBps",
       "72 GB/s, as rings over all of them do; a single pair has 24 GB/s"},
      {"four A100 without switches, 4 links of 20 GB/s to each", 4, R"(sm="80")",
       R"(nvlink tclass="0x030200" count="4")", "240 GBps",
       "240 GB/s, as rings over all of them do; a single pair has 80 GB/s"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    const NcclImport import =
        import_nccl_xml(mesh(row.gpus, row.attributes, row.link), "a.xml", {});
    CHECK(import.cluster["shape"] == "nvlink_box");
    CHECK(import.cluster["gpu_link"]["bandwidth"] == row.gpu_link);
    // Of AMD's GPUs NCCL's model knows nothing.
    const Cluster cluster = cluster_from(import.cluster.dump()).cluster;
    CHECK((nccl_note(cluster) == "") == row.reason.ends_with("to each"));
    CHECK(import.notes.size() == (row.note.empty() ? 0 : 1));
    if (!row.note.empty() && !import.notes.empty()) CHECK(import.notes[0].ends_with(row.note));
    // Two traversals of 0.3 us, as one link of 0.6 us.
    CHECK(cluster_from(import.cluster.dump()).cluster.network.between(0, 1).latency ==
          Duration::ns(600));
  }
}

TEST_CASE("nccl peers: links of an unknown rate are refused") {
  for (const std::string gcn : {"gfx1250", ""}) {
    std::string error = "accepted";
    try {
      import_nccl_xml(mesh(2, R"(gcn=")" + gcn + R"(")", "xgmi"), "x.xml", {});
    } catch (const InputError& problem) {
      error = problem.what();
    }
    CHECK(error ==
          R"(x.xml: line 1: the rate of <xgmi> links is known of gcn="gfx906" and "gfx908" )"
          R"((24 GB/s each), "gfx90a" (36), "gfx942" and "gfx950" (48), got ")" +
              gcn +
              R"("; write the nearest one into <gpu>, or a cluster file by hand, as mi300x_2 is )"
              R"((docs/cluster-format.md))");
  }
}

}  // namespace
}  // namespace sgdsim
