// Questions about a step that is small enough to be computed by hand: three layers of 4, 8 and
// 2 MB, 1 ms forward and 2 ms backward each, on four nodes with 1 GB/s and start-ups of 0.1 ms.
//
// An all-reduce over the ring takes 6 (0.1 ms + size / 4 GB/s): 3.6, 12.6 and 6.6 ms for 2, 8 and
// 4 MB, which are ready in this order at 5, 7 and 9 ms. One message after the other (WFBP) ends at
// 8.6, 21.2 and 27.8 ms; all behind the pass (naive) at 9 + 22.8 ms.
#include <doctest/doctest.h>

#include "tests/json_of_run.h"

namespace sgdsim {
namespace {

const std::string four_nodes = R"({"schema": "sgdsim/cluster/1", "name": "four",
  "source": "made up", "network": "paper", "shape": "single_switch", "nodes": 4,
  "nic": {"latency": "50 us", "bandwidth": "1 GB/s"}})";
const std::string toy = R"({"schema": "sgdsim/experiment/1", "name": "toy", "trace": {
  "schema": "sgdsim/trace/1", "name": "toy", "batch": 10, "source": "made up", "layers": [
    {"name": "a", "parameters": 1000000, "forward": "1 ms", "backward": "2 ms"},
    {"name": "b", "parameters": 2000000, "forward": "1 ms", "backward": "2 ms"},
    {"name": "c", "parameters": 500000, "forward": "1 ms", "backward": "2 ms"}]},
  "cluster": )" + four_nodes +
                        R"(, "collective": {"algorithm": "ring"}, "strategy": "wfbp"})";

Json toy_json(const std::string& command, const std::vector<std::string>& words) {
  std::vector<std::string> all = {command, toy, "--format", "json"};
  all.insert(all.end(), words.begin(), words.end());
  return json_of_run(all);
}

double run_ms(const std::vector<std::string>& words) {
  return toy_json("run", words)["metrics"]["iteration_us"]["mean"].get<double>() / 1000;
}

std::string toy_refusal(const std::string& command, const std::vector<std::string>& words) {
  std::vector<std::string> all = {command, toy};
  all.insert(all.end(), words.begin(), words.end());
  const Ran ran = run_sgdsim(all);
  CHECK(ran.exit_code == 2);
  return ran.log;
}

const Json& row_with(const Json& rows, const char* field, const std::string& value) {
  for (const Json& row : rows)
    if (row.value(field, "") == value) return row;
  FAIL(value);
  return rows;
}

const std::vector<std::string> half_gtopk = {"--set", "compression.name=gtopk", "--set",
                                             "compression.density=0.5"};

std::vector<std::string> with_half_gtopk(const std::vector<std::string>& words) {
  std::vector<std::string> all = half_gtopk;
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace

TEST_CASE("toy: a method sets its fields after --set") {
  CHECK(run_ms({}) == doctest::Approx(27.8));
  CHECK(run_ms({"--set", "strategy=p3", "--method", "a: wfbp"}) == doctest::Approx(27.8));
  const Json plans =
      toy_json("plan", {"--set", "strategy=p3", "--method", "a: wfbp", "--method", "b: naive"})
          .at("plans");
  CHECK(row_with(plans, "method", "a")["iteration_us"] == doctest::Approx(27800));
  CHECK(row_with(plans, "method", "b")["iteration_us"] == doctest::Approx(31800));
  const Json dense = toy_json("plan", with_half_gtopk({"--method", "dense: wfbp, compression=none",
                                                       "--method", "top: compression=topk"}))
                         .at("plans");
  CHECK(row_with(dense, "method", "dense")["iteration_us"] == doctest::Approx(27800));
  CHECK(row_with(dense, "method", "top")["iteration_us"] ==
        toy_json("run", {"--set", "compression=topk"})["metrics"]["iteration_us"]["mean"]);
}

TEST_CASE("toy: whole parts of --also replace what --set said within, and so do commands") {
  const double topk_ms = run_ms({"--set", "compression=topk"});
  const Json plans = toy_json("plan", with_half_gtopk({"--also", "compression=topk"})).at("plans");
  const auto row = std::find_if(plans.begin(), plans.end(), [](const Json& one) {
    return one["strategy"] == "wfbp" && one.contains("with");
  });
  REQUIRE(row != plans.end());
  CHECK((*row)["iteration_us"] == doctest::Approx(1000 * topk_ms));
  // As the command of that row has it.
  CHECK((*row)["command"].get<std::string>().find(
            "--set compression=null --set compression=topk") != std::string::npos);
  CHECK(run_ms(with_half_gtopk({"--set", "compression=null", "--set", "compression=topk"})) ==
        doctest::Approx(topk_ms));
  // Whatever their order, if nothing is removed between them.
  CHECK(run_ms(with_half_gtopk({"--set", "compression=topk"})) ==
        doctest::Approx(run_ms(half_gtopk)));
}

// All compute 9 ms; four messages of 14.1 ms go in one after the other, and four answers out behind
// the last of them. Who is answered last computes, and pushes last: 56.4 + 9 + 14.1 ms. With a
// bound of 1 the next messages go in while answers go out.
TEST_CASE("toy: nobody is ahead with a staleness of 0, in closed form, too") {
  const auto with = [](const std::string& staleness, const std::string& fidelity) {
    return run_ms({"--set", "strategy=sync_easgd", "--set",
                   R"(synchronization={"name": "ssp", "staleness": )" + staleness + "}", "--set",
                   R"(collective={"parameter_server": {}})", "--fidelity", fidelity});
  };
  for (const char* fidelity : {"closed_form", "message"}) {
    CAPTURE(fidelity);
    CHECK(with("0", fidelity) == doctest::Approx(9 + 5 * 14.1));
    CHECK(with("1", fidelity) == doctest::Approx(4 * 14.1));
  }
}

// A worker sends 14 MB and gets 14 MB by its port, however many servers there are: 9 + 2 * 14.1 ms
// and a start-up for every message beyond the first one each way, where they come one by one.
TEST_CASE("toy: more servers than workers cost start-ups, on wires, too") {
  for (const int servers : {5, 9}) {
    CAPTURE(servers);
    const double flow_ms =
        run_ms({"--set", "strategy=sync_easgd", "--set",
                R"(collective={"parameter_server": {"placement": "dedicated", "servers": )" +
                    std::to_string(servers) + "}}",
                "--fidelity", "flow"});
    CHECK(flow_ms >= 9 + 2 * 14.1 - 1e-6);
    CHECK(flow_ms <= 9 + 2 * (14 + 0.1 * servers) + 1e-6);
  }
}

// The band that docs/compression.md states for few layers.
TEST_CASE("toy: the closed form of hashed servers is off by as much as the documents say") {
  for (const int servers : {1, 4}) {
    CAPTURE(servers);
    const auto with = [&](const char* fidelity) {
      return run_ms({"--set",
                     R"(collective={"parameter_server": {"sharding": "byteps", "servers": )" +
                         std::to_string(servers) + "}}",
                     "--fidelity", fidelity});
    };
    const double ratio = with("closed_form") / with("message");
    CHECK(ratio >= 0.85);
    CHECK(ratio <= 1.5);
  }
}

TEST_CASE("toy: what is better when it is large is not minimized") {
  for (const char* column : {"metrics.throughput_samples_per_s", "metrics.efficiency",
                             "metrics.comm_overlapped_us", "quality.delivered_fraction"})
    CHECK(toy_refusal("sweep", {"--axis", "strategy=wfbp,naive", "--minimize", column})
              .find("is better; say metrics.iteration_us") != std::string::npos);
}

TEST_CASE("toy: what is said twice is refused") {
  CHECK(toy_refusal("run", {"--fidelity", "flow", "--set", "fidelity=message"}) ==
        "sgdsim: --fidelity: --set says fidelity, too; give one of them\n");
  CHECK(toy_refusal("run", {"-c", "10gbe_16", "--set", "cluster=25gbe_16"}) ==
        "sgdsim: --cluster: --set says cluster, too; give one of them\n");
}

// A job of one worker computes 9 ms and exchanges nothing.
TEST_CASE("toy: places and names of jobs") {
  const auto jobs = [](const std::string& first, const std::string& second) {
    return run_sgdsim({"jobs",
                       R"({"schema": "sgdsim/jobs/1", "cluster": )" + four_nodes +
                           R"(, "jobs": [{"experiment": )" + toy + ", " + first +
                           R"(}, {"experiment": )" + toy + ", " + second + "}]}",
                       "--format", "json"});
  };
  const Ran ran = jobs(R"("placement": 0)", R"("placement": "1")");
  REQUIRE_MESSAGE(ran.exit_code == 0, ran.log);
  const Json answer = Json::parse(ran.out);
  for (const Json& job : answer.at("jobs")) CHECK(job["iteration_us"] == doctest::Approx(9000));
  const auto log_of = [&](const std::string& first, const std::string& second) {
    const Ran refused = jobs(first, second);
    CHECK(refused.exit_code == 2);
    return refused.log;
  };
  CHECK(log_of(R"("placement": "0-1,1")", R"("placement": "2")").find("worker 1 is named twice") !=
        std::string::npos);
  CHECK(log_of(R"("name": "a", "placement": "0")", R"("name": "a", "placement": "1")")
            .find("job 0 has the name \"a\", too") != std::string::npos);
}

// Computing takes 1.52 times as long: 13.68 ms, and the rest of the step is exposed.
TEST_CASE("toy: ByteScheduler is charged for computing, whatever `workers` says") {
  const auto line = [](const std::vector<std::string>& words) {
    const Json lines = toy_json("advise", words).at("lines");
    for (const Json& one : lines)
      if (one["change"].get<std::string>().find("ByteScheduler") != std::string::npos) return one;
    FAIL("no line");
    return lines;
  };
  const Json alone = line({});
  CHECK(alone["iteration_us"].get<double>() - alone["exposed_us"].get<double>() ==
        doctest::Approx(13680));
  CHECK(line({"--set", "workers={}"})["iteration_us"] == alone["iteration_us"]);
}

// Sparse gradients are gathered by all workers, whatever exchanges dense ones.
TEST_CASE("toy: a compression that leaves the parameter servers says so") {
  const auto log_with = [](const char* collective) {
    const Ran ran = run_sgdsim({"run", toy, "--set", "compression=topk", "--set", collective});
    CHECK(ran.exit_code == 0);
    return ran.log;
  };
  const char* const said =
      "compression: topk goes over recursive_doubling, without the parameter servers of "
      "`collective`";
  CHECK(log_with(R"(collective={"parameter_server": {}})").find(said) != std::string::npos);
  CHECK(log_with("collective=mst").find("parameter servers") == std::string::npos);
}

// Two workers, of which one computes for 90 ms, a server that answers who is two iterations ahead
// when the slow one has pushed. The fast one has pushed at 23.1 and 60.3 ms and waits; the slow one
// at 104.1. It is answered until 118.2 ms, the fast one behind it until 132.3: pushes end at 155.4
// and 273.6 (fast), 222.3 and 340.5 (slow). Three iterations end with every second push of all.
TEST_CASE("toy: a worker that is too far ahead is answered behind the slowest one") {
  for (const char* fidelity : {"message", "flow"}) {
    CAPTURE(fidelity);
    CHECK(run_ms({"--set", "cluster.nodes=2", "--set", "strategy=sync_easgd", "--set",
                  "synchronization={\"name\": \"ssp\", \"staleness\": 1}", "--set",
                  "collective={\"parameter_server\": {}}", "--set",
                  "workers={\"slow\": [{\"worker\": 1, \"factor\": 10}]}", "--set", "iterations=2",
                  "--set", "warm_up=1", "--fidelity", fidelity}) ==
          doctest::Approx((273.6 - 60.3) / 2));
  }
}

}  // namespace sgdsim
