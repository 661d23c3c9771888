// Fields of questions that are files, names and flags, and answers that are columns.
#include <doctest/doctest.h>
#include <set>
#include <tuple>

#include "app/schema_check.h"
#include "study/answer.h"
#include "study/typed_columns.h"
#include "study/watch.h"
#include "tests/run_program.h"

using namespace sgdsim;

namespace {

const std::string source = SGDSIM_SOURCE_DIR "/";
const std::string googlenet = source + "app/experiments/googlenet_k80.json";

std::string error_of(const std::string& command, const Json& fields) {
  const AnswerText answer = ask(command, fields.dump());
  CHECK(answer.code == exit_bad_input);
  return answer.error;
}

}  // namespace

TEST_CASE("questions: a profile as a case has the cluster that it was given") {
  const Json content = {{"schema", "sgdsim/cluster/1"},
                        {"shape", "single_switch"},
                        {"nodes", 2},
                        {"nic", {{"latency", "0 us"}, {"bandwidth", "1 GBps"}}}};
  const Temporary file(Temporary::Kind::file, content.dump());
  const auto with = [](const Json& cluster) {
    const Json fields = {
        {"files", source + "tests/data/kineto.json"}, {"as_case", true}, {"cluster", cluster}};
    return ask("import_profile", fields.dump());
  };
  CHECK(with("10gbe_16").error.find("10gbe_16 has 16 workers") != std::string::npos);  // a name
  for (const Json& cluster : {content, Json(file.name())}) {
    const AnswerText answer = with(cluster);
    REQUIRE(answer.error == "");
    CHECK(Json::parse(answer.json)["experiment"]["cluster"] == cluster);
    // It is read, whatever it is off on a network that was not the recorded one.
    const std::string why =
        ask("validate", Json({{"case", Json::parse(answer.json)}}).dump()).error;
    CHECK((why.empty() || why == "predictions are beyond tolerance"));
  }
}

// Engines that play many messages in a row: in rounds, in blocks, and where each takes what it
// takes alone. A watch is called every 10 ms at most, so that a fourth look is amid 30 ms of play.
TEST_CASE("questions: long plays of all engines are looked at while they go") {
  const Json cluster = {{"schema", "sgdsim/cluster/1"},
                        {"shape", "single_switch"},
                        {"nodes", 16'384},
                        {"nic", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}}};
  const std::pair<const char*, Json> rows[] = {
      {"rounds", {{"algorithm", "ring"}, {"jitter", 0.1}}},
      {"rounds of equal sizes", {{"algorithm", "ring"}, {"path", "rounds"}}},
      {"rounds of pairs", {{"algorithm", "direct"}, {"op", "alltoall"}, {"path", "rounds"}}},
      {"blocks along chains", {{"algorithm", "lp"}, {"block", "64 B"}, {"jitter", 0.1}}},
      {"blocks along trees", {{"algorithm", "double_binary_tree"}, {"block", "64 B"}}},
      {"quiet wires", {{"algorithm", "ring"}, {"fidelity", "flow"}, {"bytes", "1000003 B"}}}};
  for (const auto& [why, fields] : rows) {
    const std::string what = why;
    CAPTURE(what);
    Json asked = {{"bytes", "1 MiB"}, {"cluster", cluster}};
    asked.update(fields);
    int looks = 0;
    const AnswerText answer = ask("collective", asked.dump(), [&] {
      if (++looks > 3) throw Interrupted();
    });
    CHECK(answer.code == exit_interrupted);
    CHECK(looks == 4);
  }
}

TEST_CASE("questions: a sweep with columns says how many points there are") {
  const Json asked = {
      {"sweep", googlenet}, {"axis", "cluster.nodes=2,3,4"}, {"as_columns", true}, {"threads", 1}};
  const AnswerText answer = ask("sweep", asked.dump());
  REQUIRE(answer.error == "");
  const Json json = Json::parse(answer.json);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/columns/1", json).empty());
  CHECK(json["points"] == 3);
  CHECK(answer.columns->rows() == 3);
}

TEST_CASE("questions: the name may stand in the question, too") {
  const Json fields = {{"bytes", "1 MiB"}, {"cluster", "10gbe_16"}};
  const auto named = [&](const char* name) {
    Json more = fields;
    more["ask"] = name;
    return more.dump();
  };
  CHECK(ask("collective", named("collective")).json == ask("collective", fields.dump()).json);
  CHECK(error_of("collective", Json::parse(named("run"))) ==
        "question: /ask: expected \"collective\", which is asked, got \"run\"");
}

TEST_CASE("questions: fields of a timeline are its own, and of its JSON") {
  const auto asked = [](const char* name, const char* field, const Json& value) {
    return ask(name, Json({{"experiment", googlenet}, {field, value}}).dump()).error;
  };
  CHECK(asked("run", "timeline_workers", "0-3") ==
        "--timeline-workers: selects what a timeline records: ask `timeline`");
  CHECK(asked("timeline", "timeline_workers", "0-3") == "");
  CHECK(asked("timeline", "breaks", true) == "--breaks: is no part of a timeline: ask `run`");
  CHECK(!question_schema("run")["properties"].contains("timeline_workers"));
  CHECK(!question_schema("timeline")["properties"].contains("breaks"));
}

TEST_CASE("questions: where a file is read as it is, no object stands for it") {
  const Json object = {{"a", 1}};
  const std::tuple<const char*, const char*, bool> fields[] = {
      {"diagnose", "record", false},
      {"compare", "record", false},
      {"diagnose", "names", false},
      {"import_profile", "files", true},
      {"import_profile", "parameters", false},
      {"import_profile", "execution_trace", true},
      {"replay", "schedule", true}};
  const std::set<std::string> of_others = {"names", "parameters", "execution_trace"};
  for (const auto& [name, field, are_many] : fields) {
    const std::string what = std::string(name) + " " + field;
    CAPTURE(what);
    const Json type = question_schema(name)["properties"][field]["type"];
    CHECK(type == (are_many ? Json::array({"string", "array"}) : Json("string")));
    for (const Json& value : {object, Json::array({object})}) {
      Json asked = {{field, value}};
      if (of_others.contains(field))
        asked[std::string(name) == "diagnose" ? "record" : "files"] = "x";
      CHECK(error_of(name, asked).find("give a file, not what is in it") != std::string::npos);
    }
  }
}

TEST_CASE("questions: experiments beside records, and measurements inside nodes, may be objects") {
  const std::string record = source + "tests/data/slow_host.json.gz";
  const Json experiment = {
      {"schema", "sgdsim/experiment/1"}, {"trace", "resnet50_v100"}, {"cluster", "25gbe_16"}};
  const Json compared = {{"record", record}, {"experiment", experiment}};
  // It is read: another number of stages is what cannot be compared.
  CHECK(error_of("compare", compared).starts_with("inline: has 1 stage, and "));
  const std::string measured = source + "tests/data/measurement.json";
  const auto fitted = [&](const Json& inside) {
    const AnswerText answer = ask("fit", Json({{"file", measured},
                                               {"from_collective", "stated"},
                                               {"inside", inside},
                                               {"into", "dgx_a100_2"},
                                               {"link", "nic"}})
                                             .dump());
    CHECK(answer.error.find("cannot be read") == std::string::npos);
    return answer.json + answer.error;
  };
  CHECK(fitted(Document::read(measured).root().json()) == fitted(measured));
}
