// Methods: labelled ways of exchanging gradients on one axis.
#include "study/step/method.h"

#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "sim/core/error.h"
#include "study/step/experiment.h"
#include "study/step/part_names.h"
#include "tests/run_program.h"
#include "tests/source_tree.h"

namespace sgdsim {
namespace {

using Words = std::vector<std::string>;

std::string fields_of(const Method& method) {
  std::string text;
  for (const std::string& setting : settings_of(method)) text += setting + ";";
  return text;
}

std::vector<Json> points_of(const Words& words) {
  const Ran ran = run_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  std::vector<Json> points;
  for (const std::string& line : house::split(ran.out, '\n'))
    if (!line.empty()) points.push_back(Json::parse(line));
  return points;
}

struct FourMethods {
  const char* label;
  const char* text;
  Words settings;  // the same for `run`
};

const std::vector<FourMethods> four = {
    {"DDP", "DDP: ddp", {"strategy=ddp"}},
    {"MG-WFBP", "MG-WFBP: strategy=mg_wfbp", {"strategy=mg_wfbp"}},
    {"gTop-k",
     "gTop-k: compression=gtopk, density=0.001, strategy=sync_easgd",
     {"compression=gtopk", "compression.density=0.001", "strategy=sync_easgd"}},
    {"Pipe-SGD", "Pipe-SGD: pipe_sgd", {"synchronization=pipe_sgd", "strategy=null"}},
};

}  // namespace

TEST_CASE("method: what its text sets") {
  struct Row {
    const char* reason;
    const char* text;
    const char* label;
    const char* fields;
  };
  for (const Row& row : {
           Row{"a label and a name", "DDP: ddp", "DDP", R"(strategy="ddp";)"},
           Row{"a name alone", "mg_wfbp", "mg_wfbp", R"(strategy="mg_wfbp";)"},
           Row{"a field of the part before it", "gTop-k: compression=gtopk, density=0.001",
               "gTop-k", R"(compression="gtopk";compression.density=0.001;)"},
           Row{"a size with a blank", "big: ddp, bucket=100 MiB", "big",
               R"(strategy="ddp";strategy.bucket="100 MiB";)"},
           Row{"JSON with commas", R"(x: strategy={"name": "ddp", "bucket": "1 MiB"}, channels=2)",
               "x", R"(strategy={"name":"ddp","bucket":"1 MiB"};channels=2;)"},
           Row{"a path with dots", "a b: collective=ring, workers.jitter=null", "a b",
               R"(collective="ring";workers.jitter=null;)"},
           Row{"a synchronization has its own strategy", "Pipe: synchronization=pipe_sgd", "Pipe",
               R"(strategy=null;synchronization="pipe_sgd";)"},
           Row{"unless it is named", "L: pipe_sgd, communication=layerwise, strategy=wfbp", "L",
               R"(synchronization="pipe_sgd";synchronization.communication="layerwise";)"
               R"(strategy="wfbp";)"},
           Row{"a colon in a value is no label", R"(strategy={"name": "ddp"})",
               R"(strategy={"name": "ddp"})", R"(strategy={"name":"ddp"};)"},
       }) {
    INFO(row.reason);
    const Method method = method_in(row.text);
    CHECK(method.label == row.label);
    CHECK(fields_of(method) == row.fields);
  }
}

TEST_CASE("method: what is refused, and what to write instead") {
  struct Row {
    const char* text;
    const char* sentence;
  };
  for (const Row& row : {
           Row{"x: nosuch", "\"nosuch\" is no name of a strategy"},
           Row{"x: density=0.1", "name what it belongs to before it"},
           Row{"x: ddp, , channels=2", "expected field=value between commas"},
           Row{"x: ddp,", "expected field=value between commas"},
           Row{": ddp", "expected a label"},
           Row{"x: ddp, strategy=wfbp", "strategy is set twice"},
           Row{"x: cluster=25gbe_16", "another cluster is an axis"},
           Row{"x: trace=resnet50_v100", "another trace is an axis"},
       }) {
    INFO(row.text);
    CHECK_THROWS_WITH_AS(method_in(row.text), doctest::Contains(row.sentence), InputError);
  }
  const Words sweep = {"sweep", "resnet50_v100", "-c", "25gbe_16", "-q"};
  const auto log_of = [&](const Words& more) {
    Words words = sweep;
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_sgdsim(words);
    CHECK(ran.exit_code == 2);
    return ran.log;
  };
  CHECK(log_of({"--method", "a: ddp", "--method", "a: wfbp"}).find("two methods are called") !=
        std::string::npos);
  CHECK(log_of({"--method", "a: ddp", "--method", "b: ddp"}).find("set the same fields") !=
        std::string::npos);
  CHECK(log_of({"--method", "a: ddp", "--axis", "strategy=ddp,wfbp"}).find("sets strategy, too") !=
        std::string::npos);
  CHECK(log_of({"--axis", "method=a,b"}).find("methods have labels") != std::string::npos);
  CHECK(log_of({"--method", "a: compression=ddp"}).find("ddp is a strategy, not a compression") !=
        std::string::npos);
  CHECK(
      run_sgdsim({"run", "resnet50_v100", "-c", "25gbe_16", "--method", "ddp", "--method", "wfbp"})
          .log.find("run simulates one") != std::string::npos);
}

TEST_CASE("method: four methods of four papers on one axis are what run says of each") {
  Words words = {
      "sweep", "vgg16_v100",          "-c", "10gbe_16", "-q", "--axis", "cluster.nodes=4,16",
      "--set", "fidelity=closed_form"};
  for (const FourMethods& one : four) words.insert(words.end(), {"--method", one.text});
  const std::vector<Json> points = points_of(words);
  REQUIRE(points.size() == 8);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const FourMethods& method = four[i % 4];
    CAPTURE(method.label);
    CHECK(points[i]["axes"]["method"] == method.label);
    Words run = {"run",      "vgg16_v100", "-c",    "10gbe_16",
                 "--format", "json",       "--set", "fidelity=closed_form"};
    const std::string nodes = i < 4 ? "4" : "16";
    run.insert(run.end(), {"--set", "cluster.nodes=" + nodes});
    Words by_method = run;
    by_method.insert(by_method.end(), {"--method", method.text});
    for (const std::string& setting : method.settings) run.insert(run.end(), {"--set", setting});
    const Json result = Json::parse(run_sgdsim(run).out);
    CHECK(points[i]["iteration_ps"] == result["iteration_ps"]);
    CHECK(points[i]["id"] == result["id"]);
    const Json labelled = Json::parse(run_sgdsim(by_method).out);
    CHECK(labelled["iteration_ps"] == result["iteration_ps"]);
    CHECK(labelled["method"] == method.label);
    CHECK(faults_of_value(embedded_shelf(), "sgdsim/result/1", labelled).empty());
  }
}

TEST_CASE("method: an axis of a file is the same, and where, zip and columns know the label") {
  const std::string file_text = R"({
    "base": {"name": "vgg16_v100", "trace": "vgg16_v100", "cluster": "10gbe_16", "fidelity": "closed_form"},
    "axes": {
      "cluster.nodes": [4, 16],
      "method": {
        "DDP": "ddp",
        "MG-WFBP": {"strategy": "mg_wfbp"},
        "gTop-k": {"compression": "gtopk", "density": 0.001, "strategy": "sync_easgd"},
        "Pipe-SGD": {"synchronization": "pipe_sgd"}
      }
    })";
  const Temporary file(Temporary::Kind::file, file_text + "}");
  Words words = {
      "sweep", "vgg16_v100",          "-c", "10gbe_16", "-q", "--axis", "cluster.nodes=4,16",
      "--set", "fidelity=closed_form"};
  for (const FourMethods& one : four) words.insert(words.end(), {"--method", one.text});
  const std::vector<Json> of_file = points_of({"sweep", file.name(), "-q"});
  const std::vector<Json> of_words = points_of(words);
  REQUIRE(of_file.size() == of_words.size());
  for (std::size_t i = 0; i < of_file.size(); ++i) {
    CHECK(of_file[i]["id"] == of_words[i]["id"]);
    CHECK(of_file[i]["axes"] == of_words[i]["axes"]);
  }
  const Temporary some(Temporary::Kind::file,
                       file_text + R"(, "where": ["method != DDP or cluster.nodes == 4"]})");
  const Ran table = run_sgdsim({"sweep", some.name(), "-q", "--columns", "cluster.nodes,method"});
  CHECK(table.out ==
        "cluster.nodes,method\n4,DDP\n4,MG-WFBP\n4,gTop-k\n4,Pipe-SGD\n16,MG-WFBP\n16,gTop-k\n"
        "16,Pipe-SGD\n");
  // The best of methods is the default, and labels stand in the table.
  const Ran best = run_sgdsim(
      {"sweep", file.name(), "-q", "--minimize", "metrics.iteration_us", "--format", "json"});
  CHECK(Json::parse(best.out)["over"] == Json{"method"});
}

TEST_CASE("method: plans compare methods in place of strategies") {
  Words words = {"plan", "vgg16_v100", "-c", "10gbe_16", "--format", "json"};
  for (const FourMethods& one : four) words.insert(words.end(), {"--method", one.text});
  const Ran ran = run_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json answer = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/plan/1", answer).empty());
  REQUIRE(answer["plans"].size() == 4);
  for (const Json& plan : answer["plans"]) {
    CAPTURE(plan["method"].dump());
    const Ran again = run_shell_line(plan["command"].get<std::string>() + " --format json");
    CHECK(Json::parse(again.out)["iteration_ps"] == plan["iteration_ps"]);
  }
}

TEST_CASE("method: a name in the wrong field finds the right one") {
  struct Row {
    const char* setting;
    const char* sentence;
  };
  for (const Row& row : {
           Row{"strategy=gtopk", "gtopk is a compression, not a strategy: write compression=gtopk"},
           Row{"strategy=pipe_sgd", "write synchronization=pipe_sgd"},
           Row{"compression=pipe_sgd", "write synchronization=pipe_sgd"},
           Row{"synchronization=ddp", "write strategy=ddp"},
           Row{"collective=ddp", "write strategy=ddp"},
           Row{"strategy=ring", "write collective=ring"},
           Row{R"(compression={"name": "mg_wfbp"})", "write strategy=mg_wfbp"},
           Row{"strategy=ddpp", "did you mean \"ddp\"?"},
       }) {
    INFO(row.setting);
    const Ran ran = run_sgdsim({"run", "resnet50_v100", "-c", "25gbe_16", "--set", row.setting});
    CHECK(ran.exit_code == 2);
    INFO(ran.log);
    CHECK(ran.log.find(row.sentence) != std::string::npos);
  }
}

// Every field that the schema of an experiment has may stand in a method, or is refused by name.
TEST_CASE("method: the fields of an experiment are those of its schema") {
  const Json schema = schema_of_experiments();
  const std::vector<std::string> about = {"schema", "name", "description", "source", "seed"};
  for (const auto& [field, rule] : schema["properties"].items()) {
    if (std::find(about.begin(), about.end(), field) != about.end()) continue;
    const std::string name = field;
    CAPTURE(name);
    if (name == "trace" || name == "cluster")
      CHECK_NOTHROW(method_in("x: " + name + ".name=y"));
    else
      CHECK(fields_of(method_in("x: " + name + "=null")).find(name + "=null;") !=
            std::string::npos);
  }
}

}  // namespace sgdsim
