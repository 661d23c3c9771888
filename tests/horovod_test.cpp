// Timelines of Horovod, also those that are not over. In the sample two tensors go in each of four
// steps of 10 ms; "grad/fc" waits 100, 110, 120 and 130 us and takes 400 us, "grad/conv" waits 50
// us and takes 200 us.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "sim/core/error.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "traces/steps/registry.h"

namespace sgdsim {
namespace {

const std::string sample_file =
    std::string(SGDSIM_SOURCE_DIR) + "/tests/data/horovod_timeline.json";

StepRun read(const std::string& text) { return horovod({text, "f", {}}); }

TEST_CASE("horovod: waits, transfers and steps, with and without the end of the array") {
  const std::string sample = read_text(sample_file);
  for (const std::string& text : {sample, sample.substr(0, sample.rfind(',')) + "\n]\n"}) {
    const StepRun run = read(text);
    REQUIRE(run.exchanges.size() == 2);
    CHECK(run.exchanges[0].name == "grad/conv");
    CHECK(run.exchanges[0].count == 4);
    CHECK(run.exchanges[0].wait == Duration::us(50));
    CHECK(run.exchanges[0].transfer == Duration::us(200));
    CHECK(run.exchanges[1].wait == Duration::us(115));
    CHECK(run.exchanges[1].transfer == Duration::us(400));
    CHECK(run.steps.size() == 3);
    CHECK(summary_of(run).median > Duration::us(9'999));
    CHECK(summary_of(run).median < Duration::us(10'021));
    CHECK(has_note(run, "2 ranks take part"));
    CHECK(has_note(run, "this timeline does not tell sizes"));
  }
}

std::string event(const std::string& kind, const std::string& name, const std::string& us) {
  return R"({"ph":")" + kind + R"(","name":")" + name + R"(","ts":)" + us + R"(,"pid":1},)" + "\n";
}

std::string exchange(int64_t from_us) {
  const auto at = [&](int64_t us) { return std::to_string(from_us + us); };
  return event("B", "NEGOTIATE_ALLREDUCE", at(0)) + event("E", "", at(5)) +
         event("B", "ALLREDUCE", at(5)) + event("B", "MPI_ALLREDUCE", at(6)) +
         event("E", "", at(9)) + event("E", "", at(10));
}

TEST_CASE("horovod: sizes are types times shapes") {
  struct Row {
    std::string arguments;
    std::optional<Bytes> size;
  };
  const std::vector<Row> rows = {
      {R"("dtype":"float32","shape":"[64, 3, 7, 7]")", Bytes(37632)},
      {R"("dtype":"float16","shape":"[10]")", Bytes(20)},
      {R"("dtype":"float64","shape":"[]")", Bytes(8)},
      {R"("dtype":"blob","shape":"[10]")", std::nullopt},
      {R"("dtype":"float32","shape":"[10, -1]")", std::nullopt},
      {R"("dtype":"float32","shape":"[4294967296, 4294967296]")", std::nullopt},
      {R"("dtype":"float32","shape":"10]")", std::nullopt},
      {R"("dtype":"float32")", std::nullopt},
  };
  for (const Row& row : rows) {
    INFO(row.arguments);
    std::string text = exchange(0);
    text = text.substr(0, text.rfind("},")) + R"(,"args":{)" + row.arguments + "}},\n";
    CHECK((read("[" + text).exchanges.at(0).size == row.size));
  }
}

std::string exchange_of(int tensor, int64_t from_us, int64_t takes_us) {
  const auto phase = [&](const std::string& kind, const std::string& name, int64_t us) {
    return R"({"ph":")" + kind + R"(","name":")" + name + R"(","ts":)" + std::to_string(us) +
           R"(,"pid":)" + std::to_string(tensor) + "},\n";
  };
  return phase("B", "NEGOTIATE_ALLREDUCE", from_us) + phase("E", "", from_us + 5) +
         phase("B", "ALLREDUCE", from_us + 5) + phase("E", "", from_us + 5 + takes_us);
}

// Five iterations of 100 ms. Each gradient goes once in each, metrics so many times, evenly.
TEST_CASE("horovod: a step is that of the tensors that go as often as most") {
  struct Row {
    const char* reason;
    int gradients;
    int metrics;
    int times;  // of a metric in an iteration; 0: once in all
    int64_t gradient_us;
  };
  for (const Row& row : std::vector<Row>{{"a metric three times an iteration", 3, 1, 3, 400},
                                         {"metrics once in all", 3, 2, 0, 400},
                                         {"as many metrics, which are short", 2, 2, 3, 400},
                                         {"as many, as long: the rarer", 2, 2, 3, 20},
                                         {"as many that go once", 2, 2, 0, 20}}) {
    INFO(row.reason);
    std::string text = "[\n";
    for (int64_t i = 0; i < 5; ++i) {
      const int64_t from_us = 100'000 * i;
      for (int tensor = 0; tensor < row.gradients; ++tensor)
        text += exchange_of(100 + tensor, from_us, row.gradient_us);
      const int times = row.times == 0 ? (i == 0 ? 1 : 0) : row.times;
      for (int tensor = 0; tensor < row.metrics; ++tensor)
        for (int time = 0; time < times; ++time)
          text += exchange_of(tensor, from_us + time * 100'000 / times, 20);
    }
    const StepRun run = read(text);
    CHECK(run.steps == std::vector<Duration>(4, Duration::ms(100)));
  }
}

TEST_CASE("horovod: what is broken is counted") {
  struct Row {
    std::string reason;
    std::string text;
    std::string note;
  };
  const std::string good = "[\n" + exchange(0) + exchange(100);
  const std::vector<Row> rows = {
      {"cut off", good + event("B", "ALLREDUCE", "200").substr(0, 20),
       "the last event was cut off"},
      {"an end too many", good + event("E", "", "200"), "1 event dropped: the end of a phase"},
      {"backwards", good + event("B", "QUEUE", "300") + event("E", "", "200"),
       "1 event dropped: no number, or times that run backwards"},
      {"no number", good + event("B", "QUEUE", "null"), "1 event dropped: no number"},
      {"not over", good + event("B", "NEGOTIATE_ALLREDUCE", "300"),
       "all-reduces that were not over at the end: 1"},
      {"a brace in a name", good + event("B", "}{\\\"", "300"), "a step is the time"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    const StepRun run = read(row.text);
    REQUIRE(run.steps.size() == 1);
    CHECK(run.steps[0] == Duration::us(100));
    CHECK(run.exchanges[0].name == "tensor 1");
    CHECK(run.exchanges[0].wait == Duration::us(5));
    CHECK(run.exchanges[0].transfer == Duration::us(3));
    CHECK(has_note(run, row.note));
  }
}

TEST_CASE("horovod: what tells nothing is refused") {
  CHECK_THROWS_WITH_AS(read("["), doctest::Contains("f: the timeline has no events yet"),
                       InputError);
  CHECK_THROWS_WITH_AS(read(""), doctest::Contains("f: the timeline has no events yet"),
                       InputError);
  CHECK_THROWS_WITH_AS(read("[" + event("B", "NEGOTIATE_ALLREDUCE", "1")),
                       doctest::Contains("no all-reduce was negotiated to its end"), InputError);
  CHECK_THROWS_WITH_AS(read("[{\"a\":" + std::string(100'000, '[') + "}"),
                       doctest::Contains("nested deeper than 64 levels"), InputError);
}

TEST_CASE("horovod: the JSON of the command fits its schema") {
  const Ran answer = call_sgdsim({"import", "horovod", sample_file, "--format", "json"});
  CHECK(answer.exit_code == 0);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/steps/1", Json::parse(answer.out)) ==
        std::vector<std::string>{});
  const Ran table = call_sgdsim({"import", "horovod", sample_file});
  CHECK(table.exit_code == 0);
  CHECK(table.out.find("grad/fc") != std::string::npos);
}

}  // namespace
}  // namespace sgdsim
