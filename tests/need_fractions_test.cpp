// Ranges with whole ends of fields that take what is between whole numbers, and of those that do
// not; targets with units.
#include <cmath>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "study/need/field_range.h"
#include "tests/json_of_run.h"
#include "tests/one_layer.h"
#include "tests/run_program.h"

namespace sgdsim::need_fractions {
namespace {

Json needed_at(const std::string& file, const std::string& axis, const std::string& target,
               const std::vector<std::string>& settings = {}) {
  std::vector<std::string> words = {"need",     file,   "--axis",   axis,
                                    "--target", target, "--format", "json"};
  for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
  return json_of_run(words);
}

bool has_fraction(const Json& need) {
  for (const Json& point : need["points"]) {
    const double value = FieldRange::at(point["value"]);
    if (value != std::floor(value)) return true;
  }
  return false;
}

}  // namespace

// 30 ms of computing, scaled, and 2 (n - 1) / n of 100 MB at 10 Gbit/s with 30 start-ups of 20 us.
TEST_CASE("need: between whole ends, by the formula of the ring") {
  const Temporary file(Temporary::Kind::file, one_layer().dump());
  const double ring_ms = 30 * 0.020 + 2 * 15. / 16 * 100e6 / 1.25e9 * 1e3;
  const Json scale = needed_at(file.name(), "trace.compute_scale=1..2", "step=200ms");
  CHECK(scale["met"] == "at_most");
  CHECK(scale["needed"]["value"].get<double>() ==
        doctest::Approx((200 - ring_ms) / 30).epsilon(1.1e-3));

  // 100 MB at a part of the rate.
  const double ms_of_bytes = 2 * 15. / 16 * 100e6 / 1.25e9 * 1e3;
  const Json part = needed_at(file.name(), "cluster.nic.efficiency=0..1", "step=300ms");
  CHECK(part["met"] == "at_least");
  CHECK(part["needed"]["value"].get<double>() ==
        doctest::Approx(ms_of_bytes / (300 - 30 - 30 * 0.020)).epsilon(1.1e-3));
}

TEST_CASE("need: whole ends of a field that takes fractions mean all that is between") {
  const Temporary file(Temporary::Kind::file, one_layer().dump());
  struct Asked {
    const char* field;
    const char* whole;
    const char* real;  // the same range, written with a point
    const char* target;
    std::vector<std::string> settings = {};
  };
  const std::vector<Asked> questions = {
      {"trace.compute_scale", "1..2", "1.0..2.0", "step=200ms"},
      {"interference", "1..2", "1.0..2.0", "step<=195ms", {"trace.layers.0.backward=200 ms"}},
      {"workers.slow.0.factor",
       "1..2",
       "1.0..2.0",
       "step=200ms",
       {R"(workers={"slow":[{"worker":3,"factor":1}]})"}},
      {"cluster.nic.efficiency", "0..1", "0.0..1.0", "step=300ms"},
      {"compression.density",
       "0..1",
       "0.0..1.0",
       "step=100ms",
       {R"(compression={"name":"topk","density":0.1})"}}};
  for (const Asked& one : questions) {
    CAPTURE(one.field);
    const std::string field = one.field;
    const Json whole = needed_at(file.name(), field + "=" + one.whole, one.target, one.settings);
    const Json real = needed_at(file.name(), field + "=" + one.real, one.target, one.settings);
    CHECK(has_fraction(whole));
    CHECK(whole["met"] == real["met"]);
    CHECK(whole["points"].size() == real["points"].size());
    CHECK(whole.value("needed", Json()) == real.value("needed", Json()));
  }
}

TEST_CASE("need: whole ends of a field that counts mean whole numbers") {
  const Temporary file(Temporary::Kind::file, one_layer().dump());
  for (const char* axis :
       {"cluster.nodes=2..64", "iterations=1..40", "trace.batch=1..64", "seed=1..9"}) {
    CAPTURE(axis);
    CHECK_FALSE(has_fraction(needed_at(file.name(), axis, "step=150ms")));
  }
  const Json gpus =
      json_of_run({"need", "--model", "llama3.1_8b", "-c", "dgx_h100_4", "--layout", "tp8 zero1 sp",
                   "--axis", "gpus=8..32", "--target", "mfu=0.1", "--format", "json"});
  CHECK_FALSE(has_fraction(gpus));
}

// Sends of a density of 0 are none, and refused.
TEST_CASE("need: a range from 0 on is looked at near 0, too") {
  const Temporary file(Temporary::Kind::file, one_layer().dump());
  const std::vector<std::string> sparse = {R"(compression={"name":"topk","density":0.1})"};
  const double target_ms = 40;
  const Json all = needed_at(file.name(), "compression.density=0..1",
                             "step=" + std::to_string(target_ms) + "ms", sparse);
  const Json narrow = needed_at(file.name(), "compression.density=0.0001..0.1",
                                "step=" + std::to_string(target_ms) + "ms", sparse);
  CHECK(all["met"] == "at_most");
  CHECK(all["needed"]["value"].get<double>() ==
        doctest::Approx(narrow["needed"]["value"].get<double>()).epsilon(2.2e-3));
  CHECK(all["points"].size() < 60);
}

TEST_CASE("need: memory has a unit, in targets and in answers") {
  const auto asked = [](const std::string& target, bool as_json) {
    std::vector<std::string> words = {"need",       "--model",  "llama3.1_8b",  "-c",
                                      "dgx_h100_4", "--layout", "tp8 zero1 sp", "--axis",
                                      "gpus=8..32", "--target", target};
    if (as_json) words.insert(words.end(), {"--format", "json"});
    return call_sgdsim(words);
  };
  const Json bare = Json::parse(asked("memory=18", true).out);
  CHECK(Json::parse(asked("memory=18GiB", true).out) == bare);
  CHECK(Json::parse(asked("memory<=18 GiB", true).out) == bare);
  CHECK(bare["target"] == 18);
  const Json decimal = Json::parse(asked("memory=18GB", true).out);
  CHECK(decimal["target"].get<double>() == doctest::Approx(18e9 / 0x1p30));
  const std::string text = asked("memory=18GiB", false).out;
  CHECK(text.find("for memory of at most 18.00 GiB\n") != std::string::npos);
  CHECK(text.find(" GiB; ") != std::string::npos);  // "which gives 16.263 GiB; 21.874 GiB at 8"
  for (const char* wrong : {"memory=0GiB", "memory=60ms", "memory=40%"}) {
    CAPTURE(wrong);
    CHECK(asked(wrong, false).exit_code == 2);
  }
}

}  // namespace sgdsim::need_fractions
