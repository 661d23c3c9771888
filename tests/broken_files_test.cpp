// Broken files of every kind are refused by the reader and by the schema.
#include <doctest/doctest.h>
#include <functional>

#include "app/schema_check.h"
#include "study/jobs/jobs_file.h"
#include "study/step/experiment.h"
#include "study/sweep/sweep_file.h"
#include "study/validate/case_file.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "topologies/cluster_file.h"
#include "traces/measurement/measurement.h"

using namespace sgdsim;

namespace {

const std::string root = SGDSIM_SOURCE_DIR "/";

struct Broken {
  const char* place;  // a JSON pointer
  const char* value;  // "": it is taken away
};

Json broken(Json json, const Broken& how) {
  const Json::json_pointer pointer(how.place);
  if (how.value[0] != '\0')
    json[pointer] = Json::parse(how.value);
  else
    json[pointer.parent_pointer()].erase(pointer.back());
  return json;
}

void check_refused(const std::string& id, const Json& good, const std::vector<Broken>& rows,
                   const std::function<void(const Json&)>& read) {
  const SchemaShelf shelf = embedded_shelf();
  CHECK(faults_of_value(shelf, id, good) == std::vector<std::string>{});
  CHECK(refusal_of([&] { read(good); }) == "");
  for (const Broken& row : rows) {
    const std::string what = std::string(row.place) + " = " + row.value;
    INFO(what);
    const Json bad = broken(good, row);
    CHECK(refusal_of([&] { read(bad); }) != "");
    CHECK(!faults_of_value(shelf, id, bad).empty());
  }
}

}  // namespace

TEST_CASE("fields: broken experiments are refused by reader and schema") {
  const std::string file = root + "app/experiments/googlenet_k80.json";
  check_refused(
      "sgdsim/experiment/1", Json::parse(read_text(file)),
      {{"/schema", R"("sgdsim/experiment/2")"},
       {"/trace", ""},
       {"/cluster", ""},
       {"/trace", "7"},
       {"/trace", R"({"file": "x.json", "compute_scale": 0})"},
       {"/strtegy", R"("ddp")"},
       {"/strategy", R"("dpd")"},
       {"/strategy", "{}"},
       {"/strategy", R"({"name": "ddp", "bukcet": "1 MB"})"},
       {"/strategy", R"({"name": "ddp", "bucket": "1 mb"})"},
       {"/strategy", R"({"name": "wfbp", "bucket": "1 MB"})"},
       {"/strategy", R"({"name": "ddp", "order": "sttaic"})"},
       {"/strategy", R"({"name": "fixed_buckets", "bucket": "1 MB", "sizes": ["1 MB"]})"},
       {"/synchronization", R"({"name": "ssp", "staleness": -1})"},
       {"/synchronization", R"({"name": "ssp", "steps": 1})"},
       {"/compression", R"({"name": "topk", "densty": 0.1})"},
       {"/compression", R"({"name": "topk", "density": 1.5})"},
       {"/compression", R"({"name": "topk", "density": []})"},
       {"/compression", R"({"name": "topk", "selection": "v1000"})"},
       {"/compression", R"({"name": "qsgd", "levels": 0})"},
       {"/collective", R"({"algorithm": "rng"})"},
       {"/collective", R"({"algorithm": "ring", "options": {"chunks": "halves"}})"},
       {"/collective", R"({"algorithm": "ring", "options": {"chunk": "whole"}})"},
       {"/collective", R"({"algorithm": "ring", "blck": "1 MB"})"},
       {"/collective", R"({"start_up": "1 us"})"},
       {"/collective", R"({"lines": []})"},
       {"/collective", R"({"samples": [{"size": "1 MB"}]})"},
       {"/collective", R"({"parameter_server": {"servers": 0}})"},
       {"/collective", R"({"parameter_server": {"placement": "nowhere"}})"},
       {"/fidelity", R"("flwo")"},
       {"/iterations", "0"},
       {"/iterations", "1e9"},
       {"/warm_up", "-1"},
       {"/seed", "-1"},
       {"/seed", "0.5"},
       {"/channels", "1025"},
       {"/interference", "0.5"},
       {"/alone", R"("5")"},
       {"/convergence", "{}"},
       {"/convergence", R"({"iterations": 10, "density": []})"},
       {"/workers", R"({"slow": [{"worker": 1}]})"},
       {"/workers", R"({"jitter": {"distribution": "normal", "shape": 1}})"},
       {"/workers", R"({"jitter": {"distribution": "normal"}})"},
       {"/workers", R"({"jitter": {"distribution": "normal", "sigma": 11}})"},
       {"/workers", R"({"transient": {"probability": 2, "factor": 1}})"},
       {"/transport", R"({"name": "ndp", "queues": 8})"}},
      [&](const Json& json) { read_experiment(resolve_experiment(Value(json, file, ""), {})); });
}

TEST_CASE("fields: broken clusters are refused by reader and schema") {
  const std::vector<Broken> of_all = {
      {"/shape", ""},           {"/shape", R"("blob")"}, {"/schema", R"("sgdsim/cluster/2")"},
      {"/nodes", "0"},          {"/nodes", "1.5"},       {"/nodse", "3"},
      {"/network", R"("tpc")"}, {"/start", R"("1")"},    {"/switch_latency", R"("1 KB")"},
      {"/gpus_per_node", "0"},  {"/spine", "1"}};
  const std::vector<Broken> of_switched = {{"/nic", ""},
                                           {"/nic/latency", ""},
                                           {"/nic/latency", R"("-1 us")"},
                                           {"/nic/bandwidth", ""},
                                           {"/nic/per_byte", R"("1 ns/B")"},
                                           {"/nic/bandwidht", R"("10 Gbps")"},
                                           {"/nic/efficiency", "0"},
                                           {"/nic/efficiency", R"([{"senders": 0}])"},
                                           {"/nic/segments", R"([{"from": "1 MB"}])"},
                                           {"/gpu_link", R"({"latency": "1 us"})"},
                                           {"/gpus_per_node", "2"},
                                           {"/ports", R"([{"latency": "1 us"}])"},
                                           {"/ports", R"([{"node": 0, "worker": 0}])"},
                                           {"/ports", R"([{"node": 0, "latecy": "1 us"}])"}};
  struct Row {
    const char* file;
    bool is_switched;
    std::vector<Broken> own;
  };
  const std::vector<Row> rows = {
      {"10gbe_16", true, {{"/nodes", ""}, {"/k", "4"}}},
      {"leaf_spine_144", true, {{"/spines", ""}, {"/nodes_per_leaf", "0"}}},
      {"leaf_spine_oversubscribed",
       true,
       {{"/uplink/bandwidth", R"("1 Gbps")"}, {"/oversubscription", "0"}}},
      {"fat_tree_k8", true, {{"/k", "7"}, {"/k", "408"}, {"/uplink", ""}}},
      {"torus_4x4x4",
       false,
       {{"/dimensions", "[4]"},
        {"/dimensions", "[4, 1]"},
        {"/link", ""},
        {"/nic", R"({"latency": "1 us", "bandwidth": "1 Gbps"})"}}},
      {"dragonfly_72", true, {{"/groups", "1"}, {"/local", ""}, {"/global_links", "65"}}},
      {"two_boxes_explicit",
       false,
       {{"/edges", ""},
        {"/vertices/0/kind", R"("gup")"},
        {"/vertices/0/name", R"("")"},
        {"/edges/0/link", "1"},
        {"/vertices", "[]"}}},
  };
  for (const Row& row : rows) {
    INFO(row.file);
    const std::string file = root + "topologies/data/" + row.file + ".json";
    std::vector<Broken> all = of_all;
    all.insert(all.end(), row.own.begin(), row.own.end());
    Json json = Json::parse(read_text(file));
    if (row.is_switched && json.value("gpus_per_node", 1) == 1)
      all.insert(all.end(), of_switched.begin(), of_switched.end());
    if (std::string(row.file) == "leaf_spine_144") all.erase(all.begin() + 10);  // has spines
    check_refused("sgdsim/cluster/1", json, all,
                  [&](const Json& given) { read_cluster(Value(given, file, "")); });
  }
}

TEST_CASE("fields: broken jobs, sweeps and traffic are refused by reader and schema") {
  Json jobs = Json::parse(read_text(root + "app/job_files/two_jobs.json"));
  for (Json& job : jobs["jobs"]) job["experiment"] = root + "app/experiments/googlenet_k80.json";
  const auto read_file = [](const Json& json, const auto& read) {
    const Temporary file(Temporary::Kind::file, json.dump());
    read(file.name());
  };
  check_refused(
      "sgdsim/jobs/1", jobs,
      {{"/cluster", ""},
       {"/jobs", "[]"},
       {"/jobz", "[]"},
       {"/seed", "-1"},
       {"/routing", R"("hshed")"},
       {"/transport", R"({"name": "mlt", "loss_bond": 0.1})"},
       {"/jobs/0/experiment", ""},
       {"/jobs/0/collective", R"({"bytes": "1 MB"})"},
       {"/jobs/0/workers", "0"},
       {"/jobs/0/placment", R"("packed")"},
       {"/jobs/0/start", R"("1")"},
       {"/jobs/0/set", "[1]"},
       {"/jobs/0", R"({"collective": {"bytes": "1"}, "workers": 2})"},
       {"/jobs/0", R"({"collective": {"bytes": "1 MB", "algoritm": "mst"}, "workers": 2})"},
       {"/jobs/0", R"({"layout": {"model": "llama3.1_8b"}, "workers": 8})"},
       {"/jobs/0", R"({"schedule": {"fils": "x"}, "workers": 8})"},
       {"/traffic", R"({"changes": [{"at": "1 s", "bandwidth": 0}]})"},
       {"/traffic", R"({"changes": [{"at": "1 s", "vertex": "leaf0", "loss": 2}]})"},
       {"/traffic", R"({"flows": {"generator": "incast"}})"},
       {"/traffic", R"({"flows": {"generator": "incast", "size": "1 MB", "fro": "0"}})"},
       {"/traffic", R"({"flows": {"generator": "incats", "size": "1 MB"}})"},
       {"/traffic", R"({"flows": {"generator": "poisson", "size": "1 MB", "load": 0.5}})"},
       {"/traffic", R"({"flows": {"generator": "listed", "list": [{"from": 0}]}})"}},
      [&](const Json& json) {
        read_file(json, [](const std::string& name) { read_jobs(name, {}); });
      });
  Json sweep = Json::parse(read_text(root + "app/sweeps/crossover.json"));
  sweep["base"]["trace"] = "resnet50_v100";
  check_refused("sgdsim/sweep/1", sweep,
                {{"/base", ""},
                 {"/base", "7"},
                 {"/axes", "{}"},
                 {"/axez", "{}"},
                 {"/axes/seed", "[]"},
                 {"/axes/seed", R"({"from": 1, "to": 2})"},
                 {"/axes/seed", R"({"from": 1, "to": 2, "step": 1, "count": 2})"},
                 {"/axes/seed", R"({"from": 1, "to": 2, "factor": 0.5})"},
                 {"/axes/seed", R"({"from": 1, "to": 2, "count": 2, "spacing": "lgo"})"},
                 {"/zip", R"([[1]])"},
                 {"/where", R"("nodes > 2")"},
                 {"/set", "[]"}},
                [&](const Json& json) {
                  read_file(json, [](const std::string& name) { read_sweep(name, {}, {}); });
                });
}

TEST_CASE("fields: broken measurements are refused by reader and schema") {
  const Json good = Json::parse(read_text(root + "tests/data/measurement.json"));
  Json full = good;
  full["states"] = Json::parse(
      R"([{"when": "before", "device": "0", "driver": "1", "power_W": 3.5, "ecc": true,
           "processes": 1, "slowed_by": ["power"]}])");
  full["asked"] = Json::parse(R"([{"operation": "copy", "ranks": 2, "sizes_B": [1, 2]}])");
  full["series"][0]["nccl"] = Json::parse(R"({"algorithm": "Ring", "channels": 4})");
  check_refused("sgdsim/measurement/1", full,
                {{"/schema", ""},
                 {"/schema", R"("sgdsim/measurement/2")"},
                 {"/series", ""},
                 {"/seris", "[]"},
                 {"/device", "7"},
                 {"/complete", R"("no")"},
                 {"/notes", R"("one")"},
                 {"/memory_GBps", "-1"},
                 {"/states/0/when", R"("between")"},
                 {"/states/0/device", ""},
                 {"/states/0/power_W", "-1"},
                 {"/states/0/ecc", "1"},
                 {"/states/0/processes", "1.5"},
                 {"/states/0/temprature_C", "1"},
                 {"/asked/0/ranks", "0"},
                 {"/asked/0/sizes_B", ""},
                 {"/asked/0/sizes_B", "[-1]"},
                 {"/series/0/operation", R"("all_reduce")"},
                 {"/series/0/operation", ""},
                 {"/series/0/ranks", "16777217"},
                 {"/series/0/block_B", "0"},
                 {"/series/0/nccl/channels", "0"},
                 {"/series/0/nccl/protcol", R"("LL")"},
                 {"/series/0/points", "{}"},
                 {"/series/0/points/0/size_B", "-1"},
                 {"/series/0/points/0/time_us", ""},
                 {"/series/0/points/0/time_us", "-1"},
                 {"/series/0/points/0/samples_us", R"(["1"])"},
                 {"/series/0/points/0/interval_us", "[1]"},
                 {"/series/0/points/0/visits", "[0]"},
                 {"/series/0/points/0/verified", "1"},
                 {"/series/0/points/0/tim_us", "1"}},
                [&](const Json& json) {
                  read_measurement({json.dump(), "m.json", {}, ""});
                });
}

TEST_CASE("fields: broken cases of every kind are refused by reader and schema") {
  struct Kind {
    const char* file;
    std::vector<Broken> rows;
  };
  const std::vector<Broken> of_all = {{"/schema", R"("sgdsim/case/2")"},
                                      {"/kind", ""},
                                      {"/kind", R"("colective")"},
                                      {"/name", R"("")"},
                                      {"/suite", R"("")"},
                                      {"/grade", R"("D")"},
                                      {"/source/fitted", ""},
                                      {"/source/author", R"("x")"},
                                      {"/tolerance/median_percent", "1001"},
                                      {"/tolerance/from_size", "1"},
                                      {"/measured", ""},
                                      {"/measurd", "[]"},
                                      {"/measured/0/label", R"("")"},
                                      {"/measured/0/time", R"("1")"},
                                      {"/measured/0/quartiles", R"(["1 us"])"},
                                      {"/measured/0/held", "false"},
                                      {"/measured/0/reason", R"("none")"},
                                      {"/measured/0/tim", R"("1 us")"}};
  const std::vector<Kind> kinds = {{"models/collective/data/tcp_star_100mbps_4.json",
                                    {{"/cluster", ""},
                                     {"/cluster", R"("10gbe_16")"},
                                     {"/gpu", R"("h100")"},
                                     {"/options", R"({"alpha": 1})"},
                                     {"/measured/0/algorithm", ""},
                                     {"/measured/0/operation", R"("all_reduce")"},
                                     {"/measured/0/size", "7"},
                                     {"/measured/0/ranks", "0"},
                                     {"/measured/0/set", R"(["a=b"])"}}},
                                   {"models/strategy/data/pytorch_ddp_dgx1.json",
                                    {{"/experiment", ""},
                                     {"/cluster", R"("10gbe_16")"},
                                     {"/measured/0/set", R"(["nodes"])"},
                                     {"/measured/0/of", R"("forwards")"},
                                     {"/measured/0/messages_B", "[0]"},
                                     {"/measured/0/algorithm", R"("ring")"}}},
                                   {"models/training/data/cases/torchtitan_8b_h100.json",
                                    {{"/gpu", ""},
                                     {"/cluster", ""},
                                     {"/transport", R"("ndp")"},
                                     {"/fidelity", R"("flow")"},
                                     {"/precision", R"("fp4")"},
                                     {"/measured/0/layout", ""},
                                     {"/measured/0/sequence", "0"},
                                     {"/measured/0/precision", R"("fp4")"}}},
                                   {"models/transport/data/contention_rings.json",
                                    {{"/cluster", ""},
                                     {"/transport", ""},
                                     {"/transport", R"({"name": "mlt", "loss_bond": 0.1})"},
                                     {"/options", "{}"},
                                     {"/measured/0/schedule", ""},
                                     {"/measured/0/ends", R"([{"line": 0, "time": "1 us"}])"},
                                     {"/measured/0/ends", R"([{"line": 3}])"}}}};
  for (const Kind& kind : kinds) {
    INFO(kind.file);
    const std::string file = root + kind.file;
    std::vector<Broken> rows = of_all;
    rows.insert(rows.end(), kind.rows.begin(), kind.rows.end());
    check_refused("sgdsim/case/1", Json::parse(read_text(file)), rows,
                  [&](const Json& json) { read_case(Value(json, file, "")); });
  }
}
