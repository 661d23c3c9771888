// GPUs on which FlashAttention does not run: layouts write the scores of attention there, unless
// they say otherwise.
#include <doctest/doctest.h>

#include "study/layout/layout_files.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

struct Told {
  Json json;
  std::string log;
  Json first() const { return json["layouts"][0]; }
  bool warns(const std::string& of) const { return log.find(of) != std::string::npos; }
};
Told asked(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"layout", "llama3.1_8b", "-c",   "aws_p3_2", "--gpus",
                                    "16",     "--sequence",  "4096", "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  const Ran ran = call_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  return {Json::parse(ran.out), ran.log};
}

bool has_scores(const Json& layout) {
  return layout["layout"].get<std::string>().find("attention=unfused") != std::string::npos;
}

const std::string none = "FlashAttention does not run on v100";
const std::string written = none + ": scores of attention are written to memory";
const std::string as_if = none + ", and attention=flash is priced as if it did";

TEST_CASE("sgdsim layout: a search on V100s writes scores, and says so") {
  const Told usual = asked({});
  const Told unfused = asked({"--with", "attention=unfused"});
  CHECK(usual.first() == unfused.first());
  CHECK(usual.json["fitting"] == unfused.json["fitting"]);
  CHECK(has_scores(usual.first()));
  CHECK(usual.warns(written));
  CHECK(!unfused.warns(none));
  const Told flash = asked({"--with", "attention=flash"});
  CHECK(flash.warns(as_if));
  CHECK(flash.json["fitting"].get<int64_t>() > usual.json["fitting"].get<int64_t>());
}

TEST_CASE("sgdsim layout: a layout on V100s that says nothing writes scores") {
  const std::string words = "tp8 pp2 ga16 zero1 sp recompute=full";
  const Told usual = asked({"--layout", words});
  const Told unfused = asked({"--layout", words + " attention=unfused"});
  const Told flash = asked({"--layout", words + " attention=flash"});
  CHECK(usual.first()["step_ps"] == unfused.first()["step_ps"]);
  CHECK(usual.first()["step_ps"] > flash.first()["step_ps"]);
  CHECK(usual.warns(written));
  CHECK(flash.warns(as_if));
  CHECK(!unfused.warns(none));
  // Of layouts near it all have it.
  const Told near = asked({"--near", words, "--lines", "3"});
  CHECK(near.warns(written));
  for (const Json& one : near.json["layouts"]) CHECK(has_scores(one));
  // What does not fit is not told to do what the GPU cannot.
  const Ran full = call_sgdsim(
      {"layout", "llama3.1_8b", "-c", "aws_p3_2", "--layout", "tp8 dp2 ga8 zero1 mbs4"});
  CHECK(full.exit_code == 2);
  CHECK(full.log.find("would save") != std::string::npos);
  CHECK(full.log.find("attention=flash") == std::string::npos);
}

TEST_CASE("usual attention: files say it, too, and other GPUs run FlashAttention") {
  const Transformer model = load_model("llama3.1_8b");
  const Temporary file(Temporary::Kind::file, R"({"schema": "sgdsim/layout/1", "tp": 8})");
  const Temporary said(Temporary::Kind::file,
                       R"({"schema": "sgdsim/layout/1", "tp": 8, "attention": "flash"})");
  CHECK(!load_layout(file.name(), "", {}, model).says_attention);
  CHECK(load_layout(said.name(), "", {}, model).says_attention);
  CHECK(load_layout("tp8 attention=flash", "", {}, model).says_attention);
  CHECK(!load_layout("tp8 sp", "", {}, model).says_attention);
  Layout layout;
  CHECK(settle_attention(load_gpu("h100"), model, false, layout).empty());
  CHECK(!layout.keeps_scores);
  CHECK(settle_attention(load_gpu("v100"), model, true, layout) == as_if);
  CHECK(!layout.keeps_scores);
  CHECK(settle_attention(load_gpu("v100"), model, false, layout) ==
        written + " (attention=unfused)");
  CHECK(layout.keeps_scores);
  CHECK(settle_attention(load_gpu("v100"), model, false, layout).empty());
}

}  // namespace
}  // namespace sgdsim
