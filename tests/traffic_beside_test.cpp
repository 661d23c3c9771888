// Collectives and steps beside others' traffic, on links that change or fail.
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/run_program.h"
#include "tests/texts.h"

using namespace sgdsim;

namespace {

using Arguments = std::vector<std::string>;

const char* const half_from_the_start =
    R"({"changes": [{"at": "0 us", "vertex": "switch", "bandwidth": 0.5}]})";

std::string rack(int nodes, const std::string& bandwidth) {
  return R"({"shape": "single_switch", "nodes": )" + std::to_string(nodes) +
         R"(, "nic": {"latency": "5 us", "bandwidth": ")" + bandwidth + R"("}})";
}

Json answer_of(Arguments arguments) {
  arguments.insert(arguments.end(), {"--format", "json"});
  const Ran ran = call_sgdsim(arguments);
  REQUIRE_MESSAGE(ran.exit_code == 0, ran.log);
  return Json::parse(ran.out);
}

class RackFile : public Temporary {
 public:
  RackFile(int nodes, const std::string& latency)
      : Temporary(Kind::file,
                  R"({"schema": "sgdsim/cluster/1", "name": "rack", "shape": "single_switch",
                      "nodes": )" +
                      std::to_string(nodes) + R"(, "nic": {"latency": ")" + latency +
                      R"(", "bandwidth": "10 Gbps"}})") {}
};

double collective_us(const RackFile& cluster, const Arguments& more) {
  Arguments arguments = {"collective", "-a", "ring", "-n", "2MB", "-c", cluster.name()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return answer_of(arguments)["time_us"].get<double>();
}

Json step_of(const std::string& cluster, Arguments more) {
  Arguments arguments = {"run",   "googlenet_k80", "--set", "cluster=" + cluster,
                         "--set", "iterations=3",  "--set", "warm_up=1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return answer_of(arguments);
}

}  // namespace

// Two workers at 10 Gb/s: two rounds of 1 MB take 0.8 ms each; beside a long flow from worker 0 to
// worker 1 each of them takes twice as long.
TEST_CASE("beside traffic: a ring shares its links with others") {
  const RackFile two(2, "0 us");
  const std::string flow =
      R"({"flows": {"generator": "listed", "list": [{"from": 0, "to": 1, "size": "100 MB"}]}})";
  const Temporary table(Temporary::Kind::file, "start_us,from,to,size_B\n0,0,1,100000000\n");
  CHECK(collective_us(two, {"--fidelity", "flow"}) == doctest::Approx(1600));
  CHECK(collective_us(two, {"--fidelity", "flow", "--traffic", flow}) == doctest::Approx(3200));
  CHECK(collective_us(two, {"--fidelity", "flow", "--traffic", table.name()}) ==
        doctest::Approx(3200));
  // In a round, packets of the flow that wait already go first: a dozen of 1.2 us in all.
  CHECK(collective_us(two, {"--fidelity", "packet", "--traffic", flow}) ==
        doctest::Approx(3200).epsilon(0.006));
  const Json use = answer_of({"collective", "-n", "2MB", "-c", two.name(), "--fidelity", "flow",
                              "--traffic", flow})["busiest"][0];
  CHECK(use["utilisation"].get<double>() == doctest::Approx(1));
  CHECK(use["carried_B"].get<double>() == doctest::Approx(4e6));
}

TEST_CASE("beside traffic: a picture shows the messages that were asked for") {
  const RackFile two(2, "0 us");
  const auto drawn = [&](const Arguments& more) {
    Arguments arguments = {"collective", "-n",         "2MB", "-c",       two.name(), "--fidelity",
                           "flow",       "--timeline", "-",   "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Temporary file(Temporary::Kind::file);
    arguments[8] = file.name();
    const Ran ran = call_sgdsim(arguments);
    REQUIRE_MESSAGE(ran.exit_code == 0, ran.log);
    return Json::parse(read_text(file.name()))["traceEvents"].size();
  };
  CHECK(drawn({}) == drawn({"--traffic",
                            R"({"flows": {"generator": "listed",
                             "list": [{"from": 0, "to": 1, "size": "100 MB"}]}})"}));
}

TEST_CASE("beside traffic: the file is not replaced by the answer") {
  const RackFile two(2, "0 us");
  const Temporary traffic(Temporary::Kind::file, R"({"changes": []})");
  for (const char* const command : {"run", "plan"}) {
    const Ran ran = call_sgdsim({command, "googlenet_k80", "-c", two.name(), "--fidelity", "flow",
                                 "--traffic", traffic.name(), "--out", traffic.name(), "--force"});
    CHECK(ran.exit_code != 0);
    CHECK(read_text(traffic.name()) == R"({"changes": []})");
  }
}

TEST_CASE("beside traffic: half of the bandwidth from the start is a network with half of it") {
  const RackFile four(4, "5 us");
  for (const char* const fidelity : {"flow", "packet"}) {
    CAPTURE(fidelity);
    CHECK(collective_us(four, {"--fidelity", fidelity, "--traffic", half_from_the_start}) ==
          collective_us(four, {"--fidelity", fidelity, "--set", "nic.bandwidth=5 Gbps"}));
    for (const char* const collective :
         {"ring", R"({"parameter_server": {"servers": 2, "placement": "dedicated"}})",
          R"({"parameter_server": {"servers": 4, "placement": "co_located"}})"})
      for (const char* const synchronization : {"none", "async_ps", "local_sgd", "pipe_sgd"}) {
        if (std::string(collective) == "ring" && std::string(synchronization) == "async_ps")
          continue;  // it needs servers
        CAPTURE(collective);
        CAPTURE(synchronization);
        const Arguments same = {"--fidelity", fidelity,
                                "--set",      std::string("collective=") + collective,
                                "--set",      std::string("synchronization=") + synchronization};
        Arguments changed = same;
        changed.insert(changed.end(), {"--traffic", half_from_the_start});
        CHECK(step_of(rack(4, "10 Gbps"), changed)["iteration_ps"] ==
              step_of(rack(4, "5 Gbps"), same)["iteration_ps"]);
      }
  }
}

TEST_CASE("beside traffic: a step is what the only job of a jobs file is") {
  const std::string traffic =
      R"({"flows": {"generator": "permutation", "size": "4 GB"}, "seed": 4})";
  const Json step =
      step_of(rack(4, "10 Gbps"), {"--fidelity", "flow", "--set", "collective=ring", "--set",
                                   "iterations=3", "--set", "warm_up=0", "--traffic", traffic});
  const Temporary file(Temporary::Kind::file,
                       R"({"schema": "sgdsim/jobs/1", "cluster": )" + rack(4, "10 Gbps") +
                           R"(, "traffic": )" + traffic +
                           R"(, "jobs": [{"name": "one", "workers": 4, "experiment": {"trace": ")" +
                           std::string(SGDSIM_SOURCE_DIR) + R"(/traces/data/googlenet_k80.json",
          "collective": "ring", "iterations": 3, "warm_up": 0}}]})");
  const Json job = answer_of({"jobs", file.name()})["jobs"][0];
  CHECK(step["iteration_ps"].get<double>() / 1e6 ==
        doctest::Approx(job["iteration_us"].get<double>()));
  CHECK(job["slowdown"].get<double>() > 1);
}

TEST_CASE("beside traffic: what was over too early is said") {
  const auto warnings_of = [](const char* size) {
    return step_of(rack(4, "10 Gbps"),
                   {"--fidelity", "flow", "--traffic",
                    R"({"flows": {"generator": "listed", "list": [{"from": 0, "to": 1, "size": ")" +
                        std::string(size) + R"("}]}})"})["warnings"]
        .dump();
  };
  // 12.5 MB take 10 ms and more; an iteration takes 300 ms at least.
  CHECK(holds(warnings_of("12.5 MB"), "before the measured iterations, which begin at"));
  CHECK(!holds(warnings_of("10 GB"), "before the measured iterations"));
}

TEST_CASE("beside traffic: links that fail, and what is refused") {
  const RackFile two(2, "0 us");
  const Ran stuck =
      call_sgdsim({"collective", "-n", "2MB", "-c", two.name(), "--fidelity", "flow", "--traffic",
                   R"({"changes": [{"at": "1 ms", "vertex": "switch", "bandwidth": 0}]})"});
  CHECK(stuck.exit_code == 4);
  CHECK(holds(stuck.log, "have no way"));
  const auto refused = [](const Arguments& arguments, const std::string& why) {
    const Ran ran = call_sgdsim(arguments);
    CHECK(ran.exit_code == 2);
    CHECK_MESSAGE(holds(ran.log, why), ran.log);
  };
  const std::string needs_messages = "--traffic: needs messages that it can meet: --fidelity mess";
  const std::string needs_wires = "links change on wires: --fidelity flow or packet";
  refused({"collective", "-n", "2MB", "-c", two.name(), "--traffic", half_from_the_start},
          needs_wires);
  refused({"run", "googlenet_k80", "-c", two.name(), "--traffic", half_from_the_start},
          needs_wires);
  refused({"plan", "googlenet_k80", "-c", two.name(), "--fidelity", "closed_form", "--traffic",
           half_from_the_start},
          needs_messages);
  refused({"collective", "-a", "nccl", "-n", "2MB", "-c", "dgx_h100_4", "--traffic",
           half_from_the_start},
          "has no effect on NCCL's model");
  refused({"collective", "-n", "2MB", "-c", two.name(), "--fidelity", "flow", "--traffic",
           R"({"changes": [{"at": "0 us", "vertex": "swich", "bandwidth": 0}]})"},
          "did you mean \"switch\"");
  const Temporary file(Temporary::Kind::file,
                       R"({"schema": "sgdsim/jobs/1", "cluster": )" + rack(4, "10 Gbps") +
                           R"(, "jobs": [{"name": "one", "workers": 4, "experiment": {"trace": ")" +
                           std::string(SGDSIM_SOURCE_DIR) +
                           R"(/traces/data/googlenet_k80.json", "traffic": {"changes": []}}}]})");
  refused({"jobs", file.name()}, "the traffic beside all jobs is that of the jobs file");
}

TEST_CASE("traffic: where no flow ends, nothing is said about what arrived of those that did") {
  const Temporary file(
      Temporary::Kind::file,
      R"({"flows": [{"generator": "incast", "to": 0, "from": "1-2", "size": "1 MB"}],
                           "changes": [{"at": "10 us", "vertex": "node0", "bandwidth": 0}]})");
  const Ran ran = run_sgdsim({"traffic", file.name(), "-c", "topologies/data/leaf_spine_144.json",
                              "--fidelity", "packet", "--transport", "mlt", "--format", "json"});
  REQUIRE(ran.exit_code == 4);
  const Json json = Json::parse(ran.out);
  CHECK(json["flows_ended"] == 0);
  CHECK_FALSE(json.contains("delivered"));
}

TEST_CASE("traffic beside a collective of some workers: those of others are told where to go") {
  const Arguments asked = {"collective",       "-a",         "ring", "-p", "2", "-n", "4MB", "-c",
                           rack(4, "10 Gbps"), "--fidelity", "flow"};
  const auto said = [&](const std::string& traffic) {
    Arguments words = asked;
    words.insert(words.end(), {"--traffic", traffic});
    return call_sgdsim(words);
  };
  const std::string incast = R"({"flows": [{"generator": "incast", "to": 0, "from": ")";
  const Ran ran = said(incast + R"(2", "size": "4 MB"}]})");
  CHECK(ran.exit_code == 2);
  CHECK(ran.log.find("with --ranks 2 these are all there are") != std::string::npos);
  CHECK(ran.log.find("sgdsim jobs") != std::string::npos);
  // Nobody has that one.
  const Ran none = said(incast + R"(9", "size": "4 MB"}]})");
  CHECK(none.exit_code == 2);
  CHECK(none.log.find("--ranks 2") == std::string::npos);
  CHECK(said(incast + R"(1", "size": "4 MB"}]})").exit_code == 0);
}
