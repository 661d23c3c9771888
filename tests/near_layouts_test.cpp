// Layouts that differ from a given one in one word.
#include "models/training/near_layouts.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <set>

#include "sim/core/json.h"
#include "study/layout/layout_files.h"
#include "tests/run_program.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

std::vector<std::string> near_texts(const Transformer& model, const std::string& given,
                                    int64_t gpus, int64_t batch) {
  LayoutSpace space;
  space.gpus = gpus;
  space.batch = batch;
  space.sequence = model.sequence;
  std::vector<std::string> texts;
  for_each_near(model, space, parse_layout(given, ""),
                [&](const Layout& layout) { texts.push_back(to_text(layout)); });
  return texts;
}

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), to_text(parse_layout(text, ""))) != texts.end();
}

// 48 layers, 16 heads of which 4 have keys, 8 GPUs and 16 sequences.
TEST_CASE("near: one word at a time, with what follows from it") {
  const Transformer model = small_model();
  const std::vector<std::string> near = near_texts(model, "tp2 pp2 vp2 dp2 ga8 zero1 sp", 8, 16);
  CHECK(near.front() == "tp2 pp2 vp2 dp2 ga8 zero1 sp");
  CHECK(std::set<std::string>(near.begin(), near.end()).size() == near.size());
  for (const std::string text :
       {"tp4 pp2 vp2 dp1 ga16 zero1 sp", "tp1 pp2 vp2 dp4 ga4 zero1", "tp2 pp1 dp4 ga4 zero1 sp",
        "tp2 pp4 vp2 dp1 ga16 zero1 sp", "tp2 pp2 vp2 cp2 ga16 zero1 sp",
        "tp2 pp2 vp1 dp2 ga8 zero1 sp", "tp2 pp2 vp24 dp2 ga8 zero1 sp",
        "tp2 pp2 vp2 dp2 mbs4 ga2 zero1 sp", "tp2 pp2 vp2 dp2 ga8 zero0 sp",
        "tp2 pp2 vp2 dp2 ga8 zero1", "tp2 pp2 vp2 dp2 ga8 zero1 sp recompute=full",
        "tp2 pp2 vp2 dp2 ga8 zero1 sp overlap=off", "tp2 pp2 vp2 dp2 ga8 zero1 sp gradients=bf16",
        "tp2 pp2 dp2 ga8 zero1 sp schedule=zb1p", "tp2 pp2 vp2 dp2 ga8 zero1 sp schedule=zbv"}) {
    INFO(text);
    CHECK(has(near, text));
  }
  CHECK(has(near_texts(model, "dp8 ga2 zero1", 8, 16), "dp8 ga2 zero1 hsdp2"));
  CHECK(!has(near, "tp4 pp1 dp2 ga8 zero1 sp"));        // two words
  CHECK(!has(near, "tp2 pp2 vp2 dp2 mbs3 ga8 zero1"));  // another batch
  for (const std::string& text : near) {
    INFO(text);
    const Layout layout = parse_layout(text, "");
    CHECK(layout.gpus() == 8);
    CHECK(layout.batch() == 16);
    CHECK(misfit_of(model, layout, model.sequence).empty());
  }
}

TEST_CASE("near: stages that are listed stay, and others are shared out anew") {
  Transformer model = small_model();
  model.layers = 6;
  CHECK(has(near_texts(model, "pp2 dp2 ga4", 4, 8), "pp4 dp1 ga8 ends=layers"));
  model.layers = 7;
  CHECK(has(near_texts(model, "dp4 ga2", 4, 8), "pp2 dp2 ga4 stages=spread"));
  for (const std::string& text : near_texts(model, "pp2 dp2 ga4 stages=3+4", 4, 8))
    CHECK(parse_layout(text, "").pipeline <= 2);
}

TEST_CASE("near: what was changed, in words") {
  const auto changed = [](const char* given, const char* other) {
    return changed_words(parse_layout(given, ""), parse_layout(other, ""));
  };
  CHECK(changed("tp2 dp4 ga2 zero1 sp", "tp2 dp4 ga2 zero1 sp").empty());
  CHECK(changed("tp2 dp4 ga2 zero1 sp", "tp4 dp2 ga4 zero1 sp") == "tp4");
  CHECK(changed("tp2 dp4 ga2 zero1 sp", "dp8 ga1 zero1") == "tp1 no sp");
  CHECK(changed("tp2 dp4 ga2 zero1 sp", "tp2 dp4 ga2 zero1") == "no sp");
  CHECK(changed("tp2 dp4 ga2 zero1 sp", "tp2 dp4 ga2 sp") == "zero0");
  CHECK(changed("pp2 dp4", "pp2 dp4 recompute=full") == "recompute=full");
  CHECK(changed("pp2 dp4 recompute=full", "pp2 dp4") == "no recompute=full");
  CHECK(changed("pp2 dp4 recompute=full", "pp2 dp4 recompute=selective attention=unfused") ==
        "recompute=selective attention=unfused");
}

Ran near_of(std::vector<std::string> more) {
  std::vector<std::string> words = {"layout", "llama3.1_8b", "-c",
                                    "topologies/data/dgx_h100_4.json"};
  words.insert(words.end(), more.begin(), more.end());
  return run_sgdsim(words);
}

// Each costs what it costs alone, the fastest first, and the given one is among them.
TEST_CASE("sgdsim layout --near: neighbours cost what --layout says of them") {
  const Ran ran = near_of({"--near", "tp2 dp16 ga2 zero1 sp", "--format", "json"});
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(json["near"] == "tp2 dp16 ga2 zero1 sp");
  const Json& layouts = json["layouts"];
  CHECK(layouts.size() == json["fitting"]);
  CHECK(layouts.size() > 10);
  std::size_t given = 0;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    if (i > 0) CHECK(layouts[i]["step_ps"] >= layouts[i - 1]["step_ps"]);
    if (layouts[i]["changed"] == "") ++given;
  }
  CHECK(given == 1);
  for (const std::size_t i : {std::size_t{0}, layouts.size() / 2}) {
    const std::string text = layouts[i]["layout"];
    const Ran alone = near_of({"--layout", text, "--format", "json"});
    REQUIRE(alone.exit_code == 0);
    CHECK(Json::parse(alone.out)["layouts"][0]["step_ps"] == layouts[i]["step_ps"]);
  }
  const Ran table = near_of({"--near", "tp2 dp16 ga2 zero1 sp", "--memory", "192GB"});
  CHECK(table.out.find("layouts near tp2 dp16 ga2 zero1 sp divide") != std::string::npos);
  CHECK(table.out.find("nothing") != std::string::npos);
  CHECK(table.out.find("tp1 no sp") != std::string::npos);
}

TEST_CASE(
    "sgdsim layout --near: what contradicts it is refused, and one that does not fit is said") {
  struct Row {
    std::vector<std::string> words;
    const char* sentence;
  };
  for (const Row& row :
       {Row{{"--near", "tp2 zero1 sp", "--layout", "tp2"}, "--near: has no effect with --layout"},
        Row{{"--near", "tp3 dp2"}, "--near: the 32 heads do not divide by tp3"},
        Row{{"--near", "tp2 dp2 sp", "--gpus", "8"}, "--near: tp x pp x cp x dp is 4, but --gpus"},
        Row{{"--near", "tp2 sp", "--gradients", "bf16"}, "no effect with --near"},
        Row{{"--near", "tp"}, "--near: unknown word"}}) {
    const Ran ran = near_of(row.words);
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(row.sentence) != std::string::npos);
  }
  const Ran full = near_of({"--near", "dp32 ga1", "--memory", "100GB"});
  CAPTURE(full.log);
  CHECK(full.exit_code == 0);
  CHECK(full.log.find("the layout of --near does not fit itself: it needs") != std::string::npos);
}

}  // namespace
}  // namespace sgdsim
