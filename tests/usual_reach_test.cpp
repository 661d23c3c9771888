// What exchanges of layouts reach of links whose cluster file does not say it, and how they slow
// down products where the GPU's file does not.
#include "study/layout/usual_reach.h"

#include <doctest/doctest.h>

#include "study/layout/layout_files.h"
#include "study/layout/shipped.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

TEST_CASE("usual reach: links of boxes without an efficiency, and no others") {
  Json both = Json::parse(R"({"shape": "nvlink_box", "gpu_link": {"latency": "1 us"},
                              "nic": {"latency": "1 us"}, "pcie": {}})");
  const UsualReach reach = add_usual_reach(both);
  CHECK(reach.inside == 0.8);
  CHECK(reach.between == 0.9);
  CHECK(both["gpu_link"]["efficiency"] == 0.8);
  CHECK(both["nic"]["efficiency"] == 0.9);
  CHECK(!both["pcie"].contains("efficiency"));
  Json one = Json::parse(R"({"shape": "nvlink_box", "gpu_link": {"efficiency": 1}, "nic": {}})");
  CHECK(!add_usual_reach(one).inside);
  CHECK(one["gpu_link"]["efficiency"] == 1);
  CHECK(one["nic"]["efficiency"] == 0.9);
  Json rails = Json::parse(R"({"shape": "rails", "gpu_link": {}, "nic": {}, "pcie": {},
                               "uplink": {}})");
  CHECK(add_usual_reach(rails).inside == 0.8);
  CHECK(rails == Json::parse(R"({"shape": "rails", "gpu_link": {"efficiency": 0.8},
                                 "nic": {"efficiency": 0.9}, "pcie": {}, "uplink": {}})"));
  for (const char* text :
       {R"({"shape": "single_switch", "nic": {}})", R"({"nic": {}})", "[]", "7",
        R"({"shape": 3, "nic": {}})", R"({"shape": "nvlink_box", "nic": "fast"})"}) {
    Json other = Json::parse(text);
    CHECK(!add_usual_reach(other).any());
    CHECK(other == Json::parse(text));
  }
}

Json layouts(const std::vector<std::string>& more, const char* layout = "tp8 dp4 zero1 sp") {
  std::vector<std::string> words = {"layout",   "llama3.1_8b", "-c",       "dgx_h100_4",
                                    "--layout", layout,        "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  const Ran ran = run_sgdsim(words);
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out);
}

// Tensor parallelism takes 1 / 0.8 of its bytes' time, and its latencies as before.
TEST_CASE("sgdsim layout: exchanges reach a part of the links, unless the cluster says") {
  const auto tensor_us = [](const Json& json) {
    return json["layouts"][0]["parts"]["tensor_us"].get<double>();
  };
  const Json usual = layouts({});
  const Json whole = layouts({"--set", "gpu_link.efficiency=1", "--set", "nic.efficiency=1"});
  const Json same = layouts({"--set", "gpu_link.efficiency=0.8", "--set", "nic.efficiency=0.9"});
  CHECK(usual["reach"] == Json({{"inside", 0.8}, {"between", 0.9}}));
  CHECK(!whole.contains("reach"));
  CHECK(usual["layouts"][0]["step_ps"] == same["layouts"][0]["step_ps"]);
  // 32 layers, two passes of two gathers and two scatters, of seven steps with 0.6 us each.
  const double starts_us = 32 * 2 * 4 * 7 * 0.6;
  CHECK((tensor_us(usual) - starts_us) * 0.8 ==
        doctest::Approx(tensor_us(whole) - starts_us).epsilon(1e-6));
  const Ran table =
      run_sgdsim({"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--layout", "tp8 dp4 zero1 sp"});
  CHECK(table.out.find("Exchanges are taken to reach 80 % of the links inside nodes and 90 % of "
                       "the cards") != std::string::npos);
  CHECK(table.out.find("Products are assumed to take 1.19 times as long beside exchanges") !=
        std::string::npos);
}

// The same GPUs at the same NVSwitches, and cards that are as fast.
TEST_CASE("sgdsim layout: boxes on rails reach as much as those at one switch") {
  const auto parts_on = [](const char* cluster) {
    const Ran ran =
        call_sgdsim({"layout", "llama3.1_70b", "-c", cluster, "--gpus", "64", "--memory", "900GB",
                     "--layout", "tp8 pp4 dp2 ga16 zero1 sp", "--format", "json"});
    INFO(ran.log);
    REQUIRE(ran.exit_code == 0);
    const Json json = Json::parse(ran.out);
    CHECK(json["reach"] == Json({{"inside", 0.8}, {"between", 0.9}}));
    return json["layouts"][0]["parts"];
  };
  const Json switched = parts_on("dgx_h100_4");
  const Json rails = parts_on("rails_h100_16");
  for (const char* part : {"products_us", "tensor_us", "bubble_us"})
    CHECK(rails[part].get<double>() == doctest::Approx(switched[part].get<double>()).epsilon(1e-4));
  CHECK(rails["data_us"].get<double>() ==
        doctest::Approx(switched["data_us"].get<double>()).epsilon(0.01));
}

// The mean of what arXiv 2507.03114 measured, 18.9 %.
TEST_CASE("usual interference: where the file of a GPU is silent") {
  Json file = gpu_json("h100");
  const auto products = [&] { return read_gpu(Value(file, "", "")).beside_exchanges().products; };
  CHECK(products() == 1.19);
  file["interference"] = Json::array();
  CHECK(products() == 1);
  file["interference"] = {{{"beside", "copy engines"}, {"products", 1.02}, {"exchange", 1.1}}};
  CHECK(products() == 1.02);
  // The same in a file is no assumption.
  file["interference"] = {{{"beside", "nccl"}, {"products", 1.19}, {"exchange", 1}}};
  CHECK(!read_gpu(Value(file, "", "")).assumes_interference);
  for (const ShippedFile& gpu : shipped_gpus()) {
    const std::string name(gpu.name);
    CAPTURE(name);
    CHECK(load_gpu(name).assumes_interference);
  }
}

// 1.19 seconds of products beside each second of an exchange that they hide do the work of one: the
// step loses 1 - 1 / 1.19 of what is hidden, and of what no longer shows for that reason.
TEST_CASE("sgdsim layout: products are slower beside exchanges, unless the GPU says") {
  Json quiet = gpu_json("h100");
  quiet["interference"] = Json::array();
  const Temporary file(Temporary::Kind::file, quiet.dump());
  const char* layout = "dp32 ga2 zero2 recompute=full";
  const Json usual = layouts({}, layout);
  const Json none = layouts({"--gpu", file.name()}, layout);
  CHECK(usual["interference"] == 1.19);
  CHECK(!none.contains("interference"));
  CHECK(!layouts({"--memory", "1 TB", "--gpus", "1"}, "mbs2").contains("interference"));
  const auto of = [](const Json& json, const char* kind) {
    return json["layouts"][0][kind]["data_us"].get<double>();
  };
  const auto step_us = [](const Json& json) {
    return json["layouts"][0]["step_ps"].get<double>() / 1e6;
  };
  const double hidden_us = of(usual, "hidden");
  REQUIRE(hidden_us > 1000);
  CHECK(
      step_us(usual) - step_us(none) ==
      doctest::Approx(hidden_us * (1 - 1 / 1.19) - (hidden_us - of(none, "hidden"))).epsilon(1e-6));
}

}  // namespace
}  // namespace sgdsim
