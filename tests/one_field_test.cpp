// Files of every kind in which one value is of another type: each command answers, or refuses in a
// sentence of its own. No words of a library reach the user.
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "study/failure.h"
#include "tests/repository.h"
#include "tests/rounds.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

using Words = std::vector<std::string>;

// Every place of the document, down to the first entries of a list.
void add_places(const Json& json, const Json::json_pointer& at,
                std::vector<Json::json_pointer>& places) {
  if (!at.empty()) places.push_back(at);
  if (json.is_object())
    for (const auto& [name, member] : json.items()) add_places(member, at / name, places);
  if (json.is_array())
    for (std::size_t i = 0; i < std::min<std::size_t>(json.size(), 2); ++i)
      add_places(json[i], at / i, places);
}

const std::vector<Json>& other_values() {
  static const std::vector<Json> values = {
      nullptr, 64, "x", Json::array(), Json::object(), Json::array({Json::array()})};
  return values;
}

void check_words(const Ran& ran) {
  INFO(ran.log);
  CHECK(ran.exit_code >= 0);
  CHECK(ran.exit_code <= 5);
  for (const char* raw : {"exception", "filesystem error", "std::", "basic_string", "mistake"})
    CHECK(ran.log.find(raw) == std::string::npos);
  if (ran.exit_code == 2) CHECK(ran.log.find("sgdsim: ") != std::string::npos);
}

// `words` with FILE in place of the document.
void check_each(const Json& document, const Words& words) {
  const Temporary file(Temporary::Kind::file, "");
  Words asked = words;
  for (std::string& word : asked)
    if (word == "FILE") word = file.name();
  std::vector<Json::json_pointer> places;
  add_places(document, Json::json_pointer(), places);
  int turn = 0;
  for (const auto& place : places)
    for (const Json& value : other_values()) {
      if (turn++ % round_divisor != 0) continue;
      INFO(place.to_string(), " is ", value.dump());
      Json changed = document;
      changed[place] = value;
      std::ofstream(file.name()) << changed.dump() << '\n';
      check_words(call_sgdsim(asked));
    }
  for (const Json& value : other_values()) {
    INFO("the whole is ", value.dump());
    std::ofstream(file.name()) << value.dump() << '\n';
    check_words(call_sgdsim(asked));
  }
}

Json file_of(const std::string& name) { return Json::parse(read_text(in_repository(name))); }

const std::string gbe = in_repository("topologies/data/mgwfbp_paper_10gbe.json");

Json small_trace() {
  return {{"schema", "sgdsim/trace/1"},
          {"name", "t"},
          {"model", "m"},
          {"batch", 2},
          {"update", "1 ms"},
          {"layers",
           {{{"name", "a"}, {"parameters", 1000}, {"forward", "1 ms"}, {"backward", "2 ms"}},
            {{"name", "b"}, {"gradient", "4 KB"}, {"forward", "1 ms"}, {"backward", "2 ms"}}}}};
}

Json small_experiment() {
  return {{"schema", "sgdsim/experiment/1"},
          {"name", "e"},
          {"trace", small_trace()},
          {"cluster", file_of("topologies/data/mgwfbp_paper_10gbe.json")},
          {"collective", {{"algorithm", "ring"}, {"options", {{"gamma", "overlap"}}}}},
          {"strategy", {{"name", "ddp"}, {"bucket", "1 MiB"}}},
          {"compression", {{"name", "topk"}, {"density", 0.01}}},
          {"workers", {{"slow", {{{"worker", 0}, {"factor", 1.5}}}}}},
          {"iterations", 2},
          {"seed", 3}};
}

}  // namespace

TEST_CASE("one field: traces and experiments") {
  for (const char* command : {"run", "advise", "plan"})
    check_each(small_trace(), {command, "FILE", "-c", gbe, "--fidelity", "closed_form"});
  check_each(small_trace(), {"trace", "show", "FILE"});
  check_each(small_experiment(), {"run", "FILE"});
  check_each(small_experiment(), {"run", "FILE", "-c", gbe, "--set", "seed=2"});
  check_each(small_experiment(), {"run", "FILE", "--transport", "dctcp"});
  check_each(small_experiment(), {"tune", "FILE", "--most", "2"});
  check_each(small_experiment(),
             {"sweep", "FILE", "-q", "--axis", "strategy=wfbp,ddp", "--axis", "seed=1,2"});
}

TEST_CASE("one field: clusters, traffic and jobs") {
  for (const char* name : {"mgwfbp_paper_10gbe", "two_rate_cluster", "two_boxes_explicit"}) {
    const Json cluster = file_of("topologies/data/" + std::string(name) + ".json");
    check_each(cluster, {"collective", "-a", "ring", "-n", "1 KB", "-c", "FILE"});
    check_each(cluster, {"export", "dot", "FILE"});
  }
  check_each(file_of("app/flows/incast_36.json"),
             {"traffic", "FILE", "-c", in_repository("topologies/data/leaf_spine_144.json")});
  const Json jobs = {
      {"schema", "sgdsim/jobs/1"},
      {"routing", "hashed"},
      {"cluster", file_of("topologies/data/mgwfbp_paper_10gbe.json")},
      {"jobs", {{{"experiment", small_experiment()}, {"workers", 2}, {"set", {"iterations=1"}}}}},
      {"traffic",
       {{"flows", {{"generator", "incast"}, {"to", 9}, {"from", "10-12"}, {"size", "1 MB"}}}}}};
  check_each(jobs, {"jobs", "FILE"});
}

TEST_CASE("one field: models, GPUs and layouts") {
  check_each(file_of("models/training/data/models/llama3.1_8b.json"), {"model", "show", "FILE"});
  check_each(file_of("tests/data/hugging_face_config.json"), {"model", "show", "FILE"});
  check_each(file_of("models/training/data/gpus/h100.json"),
             {"layout", "llama3.1_8b", "--gpu", "FILE", "--layout", "tp8", "-c",
              in_repository("topologies/data/dgx_h100_4.json")});
  const Temporary folder(Temporary::Kind::folder);
  const Json deepspeed = file_of("tests/data/layouts/deepspeed.json");
  int turn = 0;
  for (const Json& value : other_values())
    for (const auto& [name, unused] : deepspeed.items()) {
      if (turn++ % round_divisor != 0) continue;
      Json changed = deepspeed;
      changed[name] = value;
      std::ofstream(folder.name() + "/ds.json") << changed.dump();
      const auto& name_said = name;
      const auto& value_said = value;
      INFO(name_said, " is ", value_said.dump());
      check_words(call_sgdsim({"model", "show", "llama3.1_8b", "--gpus", "16", "--layout",
                               folder.name() + "/ds.json"}));
    }
}

// Lines of points that were edited: of --resume, merge and report.
TEST_CASE("one field: points of a sweep") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/points.jsonl";
  const Words sweep = {"sweep",
                       in_repository("app/experiments/googlenet_k80.json"),
                       "-q",
                       "--axis",
                       "cluster.nodes=2,4",
                       "--axis",
                       "strategy=wfbp,ddp"};
  const std::string whole = call_sgdsim(sweep).out;
  const std::string rest = whole.substr(whole.find('\n') + 1);
  const Json first = Json::parse(whole.substr(0, whole.find('\n')));
  std::vector<Json::json_pointer> places;
  add_places(first, Json::json_pointer(), places);
  Words resume = sweep;
  resume.insert(resume.end(), {"--resume", "--out", out});
  Words best = resume;
  best.insert(best.end(), {"--minimize", "metrics.iteration_us"});
  int turn = 0;
  for (const auto& place : places)
    for (const Json& value : other_values()) {
      if (turn++ % (2 * round_divisor) != 0) continue;
      INFO(place.to_string(), " is ", value.dump());
      Json changed = first;
      changed[place] = value;
      for (const Words& words : {resume, best, Words{"merge", out}, Words{"report", out}}) {
        std::ofstream(out) << changed.dump() << '\n' << rest;
        check_words(call_sgdsim(words));
      }
    }
  // The one that was found: warnings that are no list, in a line that did not fail.
  Json line = first;
  line["warnings"] = 7;
  std::ofstream(out) << line.dump() << '\n';
  const Ran ran = call_sgdsim(resume);
  CHECK(ran.exit_code == 2);
  CHECK(ran.log.find(":1: /warnings: expected an array, got the number 7") != std::string::npos);
}

TEST_CASE("one field: a trace whose name is a number") {
  Json trace = small_trace();
  trace["name"] = 64;
  const Temporary file(Temporary::Kind::file, trace.dump());
  for (const char* command : {"run", "advise", "plan"}) {
    const Ran ran = call_sgdsim({command, file.name(), "-c", gbe});
    CHECK(ran.exit_code == 2);
    CHECK(ran.log == "sgdsim: " + file.name() + ": /name: expected a string, got the number 64\n");
  }
}

TEST_CASE("names that no file system takes are refused in a sentence") {
  const std::string dgx = in_repository("topologies/data/dgx_h100_4.json");
  for (const std::string& name :
       {std::string(300, 'x'), std::string(300, 'x') + ".json", std::string(5000, 'x'),
        std::string(300, 'x') + "/file", "a/" + std::string(300, 'x')})
    for (const Words& words : std::vector<Words>{
             {"model", "show", name},
             {"model", "show", "llama3.1_8b", "--layout", name},
             {"layout", "llama3.1_8b", "--gpu", name, "--gpus", "8", "-c", dgx},
             {"layout", "llama3.1_8b", "--layout", name, "-c", dgx},
             {"layout", "llama3.1_8b", "--gpus", "8", "-c", name},
             {"run", name},
             {"plan", name},
             {"advise", name, "-c", gbe},
             {"fit", name},
             {"merge", name},
             {"report", name},
             {"validate", name},
             {"jobs", name},
             {"traffic", name, "-c", gbe},
             {"replay", name},
             {"trace", "show", name},
             {"import", "kineto", name},
             {"import", "nccl-xml", name},
             {"export", "dot", name},
             {"sweep", name, "--axis", "seed=1,2"},
             {"tune", name},
             {"collective", "-a", "ring", "-n", "1 KB", "-c", name},
             {"run", in_repository("app/experiments/googlenet_k80.json"), "--out", name},
             {"run", in_repository("app/experiments/googlenet_k80.json"), "--set", "trace=" + name},
             {"sweep", in_repository("app/experiments/googlenet_k80.json"), "--axis", "seed=1,2",
              "--out", name}}) {
      INFO(words.front(), " ", name.size());
      const Ran ran = call_sgdsim(words);
      CHECK(ran.exit_code == 2);
      check_words(ran);
    }
}

// A folder that is gone has no path: scripts cannot name it.
TEST_CASE("emit: in a folder that was removed, a sentence") {
  const Ran ran =
      run_shell_line("mkdir gone && cd gone && rmdir ../gone && \"" SGDSIM_PROGRAM "\" sweep " +
                     in_repository("app/sweeps/nodes_bandwidth.json --emit slurm --out x"));
  CHECK(ran.exit_code == 2);
  check_words(ran);
  CHECK(ran.log.find("--emit: this folder has no name") != std::string::npos);
}

// Whatever a reader did not foresee is called a mistake, and not quoted.
TEST_CASE("failures: words of libraries are no words of ours") {
  const auto text_of = [](const auto& f) {
    try {
      f();
    } catch (const std::exception& error) {
      return failure_text(error);
    }
    return std::string();
  };
  const std::string json = text_of([] { Json(7).at("a"); });
  CHECK(json.find("mistake of sgdsim") != std::string::npos);
  CHECK(json.find("json.exception") == std::string::npos);
  CHECK(text_of([] { static_cast<void>(std::filesystem::file_size(std::string(300, 'x'))); }) ==
        std::string(300, 'x') + ": File name too long");
  CHECK(text_of([] { std::vector<int>(1).at(2) = 0; }).find("vector") == std::string::npos);
  CHECK(text_of([] { throw std::runtime_error("f: the disk is full"); }) == "f: the disk is full");
}

}  // namespace sgdsim
