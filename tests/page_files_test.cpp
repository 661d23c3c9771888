// Files that are dropped on the what-if page: each kind, and names that try to be something else.
#include <doctest/doctest.h>
#include <filesystem>

#include "app/page/page.h"
#include "sim/core/json.h"
#include "tests/repository.h"
#include "tests/run_program.h"

using namespace sgdsim;

namespace {

class EmptyFolder {
 public:
  EmptyFolder() : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder_.name());
  }
  ~EmptyFolder() { std::filesystem::current_path(before_); }
  EmptyFolder(const EmptyFolder&) = delete;
  EmptyFolder& operator=(const EmptyFolder&) = delete;

 private:
  Temporary folder_{Temporary::Kind::folder};
  std::filesystem::path before_;
};

Json add(const std::string& name, const std::string& content) {
  return Json::parse(page_add_file(name, content));
}

}  // namespace

TEST_CASE("page files: other programs' files become what sgdsim import makes of them") {
  struct Row {
    std::string file;
    std::string format;
  };
  for (const Row& row :
       {Row{"tests/data/layers.csv", "layers-csv"}, Row{"tests/data/b_caffe.log", "b-caffe-log"},
        Row{"tests/data/kineto.json", "kineto"}}) {
    CAPTURE(row.file);
    const EmptyFolder here;
    const std::string name = std::filesystem::path(row.file).filename();
    const Json answer = add(name, read_text(in_repository(row.file)));
    REQUIRE_FALSE(answer.contains("error"));
    CHECK(answer["kind"] == "trace");
    const std::string made = answer["file"].get<std::string>();
    const std::string command = answer["imports"][0].get<std::string>();
    CHECK(command.starts_with("sgdsim import " + row.format + " "));
    CHECK(read_text(made) == answer["text"].get<std::string>());
    const Ran ran = run_shell_line("cp " + row.file + " . && " + command + " && cat " + made);
    REQUIRE(ran.exit_code == 0);
    CHECK(Json::parse(ran.out)["layers"] == Json::parse(read_text(made))["layers"]);
  }
}

TEST_CASE("page files: traces, clusters and experiments of sgdsim") {
  const EmptyFolder here;
  const auto kind = [](const std::string& file) {
    return add(std::filesystem::path(file).filename(), read_text(in_repository(file)))
        .value("kind", "");
  };
  CHECK(kind("traces/data/resnet50_v100.json") == "trace");
  CHECK(kind("topologies/data/two_boxes_explicit.json") == "cluster");
  const Ran saved = run_sgdsim({"run", "app/experiments/googlenet_k80.json", "--format", "json"});
  const Json experiment = Json::parse(saved.out)["inputs"];
  const Json answer = add("mine.json", experiment.dump());
  CHECK(answer["kind"] == "experiment");
  CHECK(answer["json"] == experiment);
}

TEST_CASE("page files: a file that was read may be given again, with other content") {
  const EmptyFolder here;
  Json trace = Json::parse(read_text(in_repository("traces/data/alexnet_p102.json")));
  for (const char* update : {"1 s", "2 s", "1 s"}) {
    trace["update"] = update;
    const Json answer = add("own.json", trace.dump());
    CHECK(answer.value("kind", "") == "trace");
    CHECK(Json::parse(read_text("own.json")) == trace);
  }
}

TEST_CASE("page files: names are names only") {
  const std::string trace = read_text(in_repository("traces/data/alexnet_p102.json"));
  for (const std::string name :
       {"<script>alert(1)</script>.json", "it's \"quoted\".json", "\U0001f600.json", "-n.json",
        "../../../escaped.json", "a\\b.json", "$(id).json", "."}) {
    CAPTURE(name);
    const EmptyFolder here;
    const Json answer = add(name, trace);
    REQUIRE_FALSE(answer.contains("error"));
    // It lies in this folder, and nowhere else.
    CHECK(std::filesystem::path(answer["file"].get<std::string>()).parent_path().empty());
    CHECK(std::filesystem::exists(answer["file"].get<std::string>()));
  }
  const EmptyFolder here;
  const Json longest = add(std::string(9'995, 'x') + ".json", trace);
  CHECK(longest["file"].get<std::string>() == std::string(115, 'x') + ".json");
}

TEST_CASE("page files: what is none of these is refused by a sentence that names the file") {
  const EmptyFolder here;
  for (const std::string& content :
       {std::string(), std::string("hello"), std::string("{"), std::string("{}"), std::string("[]"),
        std::string(1000, '\0'), std::string("\x1f\x8b\x08 damaged"),
        std::string(R"({"schema": "sgdsim/trace/1"})"),
        std::string(R"({"schema": "sgdsim/trace/1", "layers": [NaN]})"),
        std::string("index,name,params,bytes,fwd_us,bwd_us\n1,a")}) {
    CAPTURE(content);
    const Json answer = add("mine.json", content);
    REQUIRE(answer.contains("error"));
    CHECK(answer["exit"] == 2);
    CHECK(answer["error"].get<std::string>().starts_with("mine.json: "));
  }
  CHECK(add("a\nb\x01.json", "{}")["exit"] == 2);
}
