// `sgdsim report` of what `sgdsim layout`, `replay` and `goodput` draw and list.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>

#include "study/trace_events.h"
#include "tests/report_pages.h"
#include "tests/run_program.h"

namespace sgdsim {

TEST_CASE("report: timelines of layouts and of schedules") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string dgx = "topologies/data/dgx_h100_4.json";
  const std::vector<std::pair<std::vector<std::string>, std::string>> asked = {
      {{"layout", "llama3.1_8b", "--layout", "tp8 pp2 ga4 sp", "-c", dgx, "--fidelity", "message"},
       "rank 1, replica 0"},
      {{"layout", "llama3.1_8b", "--layout", "tp8 pp2 ga4 sp", "-c", dgx, "--fidelity", "flow"},
       "GPU 1, stage 0"},
      {{"replay", "app/schedules/ring_4.goal", "--L", "1 us", "--G", "1 ns/B"}, "rank 1"}};
  for (const auto& [words, process] : asked) {
    const auto& words_said = words;
    INFO(words_said.front());
    const std::string timeline = folder.name() + "/timeline.json";
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--timeline", timeline});
    const Ran ran = run_sgdsim(all);
    INFO(ran.log);
    REQUIRE(ran.exit_code == 0);
    const Json data = data_in(page_of({timeline}));
    const Json& shown = data["timelines"][0];
    const Json written = Json::parse(read_text(timeline));
    const Json start = unpacked_data(shown["start_ps"]), length = unpacked_data(shown["length_ps"]);
    std::size_t at = 0;
    for (const Json& event : written["traceEvents"]) {
      if (event["ph"] != "X") continue;
      CHECK(start[at].get<int64_t>() == std::llround(event["ts"].get<double>() * 1e6));
      CHECK(length[at].get<int64_t>() == std::llround(event["dur"].get<double>() * 1e6));
      ++at;
    }
    CHECK(at == shown["count"]);
    bool found = false;
    for (const Json& track : shown["tracks"]) found = found || track["process"] == process;
    CHECK(found);
  }
}

// As the program writes times, 5,000 and 40,000 seconds; later than 2^63 ps is no time.
TEST_CASE("report: timelines of hours") {
  const auto timeline = [](const char* start) {
    return timeline_beginning +
           std::string(R"("version": "0.1.0", "config": "sha256:0", "command": "run"},
        "traceEvents": [{"ph": "X", "pid": 0, "tid": 0, "name": "a", "cat": "forward", "ts": )") +
           start + R"(, "dur": 2.000001}]})";
  };
  for (const auto& [start, ps] : {std::pair("5000000000.123456", int64_t{5'000'000'000'123'456}),
                                  std::pair("40000000000.500000", int64_t{40'000'000'000'500'000}),
                                  std::pair("0.000001", int64_t{1})}) {
    const Temporary file(Temporary::Kind::file, timeline(start));
    const Json data = data_in(page_of({file.name()}));
    const Json& shown = data["timelines"][0];
    CHECK(unpacked_data(shown["start_ps"])[0] == ps);
    CHECK(unpacked_data(shown["length_ps"])[0] == 2'000'001);
  }
  const Temporary late(Temporary::Kind::file, timeline("1e13"));
  const Ran ran = run_sgdsim({"report", late.name()});
  CHECK(ran.exit_code == 2);
  CHECK(ran.log.find("--timeline-iterations FIRST-LAST") != std::string::npos);
}

TEST_CASE("report: the page is told of which figures more is better") {
  const Ran ran = run_sgdsim({"layout", "llama3.1_8b", "-c", "topologies/data/dgx_h100_4.json",
                              "--axis", "gpus=8,16", "--format", "json"});
  const Temporary lines(Temporary::Kind::file, ran.out);
  const Json gains = data_in(page_of({lines.name()}))["tables"][0]["comparing"]["gains"];
  const std::vector<std::string> said(gains.begin(), gains.end());
  const auto is_said = [&](const char* one) {
    return std::find(said.begin(), said.end(), one) != said.end();
  };
  for (const char* gain : {"mfu", "tokens_per_s_per_gpu", "tflops_per_gpu"}) CHECK(is_said(gain));
  for (const char* cost : {"step_us", "memory_GiB", "parts.data_us"}) CHECK(!is_said(cost));
}

TEST_CASE("report: layouts along axes, a row for each point") {
  const std::vector<std::string> words = {
      "layout",   "llama3.1_8b", "-c",     "topologies/data/dgx_h100_4.json",
      "--axis",   "gpus=4,8,16", "--axis", "sequence=2048,8192",
      "--format", "json"};
  const Ran ran = run_sgdsim(words);
  const Temporary lines(Temporary::Kind::file, ran.out);
  const Json data = data_in(page_of({lines.name()}));
  REQUIRE(data["tables"].size() == 1);
  const Json& table = data["tables"][0];
  CHECK(table["kind"] == "layouts");
  CHECK(table["rows"] == 6);
  std::vector<Json> written;
  std::size_t from = 0;
  for (std::size_t end = ran.out.find('\n'); end != std::string::npos;
       end = ran.out.find('\n', from)) {
    written.push_back(Json::parse(ran.out.substr(from, end - from)));
    from = end + 1;
  }
  const auto column = [&](const std::string& key) {
    for (const Json& one : table["columns"])
      if (one["key"] == key) return column_values(table, one);
    return std::vector<Json>(6);
  };
  const auto gpus = column("gpus"), step = column("step_us"), layout = column("layout");
  for (std::size_t row = 0; row < 6; ++row) {
    CHECK(gpus[row] == written[row]["axes"]["gpus"]);
    if (!written[row].contains("answer")) continue;
    CHECK(step[row] == written[row]["answer"]["layouts"][0]["step_us"]);
    CHECK(layout[row] == written[row]["answer"]["layouts"][0]["layout"]);
  }
  // An answer within a line is held to its schema, too.
  Json broken = written.back();
  broken["answer"]["layouts"] = 7;
  const Temporary file(Temporary::Kind::file, broken.dump() + "\n");
  const Ran refused = run_sgdsim({"report", file.name()});
  CHECK(refused.exit_code == 2);
  CHECK(refused.log.find("does not fit `sgdsim schema`") != std::string::npos);
}

TEST_CASE("report: a training, and trainings along axes") {
  const std::vector<std::string> words = {
      "goodput", "app/goodput_questions/llama3_405b.json", "--runs", "20", "--format", "json"};
  const Ran ran = run_sgdsim(words);
  const Temporary file(Temporary::Kind::file, ran.out);
  const Json shown = data_in(page_of({file.name()}));
  REQUIRE(shown["documents"].size() == 1);
  CHECK(shown["documents"][0]["schema"] == "sgdsim/goodput/1");
  CHECK(unpacked_data(shown["documents"][0]["value"]) == Json::parse(ran.out));

  std::vector<std::string> along = words;
  along.insert(along.end(), {"--axis", "nodes=512,2048", "--axis", "rate_factor=1,1e6"});
  const Ran points = run_sgdsim(along);
  const Temporary lines(Temporary::Kind::file, points.out);
  const Json data = data_in(page_of({lines.name()}));
  REQUIRE(data["tables"].size() == 1);
  const Json& table = data["tables"][0];
  CHECK(table["kind"] == "goodputs");
  CHECK(table["rows"] == 4);
  CHECK(table["failed"] == 2);  // a million times as many failures
  const Json first = Json::parse(points.out.substr(0, points.out.find('\n')));
  bool found = false;
  for (const Json& column : table["columns"])
    if (column["key"] == "wall.mean_days") {
      found = true;
      CHECK(column_values(table, column)[0] == first["answer"]["wall"]["mean_days"]);
    }
  CHECK(found);
  Json broken = first;
  broken["answer"]["wall"] = 7;
  const Temporary wrong(Temporary::Kind::file, broken.dump() + "\n");
  CHECK(run_sgdsim({"report", wrong.name()}).exit_code == 2);
}

}  // namespace sgdsim
