// What `sgdsim layout` answers in the words of people who train: tokens, days, programs, names.
#include <cmath>
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "models/training/layout_search.h"
#include "sim/core/error.h"
#include "study/layout/layout_files.h"
#include "study/layout/layout_rates.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

const std::string box = "topologies/data/dgx_h100_4.json";

Json answer_to(std::vector<std::string> words) {
  words.insert(words.begin(), "layout");
  words.insert(words.end(), {"-c", box, "--format", "json"});
  const Ran ran = run_sgdsim(words);
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/layouts/1", json) == std::vector<std::string>{});
  return json;
}

}  // namespace

// Without others that hold a part there is nothing to shard, whatever the layout says.
TEST_CASE("layout answer: a layout is fsdp where its weights have several shards") {
  const Ran ran = run_sgdsim({"layout", "llama3.1_8b", "-c", "10gbe_16", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  int fsdp = 0;
  const Json answer = Json::parse(ran.out);
  for (const Json& line : answer["layouts"]) {
    const std::string layout = line["layout"];
    if (line["family"].get<std::string>().find("fsdp") == std::string::npos) continue;
    ++fsdp;
    CHECK((layout.find("dp") != std::string::npos || layout.find("cp") != std::string::npos));
  }
  CHECK(fsdp > 0);
}

TEST_CASE("layout answer: few GPU-hours are no zero") {
  CHECK(gpu_hours_text(0.0032147) == "0.00321");
  CHECK(gpu_hours_text(3'206'000) == "3.206M");
  const Ran ran = run_sgdsim({"layout", "llama3.1_8b", "-c", box, "--gpus", "16", "--tokens", "1"});
  CHECK(ran.out.find(" 0.00321 GPU-hours") != std::string::npos);
}

TEST_CASE("layout answer: numbers of tokens") {
  for (const auto& [text, tokens] :
       std::vector<std::pair<std::string, int64_t>>{{"15T", 15'000'000'000'000},
                                                    {"1.4 T", 1'400'000'000'000},
                                                    {"300B", 300'000'000'000},
                                                    {"2.5M", 2'500'000},
                                                    {"1K", 1'000},
                                                    {"500k", 500'000},
                                                    {"1", 1},
                                                    {"1000000T", 1'000'000'000'000'000'000}})
    CHECK(parse_tokens(text, "--tokens") == tokens);
  for (const char* text : {"", "T", "0", "-1", "15 TB", "15t", "nan", "inf", "1e400", "1e19", "0.4",
                           "1000001T", "15T 1", "0x10", "٣"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_tokens(text, "--tokens"),
                         doctest::Contains("expected a number of tokens"), InputError);
  }
  CHECK(tokens_text(15'000'000'000'000) == "15T");
  CHECK(tokens_text(4'194'304) == "4.194M");
  CHECK(tokens_text(999) == "999");
}

// Llama-3 70B on 512 H100, 15 T tokens: everything that was asked for, by one command.
TEST_CASE("layout answer: speed, MFU and days are one figure in several units") {
  const Json json = answer_to({"Llama-3 70B", "--gpus", "512", "--gpu", "H100", "--tokens", "15T"});
  CHECK(json["model"] == "llama3.1_70b");
  CHECK(json["gpu"] == "h100");
  CHECK(json["tokens"] == 15'000'000'000'000);
  const double of_step = json["global_batch"].get<double>() * json["sequence"].get<double>();
  CHECK(of_step == 512 * 8192);
  for (const Json& one : json["layouts"]) {
    const double step_s = one["step_us"].get<double>() / 1e6;
    CHECK(one["tokens_per_s_per_gpu"].get<double>() == doctest::Approx(of_step / step_s / 512));
    CHECK(one["tflops_per_gpu"].get<double>() == doctest::Approx(one["mfu"].get<double>() * 989));
    // 15e12 tokens are 3,576,278.7 steps of 4,194,304.
    CHECK(one["days"].get<double>() == doctest::Approx(3'576'279 * step_s / 86'400));
    CHECK(one["gpu_hours"].get<double>() == doctest::Approx(one["days"].get<double>() * 24 * 512));
    CHECK(one["memory_GiB"].get<double>() <= 78);
    double memory = 0;
    for (const auto& part : one["memory_parts"].items()) memory += part.value().get<double>();
    CHECK(memory == doctest::Approx(one["memory_GiB"].get<double>()));
  }
  const Ran ran =
      run_sgdsim({"layout", "Llama-3 70B", "-c", box, "--gpus", "512", "--tokens", "15T"});
  for (const char* part :
       {"fastest layout", "tokens/s, ", "TFLOP/s", "MFU", "fits", "15T tokens", "days (",
        "GPU-hours", "by Megatron-LM", "by torchtitan", "published steps"}) {
    CAPTURE(part);
    CHECK(ran.out.find(part) != std::string::npos);
  }
  for (const char* hidden : {" ep1 ", " cp1 ", " vp1 ", " mbs1 "})
    CHECK(ran.out.find(hidden) == std::string::npos);
}

// Where the kernels of another program are faster, the answer says so, and what that program takes
// is what its words take.
TEST_CASE("layout answer: the fastest one names faster kernels that it does not have") {
  const std::vector<std::string> words = {"gpt_oss_120b", "--gpus", "384", "--global-batch", "768"};
  const Json json = answer_to(words);
  const double first_us = json["layouts"][0]["step_us"].get<double>();
  const double other_us = json["programs"]["torchtitan"]["step_us"].get<double>();
  REQUIRE(other_us < first_us);
  const std::string notes = json["warnings"].dump();
  CHECK(notes.find("--with kernels=compiled or --program torchtitan") != std::string::npos);
  std::vector<std::string> compiled = words;
  compiled.insert(compiled.end(), {"--with", "kernels=compiled"});
  CHECK(answer_to(compiled)["layouts"][0]["step_us"].get<double>() <= other_us);
  CHECK(answer_to(compiled)["warnings"].dump().find("--program") == std::string::npos);
}

TEST_CASE("layout answer: one line for each family, the best of it") {
  const std::vector<std::string> words = {"llama3.1_8b", "--gpus", "32", "--global-batch", "64"};
  const Json families = answer_to(words);
  std::vector<std::string> more = words;
  more.insert(more.end(), {"--lines", "1000000"});
  const Json all = answer_to(more);
  CHECK(all["layouts"].size() == all["fitting"]);
  std::vector<std::string> seen;
  for (const Json& one : all["layouts"]) {
    const auto family = one["family"].get<std::string>();
    if (seen.size() == families["layouts"].size() ||
        std::find(seen.begin(), seen.end(), family) != seen.end())
      continue;
    CHECK(families["layouts"][seen.size()] == one);
    seen.push_back(family);
  }
  CHECK(seen.size() == families["layouts"].size());
  CHECK(!all.contains("programs"));
}

TEST_CASE("layout answer: what Megatron-LM and torchtitan can do") {
  for (const char* model : {"llama3.1_70b", "mixtral_8x7b"}) {
    const Json json = answer_to({model, "--gpus", "128"});
    for (const char* name : {"megatron", "torchtitan"}) {
      CAPTURE(name);
      const Json& one = json["programs"][name];
      const Layout layout = parse_layout(one["layout"].get<std::string>(), "");
      CHECK((std::string(name) == "megatron" ? layout.zero <= 1 : layout.zero == 3));
      const Json asked =
          answer_to({model, "--gpus", "128", "--program", name, "--lines", "100000"});
      CHECK(asked["program"] == name);
      bool is_there = false;
      for (const Json& line : asked["layouts"]) is_there = is_there || line == one;
      CHECK(is_there);
      // It may be slower than others of the program only where those go beyond published runs.
      for (const Json& line : asked["layouts"])
        if (line["step_ps"] < one["step_ps"]) CHECK(line.contains("beyond_published"));
    }
  }
}

TEST_CASE("layout answer: what goes beyond published runs is said") {
  const Transformer dense = load_model("llama3.1_405b");
  const Transformer sparse = load_model("mixtral_8x7b");
  struct Row {
    const Transformer& model;
    const char* layout;
    int64_t sequence;
    std::string sentence;  // empty: nothing does
  };
  for (const Row& row :
       std::vector<Row>{{dense, "tp8 pp16 vp8 dp64 ga32 zero1 sp ends=layers", 8192, ""},
                        {dense, "tp8 pp16 cp16 vp8 dp8 ga16 zero1 sp ends=layers", 131072, ""},
                        {dense, "tp8 pp9 cp2 vp7 dp4 ga63 zero1 sp", 8192, ""},
                        {dense, "tp8 pp18", 8192, "pp18 (published: up to 16 stages)"},
                        {dense, "tp8 cp4", 8192, "cp4 for sequences of 8192"},
                        {dense, "tp8 cp4", 16384, ""},
                        {dense, "dp8 zero3", 8192, ""},
                        {sparse, "dp8 zero3", 8192, "zero3 of experts"},
                        {sparse, "dp8 ep8 zero2", 8192, ""}}) {
    CAPTURE(row.layout);
    const auto all = beyond_published(row.model, parse_layout(row.layout, ""), row.sequence);
    CHECK(all.empty() == row.sentence.empty());
    if (!all.empty()) CHECK(all.front().find(row.sentence) == 0);
  }
  const Ran ran = run_sgdsim({"layout", "llama3.1_8b", "-c", box, "--layout", "cp4 dp8 zero1"});
  CHECK(ran.log.find("warning: this layout goes beyond published runs: cp4") != std::string::npos);
}

TEST_CASE("layout answer: what a text does not say follows from the question") {
  struct Row {
    const char* text;
    int64_t gpus;
    int64_t batch;
    const char* expected;
  };
  for (const Row& row :
       std::vector<Row>{{"tp8 pp4", 512, 1024, "tp8 pp4 dp16 ga64 zero0"},
                        {"tp8 pp4 mbs2", 512, 1024, "tp8 pp4 dp16 mbs2 ga32 zero0"},
                        {"tp8 dp2", 512, 1024, "tp8 dp2 ga512 zero0"},
                        {"tp8 ga1", 16, 64, "tp8 dp2 zero0"},
                        {"tp8", 0, 0, "tp8 zero0"},
                        {"tp8", 12, 7, "tp8 ga7 zero0"},
                        {"schedule=1f1b", 4, 8, "dp4 ga2 zero0"}})
    CHECK(to_text(completed(parse_layout(row.text, ""), row.text, row.gpus, row.batch)) ==
          row.expected);
  const Json json = answer_to({"llama3.1_70b", "--gpus", "64", "--global-batch", "256", "--layout",
                               "tp8 pp2 zero1 sp recompute=full"});
  CHECK(json["layouts"][0]["layout"] == "tp8 pp2 dp4 ga64 zero1 sp recompute=full");
  CHECK(json["global_batch"] == 256);
}

TEST_CASE("layout answer: names whatever their case and dashes") {
  for (const char* name : {"Llama-3.1 70B", "LLAMA3_70B", "llama 3 70b", "llama-3.1-70b"})
    CHECK(load_model(name).name == "llama3.1_70b");
  CHECK(load_model("DeepSeek-V3").name == "deepseek_v3");
  CHECK(load_model("GPT-3 175B").name == "gpt3_175b");
  for (const char* name : {"H100", "h-100", "NVIDIA H100", "H100 SXM", "H100-SXM5"})
    CHECK(load_gpu(name).name == "h100");
  for (const char* name : {"", "-", "70b", "llama", "llama3.2_70b", "llama3.1.1_70b", "../llama"})
    CHECK_THROWS_AS(load_model(name), InputError);
  for (const char* name : {"", "nvidia", "sxm", "H100 PCIe", "H100 NVL", "h10"})
    CHECK_THROWS_WITH_AS(load_gpu(name), doctest::Contains("unknown GPU"), InputError);
}

// 8,030,261,248 parameters of 14 bytes on 8 GPUs are 14,052,957,184 bytes of each. With 80 GB there
// is room for them beside zero3's part, not beside the whole state.
TEST_CASE("sgdsim layout: saves are the layout's own, on the GPU where it has room") {
  Json question = Json::parse(R"({"failures": "llama3_h100", "rate_factor": 100,
    "save": {"copy": {"to_host": "1 GB/s", "write": "0.5 GB/s", "on_gpu": "1 TB/s"}},
    "restart": {"in_place": "5 min"}})");
  const auto end_with = [&](const std::string& layout, const Json& goodput,
                            const char* memory = "80 GB") {
    const Json answer = answer_to({"llama3.1_8b", "--layout", layout, "--tokens", "20B", "--memory",
                                   memory, "--goodput", goodput.dump()});
    return answer["layouts"][0]["end"];
  };
  const std::string sharded = "dp8 zero3 ga2 recompute=full";
  CHECK(end_with(sharded, question)["stall_s"].get<double>() ==
        doctest::Approx(0.014052957184).epsilon(1e-9));
  CHECK(end_with(sharded, question, "40 GB")["stall_s"].get<double>() ==
        doctest::Approx(14.052957184).epsilon(1e-9));
  // The same in seconds.
  Json in_seconds = question;
  in_seconds["save"] = {{"stall", "14.052957184 s"}, {"durable", "28.105914368 s"}};
  CHECK(end_with(sharded, in_seconds, "40 GB") == end_with(sharded, question, "40 GB"));
  in_seconds["save"] = {{"stall", "0.014052957184 s"}, {"durable", "42.158871552 s"}};
  CHECK(end_with(sharded, in_seconds)["days"].get<double>() ==
        doctest::Approx(end_with(sharded, question)["days"].get<double>()).epsilon(1e-12));
  // Bytes and free memory that the question gives are everybody's.
  Json given = question;
  given["save"]["copy"]["bytes"] = "100 GB";
  given["save"]["copy"]["free"] = "100 GB";
  CHECK(end_with(sharded, given)["stall_s"].get<double>() == doctest::Approx(0.1));
  // The soonest end comes first, with copies to the host that take minutes: one with room.
  question["save"]["copy"]["to_host"] = "0.05 GB/s";
  question["save"]["copy"]["write"] = "0.05 GB/s";
  const Json found = answer_to({"llama3.1_8b", "--gpus", "8", "--tokens", "20B", "--lines", "100",
                                "--goodput", question.dump()});
  double before = 0;
  bool has_slower_step_first = false;
  double step_us = 0;
  for (const Json& line : found["layouts"]) {
    const double days = line["end"]["days"];
    CHECK(days >= before);
    before = days;
    has_slower_step_first = has_slower_step_first || line["step_us"].get<double>() < step_us;
    step_us = line["step_us"];
  }
  CHECK(has_slower_step_first);
  // Few lines are the soonest ends, not the fastest steps in another order; played ones, too.
  for (const char* fidelity : {"closed_form", "message"}) {
    const auto searched = [&](const char* lines) {
      return answer_to({"llama3.1_8b", "--gpus", "8", "--tokens", "20B", "--lines", lines,
                        "--fidelity", fidelity, "--goodput", question.dump()});
    };
    const Json many = searched("60");
    const Json few = searched("2");
    CAPTURE(fidelity);
    REQUIRE(few["layouts"].size() == 2);
    CHECK(few["layouts"][0]["end"] == many["layouts"][0]["end"]);
    CHECK(few["layouts"][1]["end"] == many["layouts"][1]["end"]);
  }
  CHECK(found["layouts"][0]["end"]["stall_s"].get<double>() < 1);
  CHECK(found["warnings"].dump().find("room for a copy") != std::string::npos);
}

// As `sgdsim goodput` says of the same step, which has a formula here: Llama 3's failures on four
// nodes.
TEST_CASE("sgdsim layout: when the training ends with failures") {
  const std::string ways =
      R"({"failures": "llama3_h100", "save": {"stall": "10 s", "durable": "1 min"},
          "restart": {"in_place": "5 min", "new_node": "15 min"}, "prices": {"gpu_hour": 2.5}})";
  const std::vector<std::string> words = {
      "llama3.1_8b", "--layout", "tp4 dp8 ga4 zero1", "--tokens", "100B", "--goodput", ways};
  const Json one = answer_to(words)["layouts"][0];
  const double step_s = one["step_us"].get<double>() / 1e6;
  Json question = Json::parse(ways);
  question["step"] = std::to_string(one["step_ps"].get<int64_t>()) + " ps";
  question["tokens"] = "100B";
  question["tokens_per_step"] = std::to_string(8 * 4 * 8192);
  question["nodes"] = 4;
  question["gpus_per_node"] = 8;
  question["runs"] = 2;
  const Ran goodput = run_sgdsim({"goodput", question.dump(), "--format", "json"});
  CAPTURE(goodput.log);
  REQUIRE(goodput.exit_code == 0);
  const Json whole = Json::parse(goodput.out);
  const Json& end = one["end"];
  CHECK(end["days"].get<double>() ==
        doctest::Approx(whole["wall"]["closed_form_days"].get<double>()).epsilon(1e-12));
  CHECK(end["productive"].get<double>() ==
        doctest::Approx(one["days"].get<double>() / end["days"].get<double>()).epsilon(1e-9));
  CHECK(end["cost"].get<double>() ==
        doctest::Approx(2.5 * 32 * 24 * end["days"].get<double>()).epsilon(1e-12));
  CHECK(!end.contains("energy_kWh"));
  CHECK(!end.contains("until"));
  // 32 GPUs of 1 kW, whatever they do, with half as much for the building, by as many runs; and a
  // date long before the work is done, or far behind it.
  Json powered = Json::parse(ways);
  powered["power"] = {{"busy_W", 1000}, {"idle_W", 1000}, {"pue", 1.5}, {"grid_kg_per_kWh", 0.5}};
  question["power"] = powered["power"];
  question["runs"] = 400;
  for (const auto& [until, late] : {std::pair("1 h", 1.), std::pair("1000 days", 0.)}) {
    powered["until"] = question["until"] = until;
    std::vector<std::string> asked = words;
    asked.back() = powered.dump();
    const Json more = answer_to(asked)["layouts"][0]["end"];
    CHECK(more["days"] == end["days"]);
    CHECK(more["until"]["late"].get<double>() == doctest::Approx(late));
    CHECK(more["energy_kWh"].get<double>() ==
          doctest::Approx(1.5 * 32 * 24 * end["days"].get<double>()).epsilon(0.05));
    CHECK(more["carbon_kg"].get<double>() ==
          doctest::Approx(0.5 * more["energy_kWh"].get<double>()));
    const Json same = Json::parse(run_sgdsim({"goodput", question.dump(), "--format", "json"}).out);
    CHECK(more["energy_kWh"] == same["energy_kWh"]);
    CHECK(more["until"]["late"] == same["until"]["late"]);
  }
  CHECK(end["interval_s"].get<double>() >= step_s);
  // Where replicas that fail are left out, they are the layout's, and the soonest end comes first.
  Json shrinking = Json::parse(ways);
  shrinking["policy"] = "shrink";
  shrinking["save"]["interval"] = "30 min";
  shrinking["shrink"] = {{"stall", "1 min"}};
  shrinking["repair"] = "7 days";
  shrinking["rate_factor"] = 200;
  shrinking["runs"] = 50;
  const std::vector<std::string> search = {"llama3.1_8b", "--tokens",  "20B",           "--lines",
                                           "12",          "--goodput", shrinking.dump()};
  const Json ranked = answer_to(search)["layouts"];
  REQUIRE(ranked.size() == 12);
  double before = 0;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const double days = ranked[i]["end"]["days"];
    CHECK(days >= before);
    before = days;
  }
  const auto best = ranked[0]["layout"].get<std::string>();
  const std::size_t at = best.find("dp");
  REQUIRE(at != std::string::npos);
  const int replicas = std::stoi(best.substr(at + 2));
  Json own = shrinking;
  own["shrink"]["replicas"] = replicas;
  const Json alone =
      answer_to({"llama3.1_8b", "--layout", best, "--tokens", "20B", "--goodput", own.dump()});
  CHECK(alone["layouts"][0]["end"] == ranked[0]["end"]);
  // A column of every layout of a search, and of a sweep.
  const Ran found =
      run_sgdsim({"layout", "llama3.1_8b", "-c", box, "--tokens", "100B", "--goodput", ways});
  CHECK(found.out.find("with failures") != std::string::npos);
  const Ran axis = run_sgdsim({"layout", "llama3.1_8b", "-c", box, "--tokens", "100B", "--goodput",
                               ways, "--axis", "gpus=8,16"});
  CHECK(axis.exit_code == 0);
  CHECK(axis.out.find("with failures") != std::string::npos);
  struct Row {
    std::vector<std::string> more;
    const char* sentence;
  };
  for (const Row& row : std::vector<Row>{
           {{"--goodput", ways}, "--goodput: needs --tokens"},
           {{"--tokens", "1T", "--goodput", R"({"failures": "llama3_h100", "steps": 7})"},
            "/steps: leave it out: the layout says it"},
           {{"--tokens", "1T", "--goodput",
             R"({"failures": "llama4", "save": {"stall": "1 s", "durable": "9 s"}})"},
            "unknown source of failures \"llama4\""},
           {{"--tokens", "1T", "--goodput", R"({"failures": "llama3_h100"})"}, "needs `save`"},
           {{"--tokens", "1T", "--goodput", "nothing.json"}, "nothing.json"}}) {
    std::vector<std::string> asked = {"layout", "llama3.1_8b", "-c", box};
    asked.insert(asked.end(), row.more.begin(), row.more.end());
    const Ran refused = run_sgdsim(asked);
    CHECK(refused.exit_code == 2);
    CHECK(refused.log.find(row.sentence) != std::string::npos);
  }
}

// With dualpipe ranks r and p - 1 - r have the same stages. With four GPUs a stage, both pairs of
// four stages lie in two nodes of eight, where neighbours lie in one: half of the time. On wires
// the gradients of a layer go when all of its pass has ended, 3 % of these steps.
TEST_CASE("layout answer: copies of stages go where the other rank of their pair is") {
  for (const char* layout :
       {"tp4 pp4 schedule=dualpipe mbs1 ga8 sp", "tp8 pp2 schedule=dualpipe mbs1 ga8 sp"}) {
    CAPTURE(layout);
    const auto step_us = [&](const char* fidelity) {
      const Json json = answer_to({"gpt3_175b", "--gpus", "16", "--sequence", "1024", "--memory",
                                   "10TB", "--layout", layout, "--fidelity", fidelity});
      return json["layouts"][0]["step_us"].get<double>();
    };
    const double on_wires = step_us("flow");
    CHECK(step_us("closed_form") == doctest::Approx(on_wires).epsilon(0.03));
    CHECK(step_us("message") == doctest::Approx(on_wires).epsilon(0.03));
  }
}

TEST_CASE("layout answer: nothing is gathered where no rank has a part") {
  const auto memory_of = [](const char* layout) {
    const Json json =
        answer_to({"llama3.1_8b", "--gpus", "1", "--memory", "1TB", "--layout", layout});
    return json["layouts"][0]["memory_GiB"].get<double>();
  };
  CHECK(memory_of("zero3") <= memory_of("zero1"));
  CHECK(memory_of("zero2") <= memory_of("zero1"));
}

TEST_CASE("layout answer: gradients are said in the layout that is given, whatever they are") {
  for (const char* gradients : {"fp32", "bf16"}) {
    const Ran ran = run_sgdsim({"layout", "llama3.1_8b", "-c", box, "--layout",
                                "tp8 dp4 ga4 zero1 sp gradients=bf16", "--gradients", gradients});
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(std::string("say gradients=") + gradients) != std::string::npos);
  }
}

// 160 us for each of 32 layers in both passes of each micro-batch.
TEST_CASE("layout answer: what a GPU's file adds to layers is said where it is much of the step") {
  for (const std::string sequence : {"1024", "32768"}) {
    const bool is_said = sequence == "1024";
    CAPTURE(sequence);
    const Json json = answer_to({"llama3.1_8b", "--gpu", "b200", "--gpus", "8", "--sequence",
                                 sequence, "--layout", "tp8 mbs1 ga8 zero1 sp"});
    const double part = 2.0 * 32 * 8 * 160 / json["layouts"][0]["step_us"].get<double>();
    CHECK((part >= 0.1) == is_said);
    CHECK((json.value("warnings", Json())
               .dump()
               .find("of the step are the 160 us that the file of b200") != std::string::npos) ==
          is_said);
  }
}

}  // namespace sgdsim
