// Questions as JSON: the same bytes as the command line, the same sentences, and schemas that say
// which fields there are.
#include <doctest/doctest.h>
#include <set>
#include <thread>

#include "app/schema_check.h"
#include "sim/core/error.h"
#include "study/answer.h"
#include "study/question_fields.h"
#include "tests/run_program.h"

using namespace sgdsim;

namespace {

struct Asked {
  const char* command;
  Json fields;
  std::vector<std::string> words;  // the same on a command line
};

const std::string root = SGDSIM_SOURCE_DIR "/";
const std::string k80 = root + "app/experiments/googlenet_k80.json";

// One of every question. Small, so that all of them take seconds.
std::vector<Asked> one_of_each() {
  return {
      {"run", {{"experiment", k80}}, {k80}},
      {"run",
       {{"experiment", "resnet50_v100"},
        {"cluster", "25gbe_16"},
        {"fidelity", "flow"},
        {"set", {{"cluster.nodes", 4}, {"strategy", "wfbp"}, {"iterations", 2}}}},
       {"resnet50_v100", "-c", "25gbe_16", "--fidelity", "flow", "--set", "cluster.nodes=4",
        "--set", "strategy=wfbp", "--set", "iterations=2"}},
      {"plan",
       {{"experiment", k80}, {"set", {"cluster.nodes=4"}}, {"around", "5%"}},
       {k80, "--set", "cluster.nodes=4", "--around", "5%"}},
      {"advise", {{"file", k80}}, {k80}},
      {"learn",
       {{"experiment", k80},
        {"set", {{"cluster.nodes", 2}}},
        {"iterations", 20},
        {"seeds", 1},
        {"target", "loss=0.1"}},
       {k80, "--set", "cluster.nodes=2", "--iterations", "20", "--seeds", "1", "--target",
        "loss=0.1"}},
      {"learn",
       {{"experiment", k80},
        {"set", {{"cluster.nodes", 2}}},
        {"task", "logistic"},
        {"iterations", 20},
        {"seeds", 1},
        {"batches", {8, 16, 32}}},
       {k80, "--set", "cluster.nodes=2", "--task", "logistic", "--iterations", "20", "--seeds", "1",
        "--batches", "8,16,32"}},
      {"sweep",
       {{"sweep", k80},
        {"axis", Json::array({"cluster.nodes=2,4", "strategy=wfbp,naive"})},
        {"minimize", "metrics.iteration_us"},
        {"threads", 1}},
       {k80, "--axis", "cluster.nodes=2,4", "--axis", "strategy=wfbp,naive", "--minimize",
        "metrics.iteration_us", "--format", "json", "-j", "1"}},
      {"tune",
       {{"file", k80}, {"axis", "strategy=wfbp,naive"}, {"threads", 1}},
       {k80, "--axis", "strategy=wfbp,naive", "-j", "1"}},
      {"need",
       {{"experiment", k80},
        {"axis", "cluster.nodes=2..8"},
        {"target", "efficiency=0.9"},
        {"knee", 10}},
       {k80, "--axis", "cluster.nodes=2..8", "--target", "efficiency=0.9", "--knee", "10"}},
      {"collective",
       {{"algorithm", "ring"}, {"ranks", 16}, {"bytes", "64 MiB"}, {"cluster", "10gbe_16"}},
       {"-a", "ring", "-p", "16", "-n", "64 MiB", "-c", "10gbe_16"}},
      {"collective",
       {{"algorithm", "ring,mst"},
        {"ranks", "2,4"},
        {"bytes", Json::array({"1 KiB", "1 MiB"})},
        {"alpha", "10 us"},
        {"beta", "1 ns/B"},
        {"sweep", true}},
       {"--sweep", "-a", "ring,mst", "-p", "2,4", "-n", "1 KiB", "-n", "1 MiB", "--alpha", "10 us",
        "--beta", "1 ns/B"}},
      {"replay",
       {{"schedule", root + "app/schedules/ring_4.goal"}, {"cluster", "10gbe_16"}},
       {root + "app/schedules/ring_4.goal", "-c", "10gbe_16"}},
      {"traffic",
       {{"traffic", root + "app/flows/incast_4.csv"}, {"cluster", "10gbe_16"}, {"flows", false}},
       {root + "app/flows/incast_4.csv", "-c", "10gbe_16", "--no-flows"}},
      {"traffic",
       {{"traffic", root + "app/flows/incast_4.csv"}, {"cluster", "10gbe_16"}},
       {root + "app/flows/incast_4.csv", "-c", "10gbe_16"}},
      {"jobs",
       {{"jobs", root + "app/job_files/two_jobs.json"}},
       {root + "app/job_files/two_jobs.json"}},
      {"layout",
       {{"model", "llama3.1_8b"}, {"cluster", "dgx_h100_4"}, {"gpus", 16}, {"tokens", "1T"}},
       {"llama3.1_8b", "-c", "dgx_h100_4", "--gpus", "16", "--tokens", "1T"}},
      {"model_show",
       {{"model", "llama3.1_8b"}, {"layout", "tp2 pp2 dp2"}, {"sequence", 4096}},
       {"llama3.1_8b", "--layout", "tp2 pp2 dp2", "--sequence", "4096"}},
      {"model_laws",
       {{"parameters", "10B"}, {"tokens", "200B"}, {"penalty", {0.006, 0.04}}},
       {"--parameters", "10B", "--tokens", "200B", "--penalty", "0.006,0.04"}},
      {"goodput",
       {{"step", "8 s"},
        {"steps", 1000},
        {"nodes", 16},
        {"failures", "rsc1_a100"},
        {"runs", 100},
        {"threads", 1},
        {"set", {{"save.stall", "10s"}}}},
       {"--step", "8 s", "--steps", "1000", "--nodes", "16", "--failures", "rsc1_a100", "--runs",
        "100", "-j", "1", "--set", "save.stall=10s"}},
      {"import_profile",
       {{"files", root + "tests/data/kineto.json"}, {"model", "ResNet-50"}, {"batch", 32}},
       {"kineto", root + "tests/data/kineto.json", "--model", "ResNet-50", "--batch", "32"}},
      {"diagnose",
       {{"record", root + "tests/data/slow_host.json.gz"}, {"layers", 32}},
       {root + "tests/data/slow_host.json.gz", "--layers", "32"}},
      {"compare",
       {{"record", root + "tests/data/slow_host.json.gz"},
        {"experiment", root + "tests/data/usual_host.json.gz"}},
       {root + "tests/data/slow_host.json.gz", root + "tests/data/usual_host.json.gz"}},
      {"validate",
       {{"case", root + "models/collective/data/tcp_star_100mbps_2.json"}, {"rows", true}},
       {root + "models/collective/data/tcp_star_100mbps_2.json", "--rows"}},
  };
}

// Fields of the answer that only the library has.
std::string printed(const std::string& command, std::vector<std::string> words) {
  const bool imports = command == "import_profile";
  const bool of_model = command.starts_with("model_");
  if (of_model) words.insert(words.begin(), command.substr(command.find('_') + 1));
  words.insert(words.begin(), imports ? "import" : of_model ? "model" : command);
  if (command != "sweep" && !imports) words.insert(words.end(), {"--format", "json"});
  return call_sgdsim(words).out;
}

std::string error_of(const char* command, const char* fields, int code = 2) {
  const AnswerText answer = ask(command, fields);
  CHECK(answer.code == code);
  CHECK(answer.json.empty());
  return answer.error;
}

}  // namespace

TEST_CASE("questions: one of each is answered with the bytes of the command line") {
  std::set<std::string> asked;
  for (const Asked& one : one_of_each()) {
    CAPTURE(one.command);
    CAPTURE(one.fields.dump());
    const AnswerText answer = ask(one.command, one.fields.dump());
    CHECK(answer.error == "");
    CHECK(answer.json == printed(one.command, one.words));
    CHECK(Json::parse(answer.warnings).is_array());
    Json question = one.fields;
    question["ask"] = one.command;
    const Json schema = question_schema(one.command);
    for (const auto& [name, value] : question.items()) CHECK(schema["properties"].contains(name));
    asked.insert(one.command);
  }
  // The timeline is a file of `run`, and fit adds the file that it would write.
  asked.insert({"timeline", "fit"});
  const std::vector<std::string> names = question_names();
  CHECK(asked == std::set<std::string>(names.begin(), names.end()));
}

TEST_CASE("questions: a fit has the file that --out would hold") {
  const Json fields = {{"file", root + "tests/data/nccl_tests.log"}, {"from_collective", "ring"}};
  const Json answer = Json::parse(ask("fit", fields.dump()).json);
  const Temporary out(Temporary::Kind::file);
  const Ran ran = run_sgdsim({"fit", root + "tests/data/nccl_tests.log", "--from-collective",
                              "ring", "--out", out.name(), "--force"});
  REQUIRE(ran.exit_code == 0);
  CHECK(answer["file"] == Document::read(out.name()).root().json());
}

TEST_CASE("questions: files may be their content") {
  const std::string file = root + "tests/data/measurement.json";
  const Json content = Document::read(file).root().json();
  const auto fit_of = [](const Json& measured) {
    const AnswerText answer =
        ask("fit", Json({{"file", measured}, {"operation", "broadcast"}, {"ranks", 4}}).dump());
    CHECK(answer.error == "");
    return Json::parse(answer.json, nullptr, false)["fits"];
  };
  CHECK(fit_of(content) == fit_of(file));
  CHECK(fit_of(Json::array({content})) == fit_of(file));
  CHECK(error_of("fit", R"({"file": {"schema": "sgdsim/measurement/2"}})").find("inline") !=
        std::string::npos);
}

TEST_CASE("questions: a profile as a case is what --case writes") {
  const std::string profile = root + "tests/data/kineto.json";
  const Temporary two(Temporary::Kind::file, R"({"shape": "single_switch", "nodes": 2,
                                                 "nic": {"latency": "1 us", "bandwidth": "10 Gbps"}})");
  const std::string& cluster = two.name();
  for (const bool on_cluster : {false, true}) {
    const Temporary trace(Temporary::Kind::file);
    std::vector<std::string> words = {"import",     "kineto",  profile,  "--out",
                                      trace.name(), "--force", "--case", "-"};
    Json fields = {{"files", Json::array({profile})}, {"as_case", true}};
    if (on_cluster) {
      words.insert(words.end(), {"--cluster", cluster});
      fields["cluster"] = cluster;
    }
    const AnswerText answer = ask("import_profile", fields.dump());
    CHECK(answer.error == "");
    CHECK(answer.json == call_sgdsim(words).out);
    CHECK(answer.warnings.find("sgdsim: note") == std::string::npos);
  }
}

TEST_CASE("questions: a profile that cannot be imported is one sentence") {
  const std::string profile = root + "tests/data/kineto.json";
  const std::tuple<const char*, Json, const char*> rows[] = {
      {"no file", {{"files", "nowhere.json"}}, "nowhere.json"},
      {"no files at all", Json::object(), "files"},
      {"a folder without profiles", {{"files", root + "tests/bad"}}, "holds no profile"},
      {"something else", {{"files", root + "app/experiments/googlenet_k80.json"}}, "googlenet_k80"},
      {"an empty text", {{"files", ""}}, "empty"},
      {"an unknown field", {{"files", profile}, {"modle", "x"}}, "modle"},
      {"no samples", {{"files", profile}, {"batch", 0}}, "batch"},
      {"no such trace", {{"files", profile}, {"like", "resnet5"}}, "resnet50"},
      {"two places for sizes",
       {{"files", profile}, {"like", "resnet50_v100"}, {"parameters", "x.csv"}},
       "give one of them"},
      {"a cluster without a case", {{"files", profile}, {"cluster", "x.json"}}, "as_case"},
      {"a cluster that is none",
       {{"files", profile}, {"cluster", profile}, {"as_case", true}},
       "kineto.json"},
      {"no pattern", {{"files", profile}, {"communication", "("}}, "--communication"},
      {"fewer traces than profiles",
       {{"files", Json::array({profile, profile})}, {"execution_trace", profile}},
       "expected one for each of the 2 profiles"},
  };
  for (const auto& [why, fields, words] : rows) {
    const std::string name = why;
    CAPTURE(name);
    const AnswerText answer = ask("import_profile", fields.dump());
    CHECK(answer.code == exit_bad_input);
    CHECK(answer.json == "");
    CHECK(answer.error.find(words) != std::string::npos);
  }
}

TEST_CASE("questions: what is wrong is a sentence with the code of the command line") {
  CHECK(error_of("rnu", "{}") ==
        "question: /ask: unknown question \"rnu\" (did you mean \"run\"?); known: run, timeline, "
        "plan, advise, learn, sweep, tune, need, collective, replay, traffic, jobs, layout, "
        "model_show, "
        "model_laws, goodput, fit, import_profile, diagnose, compare, validate");
  for (const char* fields : {"", "[]", "{", "3", "{\"experiment\": null}", "{}",
                             R"({"experiment": "x", "experiment": "y"})", R"({"experiment": ""})",
                             R"({"experiment": "a\u0000b"})"})
    CHECK(error_of("run", fields) != "");
  CHECK(error_of("run", R"({"experiment": "nowhere.json"})") ==
        call_sgdsim({"run", "nowhere.json"})
            .log.substr(std::string("sgdsim: ").size(),
                        error_of("run", R"({"experiment": "nowhere.json"})").size()));
  CHECK(error_of("layout", R"({"model": "llama3.1_8b", "cluster": "dgx_h100_4", "gpus": -1})") ==
        "question: /gpus: expected a whole number from 1 to 1048576, got the number -1");
  CHECK(error_of("traffic", R"({"traffic": "x", "cluster": "y", "fidelity": "flwo"})") ==
        "question: /fidelity: unknown fidelity \"flwo\" (did you mean \"flow\"?); known: "
        "message, flow, packet");
  CHECK(error_of("collective", R"({"bytes": "1 MiB", "clutser": "10gbe_16"})")
            .find("unknown field \"clutser\"") != std::string::npos);
  // A verdict has an answer, too: this case is beyond its tolerance where nothing is tolerated.
  CHECK(error_of(
            "collective",
            R"({"bytes": "1 GiB", "cluster": "10gbe_16", "fidelity": "packet", "max_events": 9})",
            4)
            .find("--max-events") != std::string::npos);
}

// As in JSON Schema 10.0 is a whole number; and a text is none, where a setting is given with its
// value.
TEST_CASE("questions: values of settings are what they are in JSON") {
  const auto run = [](const std::string& set) {
    return ask("run", R"({"experiment": ")" + k80 + R"(", "set": )" + set + "}");
  };
  const auto ends = [&](const char* set) { return Json::parse(run(set).json)["total_ps"]; };
  for (const char* ten : {R"({"iterations": 10.0})", R"({"iterations": 1e1})"})
    CHECK(ends(ten) == ends(R"({"iterations": 10})"));
  CHECK(run(R"({"iterations": 10.5})").error.find("expected a whole number") != std::string::npos);
  CHECK(run(R"({"iterations": 1e300})").code == exit_bad_input);
  CHECK(Json::parse(run(R"({"name": "5"})").json)["name"] == "5");
  CHECK(run(R"({"name": 5})").code == exit_bad_input);
  CHECK(run(R"({"iterations": "10"})").code == exit_bad_input);
  CHECK(run(R"(["iterations=10"])").json == run(R"({"iterations": 10})").json);  // words
}

TEST_CASE("questions: an empty list of files is refused, by the schema too") {
  const std::vector<std::pair<std::string, std::string>> lists = {
      {"replay", "schedule"}, {"fit", "file"}, {"import_profile", "files"}, {"validate", "case"}};
  for (const auto& [name, field] : lists) {
    const std::string fields = R"({")" + field + R"(": []})";
    CHECK(error_of(name.c_str(), fields.c_str()) ==
          "question: /" + field + ": expected at least one value, got an empty list");
    CHECK(question_schema(name)["properties"][field]["minItems"] == 1);
  }
}

TEST_CASE("questions: a watch ends what takes long") {
  int looked = 0;
  const auto stop = [&] {
    if (++looked > 3) throw Interrupted();
  };
  const AnswerText answer = ask(
      "collective",
      R"({"bytes": "64 MiB", "cluster": "10gbe_16", "fidelity": "packet", "algorithm": "ring"})",
      stop);
  CHECK(answer.code == exit_interrupted);
  CHECK(answer.error == "interrupted");
  CHECK(looked == 4);
  const AnswerText sweep =
      ask("sweep", R"({"sweep": ")" + k80 + R"(", "axis": "cluster.nodes=2..4096:1"})",
          [] { throw Interrupted(); });
  CHECK(sweep.code == exit_interrupted);
  const AnswerText import =
      ask("import_profile", R"({"files": ")" + root + R"(tests/data/kineto.json"})",
          [] { throw Interrupted(); });
  CHECK(import.code == exit_interrupted);
}

TEST_CASE("questions: threads have the answers of one") {
  const std::string fields =
      R"({"experiment": ")" + k80 + R"(", "set": {"iterations": 5, "seed": )";
  std::vector<std::string> alone;
  for (int i = 0; i < 8; ++i) alone.push_back(ask("run", fields + std::to_string(i) + "}}").json);
  std::vector<std::string> together(64);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < together.size(); ++i)
    threads.emplace_back(
        [&, i] { together[i] = ask("run", fields + std::to_string(i % 8) + "}}").json; });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < together.size(); ++i) CHECK(together[i] == alone[i % 8]);
}

TEST_CASE("questions: schemas are well formed, and in the list") {
  for (const std::string& name : question_names()) {
    const Json schema = question_schema(name);
    for (const auto& one : schema["properties"].items()) {
      INFO(name << " " << one.key());
      CHECK((one.key() == "ask" || one.value().contains("description")));
    }
    CHECK(Json::parse(call_sgdsim({"schema", "ask-" + name}).out) == schema);
  }
}

TEST_CASE("fields: words are texts, numbers, objects and lists") {
  std::string text;
  std::vector<std::string> list;
  bool flag = true;
  int64_t whole = 0;
  std::optional<uint64_t> seed;
  const Fields fields = {{"text", text, "a text"},
                         {"list", list, "a list"},
                         {"flag", flag, "a flag"},
                         Field("whole", whole, "a number").from(2, 5),
                         {"seed", seed, "a seed"}};
  const auto read = [&](const char* json) {
    const Document document = Document::parse(json, "test");
    Object object(document.root());
    read_words(object, fields);
    object.done();
  };
  read(
      R"({"text": 1.5, "list": {"a.b": 2, "c": "x", "d": [1, 2], "e": null}, "flag": false, "whole": 5})");
  CHECK(text == "1.5");
  CHECK(list == std::vector<std::string>{"a.b=2", "c=x", "d=[1,2]", "e=null"});
  CHECK(!flag);
  CHECK(whole == 5);
  CHECK(!seed);
  read(R"({"text": {"k": [1]}, "list": ["p", 3], "seed": 0})");
  CHECK(text == R"({"k":[1]})");
  CHECK(list == std::vector<std::string>{"p", "3"});
  CHECK(seed == 0U);
  read(R"({"list": "one"})");
  CHECK(list == std::vector<std::string>{"one"});
  for (const char* wrong :
       {R"({"whole": 1})", R"({"whole": 6})", R"({"whole": "3"})", R"({"whole": 2.5})",
        R"({"flag": 1})", R"({"seed": -1})", R"({"text": null})", R"({"list": [null]})",
        R"({"list": [""]})", R"({"other": 1})"})
    CHECK_THROWS_AS(read(wrong), InputError);
}
