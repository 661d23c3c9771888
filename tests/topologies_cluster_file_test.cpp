// Cluster files: those that ship are read, those in tests/bad/cluster are refused with exactly the
// sentence that stands beside them, and the schema knows the fields that the reader knows.
#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <set>

#include "sim/core/error.h"
#include "tests/cluster_cases.h"
#include "tests/repository.h"
#include "tests/texts.h"
#include "topologies/cluster_file.h"
#include "topologies/registry.h"

namespace sgdsim {
namespace {

std::vector<std::filesystem::path> files_in(const std::string& folder, const std::string& ending) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(repository / folder))
    if (entry.path().extension() == ending) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string refusal_of_cluster(const std::string& text, const std::string& file) {
  return refusal_of([&] { read_cluster(Document::parse(text, file).root()); });
}

TEST_CASE("cluster files: what is wrong is refused with a sentence") {
  const auto files = files_in("tests/bad/cluster", ".json");
  CHECK(files.size() >= 60);
  for (const auto& file : files) {
    INFO(file.filename().string());
    auto sentence = file;
    sentence.replace_extension(".txt");
    std::string expected = read_text(sentence.string());
    expected.pop_back();  // the newline
    CHECK(refusal_of_cluster(read_text(file.string()), file.filename().string()) == expected);
  }
}

TEST_CASE("cluster files: all that ship can be read, drawn and named by their source") {
  const auto files = files_in("topologies/data", ".json");
  CHECK(files.size() >= 10);
  for (const auto& path : files) {
    INFO(path.filename().string());
    const ClusterFile file = read_cluster_file(path.string());
    CHECK(file.cluster.name == path.stem().string());
    CHECK(file.source.size() > 10);
    CHECK(file.description.size() > 10);
    CHECK(file.graph().workers() == file.cluster.network.workers());
    CHECK(static_cast<int64_t>(file.graph().connections().size()) == file.connections);
    CHECK(file.nodes * file.cluster.workers_per_node == file.cluster.network.workers());
  }
}

TEST_CASE("cluster files: what some that ship are made to say") {
  struct Row {
    std::string file;
    int from;
    int to;
    int64_t latency_ps;
    double per_byte_ps;
    double reduce_ps;
  };
  const std::vector<Row> rows = {
      {"mgwfbp_paper_10gbe", 0, 15, 45'250'000, 993.4107462565104, 2500},
      {"gtopk_1gbe_32", 31, 0, 436'000'000, 9000, 0},
      {"dgx_h100_4", 0, 7, 600'000, 1e3 / 370.8, 0},
      {"dgx_h100_4", 0, 8, 2'700'000, 1e3 / 48, 0},  // PCIe is slower than the 400 Gbps port
      {"dgx_a100_2", 0, 15, 2'700'000, 1e3 / 24, 0},
      {"cloud_v100_25gbe", 0, 63, 32'000'000, 320 / 0.9, 0},
      {"leaf_spine_oversubscribed", 0, 127, 8'000'000, 200, 0},
      {"leaf_spine_144", 0, 143, 11'844'000, 80, 0},
      {"two_rate_cluster", 0, 1, 10'000'000, 320, 0},
      {"two_rate_cluster", 0, 3, 10'000'000, 800, 0},
      {"two_rate_cluster", 6, 7, 17'000'000, 800, 0},
      {"two_boxes_explicit", 0, 1, 600'000, 20, 0},
      {"two_boxes_explicit", 2, 3, 1'000'000, 1e3 / 12, 0},
      {"two_boxes_explicit", 0, 3, 5'000'000, 80 / 0.95, 0},  // 12 GB/s is faster than the cable
  };
  for (const Row& row : rows) {
    INFO(row.file << " from " << row.from << " to " << row.to);
    const ClusterFile file =
        read_cluster_file((repository / "topologies/data" / (row.file + ".json")).string());
    const PairCost cost = file.cluster.network.between(row.from, row.to);
    CHECK(cost.latency.ps() == row.latency_ps);
    CHECK(cost.per_byte.ps() == doctest::Approx(row.per_byte_ps).epsilon(1e-15));
    CHECK(cost.reduce.ps() == row.reduce_ps);
  }
}

TEST_CASE("cluster files: an experiment may hold one inline, and errors say where") {
  const std::string text =
      R"({"cluster": {"shape": "ring", "nodes": 3,
                      "link": {"latency": "1 us", "bandwidth": "100 Gb"}}})";
  const Document document = Document::parse(text, "experiment.json");
  CHECK_THROWS_WITH_AS(
      read_cluster(document.root().child("cluster")),
      doctest::Contains("experiment.json: /cluster/link/bandwidth: expected a bandwidth with a "
                        "unit (bps, "),
      InputError);
}

TEST_CASE("cluster files: the example of the manual is one") {
  const std::string page = read_text(in_repository("docs/cluster-format.md"));
  const std::string open = "```json\n{";
  const std::size_t from = page.find(open) + open.size() - 1;
  const ClusterFile file = cluster_from(page.substr(from, page.find("```", from) - from));
  CHECK(file.cluster.network.workers() == 128);
  // 0.3 + 1 + 0.5 + 1 + 0.5 + 1 + 0.5 + 1 + 0.3 us; uplinks of 16 x 100 / 2 / 4 = 200 Gbps
  CHECK(file.cluster.network.between(0, 127).latency == Duration::ns(6100));
  CHECK(file.cluster.network.between(0, 127).per_byte.ps() == doctest::Approx(80 / 0.95));
}

// The cards fold and the switches do not, so the uplink of the same class has no "reduce".
TEST_CASE("cluster files: the uplinks of a leaf-spine are of the cards' class if not given") {
  const std::string head = R"({"shape": "leaf_spine", "nodes": 8, "nodes_per_leaf": 4, "spines": 2,
      "nic": {"latency": "2 us", "bandwidth": "10 GBps", "reduce": "3 ps/B"})";
  const auto across = [&](const std::string& more) {
    return cluster_from(head + more + "}").cluster.network.between(0, 7);
  };
  CHECK(across("") == across(R"(, "uplink": {"latency": "2 us", "bandwidth": "10 GBps"})"));
  CHECK(across("").latency == Duration::us(8));  // two cards and two uplinks
  const std::string oversubscribed = R"(, "oversubscription": 4)";
  CHECK(across(oversubscribed) == across(oversubscribed + R"(, "uplink": {"latency": "2 us"})"));
}

// 740 KB in 20 ms there and back are 37 MB/s; in 592 us what the link carries, 1.25 GB/s.
TEST_CASE("cluster files: windows that are less than a way holds are named") {
  const auto notes_of = [](const char* network, const char* latency, const char* more = "") {
    return cluster_from(std::string(R"({"schema": "sgdsim/cluster/1", "name": "far", "nodes": 4,
        "shape": "single_switch", "nic": {"latency": ")") +
                        latency + R"(", "bandwidth": "10 Gbps"}, "network": ")" + network + "\"" +
                        more + "}")
        .cluster.notes;
  };
  const std::vector<std::string> far = notes_of("tcp", "5 ms");
  REQUIRE(far.size() == 1);
  CHECK(far[0].find("740 KB under way at most (`window`), which over 20 ms there and back is 37 "
                    "MBps, 2.96 % of what the link carries") != std::string::npos);
  CHECK(notes_of("gloo", "5 ms").size() == 1);
  CHECK(notes_of("nccl", "5 ms").empty());
  CHECK(notes_of("tcp", "147 us").empty());
  CHECK(notes_of("tcp", "160 us").size() == 1);
  CHECK(notes_of("tcp", "5 ms", R"(, "window": "25 MB")").empty());
  CHECK(notes_of("tcp", "5 ms", R"(, "sharing": "max_min")").empty());
  CHECK(notes_of("tcp", "0 us").empty());
}

TEST_CASE("cluster files: a file that is not there") {
  CHECK_THROWS_WITH_AS(read_cluster_file("no/such/file.json"),
                       "no/such/file.json: cannot be read: No such file or directory", InputError);
}

TEST_CASE("cluster files: nodes, grids and names") {
  const std::string link = R"("link": {"latency": "1 us", "bandwidth": "1 GBps"})";
  const std::string gpu_link = R"(, "gpu_link": {"latency": "1 us", "bandwidth": "9 GBps"})";
  const ClusterFile torus =
      cluster_from(R"({"shape": "torus", "dimensions": [4, 3, 2], )" + link + "}");
  CHECK(torus.cluster.grid == std::vector<int>{4, 3, 2});
  CHECK(torus.cluster.name == "torus");
  CHECK(torus.nodes == 24);
  const ClusterFile boxes =
      cluster_from(R"({"shape": "torus", "dimensions": [4, 3], "gpus_per_node": 2, "name": "x", )" +
                   link + gpu_link + "}");
  CHECK(boxes.cluster.grid == std::vector<int>{2, 4, 3});
  CHECK(boxes.cluster.workers_per_node == 2);
  CHECK(boxes.cluster.network.workers() == 24);
  CHECK(boxes.cluster.name == "x");
  CHECK(cluster_from(R"({"shape": "ring", "nodes": 5, )" + link + "}").cluster.grid.empty());
}

TEST_CASE("cluster files: a graph too large to draw is refused, not built") {
  const ClusterFile file = cluster_from(
      R"({"shape": "fully_connected", "nodes": 100000,
          "link": {"latency": "1 us", "bandwidth": "1 GBps"}})");
  CHECK(file.connections == int64_t{100000} * 99999 / 2);
  CHECK_THROWS_WITH_AS(file.graph(),
                       "cluster.json: /: the graph would have 4999950000 links; at most 4194304 "
                       "can be drawn or routed",
                       InputError);
}

TEST_CASE("cluster files: more workers than a table of routes holds are refused") {
  std::string vertices;
  for (int i = 0; i < 4097; ++i)
    vertices +=
        (i == 0 ? "" : ",") + (R"({"name": "g)" + std::to_string(i) + R"(", "kind": "gpu"})");
  CHECK(refusal_of_cluster(
            R"({"shape": "explicit", "links": {}, "edges": [], "vertices": [)" + vertices + "]}",
            "big.json") ==
        "big.json: /vertices: expected at most 4096 vertices of kind \"gpu\", got 4097");
}

// ---- the schema

std::set<std::string> fields_that_reader_knows(const std::string& fields) {
  const std::string error = refusal_of_cluster("{" + fields + R"(, "no such field": 1})", "f");
  std::set<std::string> names;
  const std::string mark = "known: ";
  std::size_t from = error.find(mark);
  REQUIRE(from != std::string::npos);
  from += mark.size();
  while (true) {
    const std::size_t end = error.find(", ", from);
    names.insert(error.substr(from, end - from));
    if (end == std::string::npos) return names;
    from = end + 2;
  }
}

std::set<std::string> strings_of(const Value& list) {
  std::set<std::string> names;
  for (const Value& name : list.items()) names.insert(name.text());
  return names;
}

TEST_CASE("cluster files: the schema lists the fields of every shape, and describes each") {
  const Json json = schema_of_clusters();
  const Value schema(json, "schema", "");
  const std::string link = R"({"latency": "1 us", "bandwidth": "1 GBps"})";
  std::string links;
  for (const std::string role : {"nic", "link", "uplink", "local", "global"})
    links += ", \"" + role + "\": " + link;
  const std::vector<std::pair<std::string, std::string>> sizes = {
      {"single_switch", R"("nodes": 2, "nic": )" + link},
      {"nvlink_box", R"("nodes": 2, "gpu_link": )" + link + R"(, "nic": )" + link},
      {"leaf_spine", R"("nodes": 2, "nodes_per_leaf": 1, "spines": 1, "nic": )" + link +
                         R"(, "uplink": )" + link},
      {"fat_tree", R"("k": 2, "nic": )" + link + R"(, "uplink": )" + link},
      {"rails", R"("nodes": 2, "gpus_per_node": 2, "nodes_per_pod": 1, "spines": 1, "nic": )" +
                    link + R"(, "gpu_link": )" + link + R"(, "pcie": )" + link + R"(, "uplink": )" +
                    link},
      {"dragonfly", R"("groups": 2, "routers_per_group": 1, "nodes_per_router": 1,
                       "global_links": 1, "nic": )" +
                        link + R"(, "local": )" + link + R"(, "global": )" + link},
      {"chain", R"("nodes": 2, "link": )" + link},
      {"ring", R"("nodes": 2, "link": )" + link},
      {"fully_connected", R"("nodes": 2, "link": )" + link},
      {"torus", R"("dimensions": [2, 2], "link": )" + link},
      {"explicit", R"("vertices": [{"name": "a", "kind": "gpu"}], "links": {}, "edges": [])"}};
  CHECK(sizes.size() == shapes().size());
  for (const auto& row : sizes) {  // clang 14 cannot capture a structured binding
    const std::string& shape = row.first;
    const std::string& fields = row.second;
    INFO(shape);
    const auto known = fields_that_reader_knows("\"shape\": \"" + shape + "\", " + fields);
    bool found = false;
    for (const Value& branch : schema.child("allOf").items()) {
      if (branch.child("if").child("properties").child("shape").child("const").text() != shape)
        continue;
      found = true;
      std::set<std::string> described;
      for (const auto& property : branch.child("then").child("properties").entries()) {
        described.insert(property.first);
        CHECK_MESSAGE(property.second.json().contains("description"), property.first);
      }
      CHECK(described == known);
    }
    CHECK(found);
  }
  std::set<std::string> shape_names;
  for (const Shape& shape : shapes()) shape_names.emplace(shape.name);
  CHECK(strings_of(schema.child("properties").child("shape").child("enum")) == shape_names);
}

// Capacities of what a message takes on its way, in order, each with its share.
std::vector<std::pair<double, double>> way(Resources& wires, int from, int to) {
  std::vector<ResourceUse> uses;
  REQUIRE(wires.find({.from = from, .to = to}, Resources::Part::whole, uses));
  std::vector<std::pair<double, double>> way;
  for (const ResourceUse& use : uses) way.emplace_back(wires.capacities()[use.resource], use.share);
  return way;
}

TEST_CASE("cluster files: further nodes leave the others as they are") {
  const std::string link = R"({"latency": "1 us", "per_byte": "3 ns/B"})";
  const std::string links = R"("nic": )" + link + R"(, "uplink": )" + link + "}";
  int grown = 0;
  for (const std::string& text :
       {R"({"shape": "single_switch", "nodes": 5, )" + links.substr(0, links.find(", \"up")) + "}",
        R"({"shape": "leaf_spine", "nodes": 7, "nodes_per_leaf": 3, "spines": 2, )" + links,
        R"({"shape": "fat_tree", "k": 4, "nodes": 9, )" + links,
        R"({"shape": "chain", "nodes": 4, "link": )" + link + "}",
        R"({"shape": "fully_connected", "nodes": 4, "link": )" + link + "}",
        R"({"shape": "nvlink_box", "nodes": 2, "gpus_per_node": 3, "gpu_link": )" + link +
            R"(, "nic": )" + link + "}"}) {
    CAPTURE(text);
    const Cluster small = cluster_from(text).cluster;
    REQUIRE(small.with_more);
    const Cluster large = small.with_more(3);
    const int workers = small.network.workers();
    CHECK(large.network.workers() == workers + 3 * small.workers_per_node);
    CHECK(large.workers_per_node == small.workers_per_node);
    const auto before = small.wires({});
    const auto after = large.wires({});
    for (int from = 0; from < workers; ++from)
      for (int to = 0; to < workers; ++to) {
        if (from == to) continue;
        CHECK(large.network.between(from, to) == small.network.between(from, to));
        CHECK(way(*after, from, to) == way(*before, from, to));
      }
    ++grown;
  }
  CHECK(grown == 6);
  for (const std::string& text :
       {R"({"shape": "ring", "nodes": 4, "link": )" + link + "}",
        R"({"shape": "torus", "dimensions": [2, 2], "link": )" + link + "}"})
    CHECK_FALSE(cluster_from(text).cluster.with_more);
}

}  // namespace
}  // namespace sgdsim
