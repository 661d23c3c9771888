// Asynchronous training on wires: against a drawing where nobody waits, by hand where two share a
// port, and what it sends.
#include <algorithm>
#include <doctest/doctest.h>

#include "models/step/jobs_in_time.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "study/jobs/jobs_file.h"
#include "tests/run_program.h"
#include "topologies/cluster_file.h"

using namespace sgdsim;

namespace {

struct PlayedJob {
  StepResult result;
  double iterations = 0;  // that were begun
  double carried_B = 0;   // by all wires
};

// The first of the jobs, beside all others.
PlayedJob played_job(const Json& json) {
  const Temporary file(Temporary::Kind::file, json.dump());
  const JobsFile jobs = read_jobs(file.name(), {});
  const auto wires = jobs.cluster.wires(jobs.routes);
  const StepQuestion question = jobs.jobs[0].experiment.question();
  JobsQuestion together{.network = &jobs.cluster.network,
                        .wires = wires.get(),
                        .carrier = jobs.carrier,
                        .meanwhile = {jobs.traffic, {}}};
  together.jobs.push_back(
      {&question, jobs.jobs[0].places, jobs.jobs[0].start, jobs.jobs[0].server_places});
  JobsInTime in_time(together);
  const AsynchronousWorkers& workers = in_time.asynchronous(0);
  PlayedJob played{workers.result(), workers.iterations(), 0};
  for (const double bytes : in_time.carried_B()) played.carried_B += bytes;
  return played;
}

Json experiment_of(const Json& cluster, const Json& servers) {
  return {
      {"trace",
       {{"layers",
         {{{"name", "l"}, {"parameters", 250'000}, {"forward", "1 ms"}, {"backward", "2 ms"}}}}}},
      {"cluster", cluster},
      {"collective", {{"parameter_server", servers}}},
      {"synchronization", "async_ps"},
      {"iterations", 2},
      {"warm_up", 0}};
}

// Workers first, then the servers.
Json job_of(const Json& experiment, int workers, int servers) {
  Json job = {{"experiment", experiment}, {"placement", "0-" + std::to_string(workers - 1)}};
  if (servers > 0)
    job["servers"] = std::to_string(workers) + "-" + std::to_string(workers + servers - 1);
  Json cluster = experiment["cluster"];
  cluster["nodes"] = workers + servers;
  return {{"cluster", cluster}, {"jobs", Json::array({job})}};
}

// ---- a drawing of workers that never meet

struct Question {
  int workers = 1;
  int servers = 1;
  bool dedicated = true;
  bool port = true;
  int bound = AsynchronousRule::no_bound;
  int iterations = 1;
  int64_t latency_us = 1, per_byte_ps = 100, reduce_ps = 0;
  int64_t parameters = 1, update_us = 0, load_us = 0;
  std::vector<int64_t> compute_us;  // of each worker
};

struct Drawn {
  std::vector<Duration> iterations;
  Duration gap = Duration::longest();  // between exchanges of two workers, at least
};

// Of a part: when it is updated after the worker has computed, and what the answer takes then.
struct PartAlone {
  Duration updated, back;
};

// Parts leave one after the other, and nobody else is there.
std::vector<PartAlone> exchange_alone(const Question& question, int worker) {
  const double part_B = 4. * static_cast<double>(question.parameters) / question.servers;
  const Duration alpha = Duration::us(question.latency_us);
  const Duration bytes = PerByte::ps(static_cast<double>(question.per_byte_ps)).of(part_B);
  const Duration fold = PerByte::ps(static_cast<double>(question.reduce_ps)).of(part_B);
  const Duration update = Duration::ps(question.update_us * 1'000'000 / question.servers);
  std::vector<PartAlone> parts(static_cast<std::size_t>(question.servers));
  Duration leaves;
  for (int i = 0; i < question.servers; ++i) {
    const int part = (worker + i) % question.servers;
    const int host = part * question.workers / question.servers;
    PartAlone& one = parts[static_cast<std::size_t>(part)];
    if (!question.dedicated && host == worker) {
      one = {update + fold, {}};
    } else {
      const Duration begins = leaves + (question.port ? Duration() : alpha);
      one = {std::max(leaves + alpha + bytes, begins + fold) + update, alpha + bytes};
      leaves += bytes + (question.port ? alpha : Duration());
    }
  }
  return parts;
}

Drawn draw(const Question& question) {
  struct Exchange {
    Duration start, end;
    int worker;
  };
  std::vector<Exchange> exchanges;
  std::vector<Duration> updates;
  const auto workers = static_cast<std::size_t>(question.workers);
  const auto servers = static_cast<std::size_t>(question.servers);
  std::vector<Duration> starts(workers);
  // Of an iteration: when everybody has updated each part.
  std::vector<std::vector<Duration>> all_updated;
  // Updates that are asked for may all be the fastest worker's.
  const int most = question.workers * question.iterations + 1;
  for (int k = 0; k < most; ++k) {
    std::vector<Duration> readies;
    all_updated.emplace_back(servers);
    for (std::size_t worker = 0; worker < workers; ++worker) {
      const Duration ready = starts[worker] + Duration::us(question.compute_us[worker]);
      const auto parts = exchange_alone(question, static_cast<int>(worker));
      readies.push_back(ready);
      updates.push_back(ready + parts[0].updated);
      for (std::size_t part = 0; part < servers; ++part)
        all_updated.back()[part] = std::max(all_updated.back()[part], ready + parts[part].updated);
    }
    // Answers come when everybody has done an iteration so long ago.
    const int ago = question.bound == AsynchronousRule::no_bound ? -1 : k - question.bound;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      const auto parts = exchange_alone(question, static_cast<int>(worker));
      Duration end;
      for (std::size_t part = 0; part < servers; ++part) {
        Duration leaves = readies[worker] + parts[part].updated;
        if (ago >= 0) leaves = std::max(leaves, all_updated[static_cast<std::size_t>(ago)][part]);
        end = std::max(end, leaves + parts[part].back);
      }
      exchanges.push_back({readies[worker], end, static_cast<int>(worker)});
      starts[worker] = std::max(end, starts[worker] + Duration::us(question.load_us));
    }
  }
  std::sort(updates.begin(), updates.end());
  const auto wanted = static_cast<std::size_t>(question.workers * question.iterations);
  updates.resize(wanted);
  Drawn drawn;
  for (int i = 0; i < question.iterations; ++i) {
    const auto last = static_cast<std::size_t>((i + 1) * question.workers - 1);
    const Duration before =
        i == 0 ? Duration() : updates[last - static_cast<std::size_t>(question.workers)];
    drawn.iterations.push_back(updates[last] - before);
  }
  std::sort(exchanges.begin(), exchanges.end(),
            [](const Exchange& a, const Exchange& b) { return a.start < b.start; });
  for (std::size_t i = 1; i < exchanges.size(); ++i)
    if (exchanges[i].worker != exchanges[i - 1].worker && exchanges[i - 1].start <= updates.back())
      drawn.gap = std::min(drawn.gap, exchanges[i].start - exchanges[i - 1].end);
  return drawn;
}

Question random_question(Random& random) {
  Question question;
  question.workers = 1 + static_cast<int>(random.below(5));
  question.dedicated = random.below(2) == 0;
  question.servers = 1 + static_cast<int>(random.below(
                             question.dedicated ? 3 : static_cast<uint64_t>(question.workers)));
  question.port = random.below(2) == 0;
  if (random.below(3) == 0) question.bound = static_cast<int>(random.below(3));
  question.iterations = 1 + static_cast<int>(random.below(3));
  question.latency_us = 1 + static_cast<int64_t>(random.below(9));
  question.per_byte_ps = 1 + static_cast<int64_t>(random.below(999));
  question.reduce_ps = static_cast<int64_t>(random.below(3) * random.below(700));
  question.parameters = 1 + static_cast<int64_t>(random.below(20'000));
  question.update_us = static_cast<int64_t>(random.below(2) * random.below(30));
  question.load_us = static_cast<int64_t>(random.below(2) * random.below(20'000));
  const int64_t least_us = 4'000 + static_cast<int64_t>(random.below(4'000));
  for (int i = 0; i < question.workers; ++i)
    question.compute_us.push_back(least_us + static_cast<int64_t>(random.below(12'000)));
  return question;
}

Json json_of(const Question& question) {
  const auto text = [](int64_t count, const char* unit) { return std::to_string(count) + unit; };
  // A microsecond of computation, times the slowness of each; two links on a route.
  const Json cluster = {{"shape", "single_switch"},
                        {"nodes", question.workers},
                        {"nic",
                         {{"latency", text(question.latency_us * 500, " ns")},
                          {"per_byte", text(question.per_byte_ps, " ps/B")},
                          {"reduce", text(question.reduce_ps, " ps/B")}}}};
  Json experiment =
      experiment_of(cluster, {{"servers", question.servers},
                              {"placement", question.dedicated ? "dedicated" : "co_located"},
                              {"alpha", question.port ? "port" : "wire"}});
  experiment["trace"] = {{"layers",
                          {{{"name", "l"},
                            {"parameters", question.parameters},
                            {"forward", "0 us"},
                            {"backward", "1 us"}}}},
                         {"update", text(question.update_us, " us")},
                         {"load", text(question.load_us, " us")}};
  experiment["iterations"] = question.iterations;
  if (question.bound != AsynchronousRule::no_bound)
    experiment["synchronization"] = {{"name", "ssp"}, {"staleness", question.bound}};
  Json slow = Json::array();
  for (int i = 0; i < question.workers; ++i)
    slow.push_back({{"worker", i}, {"factor", question.compute_us[static_cast<std::size_t>(i)]}});
  experiment["workers"] = {{"slow", slow}};
  return experiment;
}

// How far off the iterations are, at most.
int64_t worst_ps(const std::vector<Duration>& played, const std::vector<Duration>& drawn) {
  REQUIRE(played.size() == drawn.size());
  int64_t worst = 0;
  for (std::size_t i = 0; i < played.size(); ++i)
    worst = std::max(worst, std::abs((played[i] - drawn[i]).ps()));
  return worst;
}

}  // namespace

TEST_CASE(
    "asynchronous: where nobody waits, messages, flows and packets take what a drawing says") {
  Random random(17);
  int compared = 0;
  int packets = 0;
  while (compared < 400) {
    const Question question = random_question(random);
    const Drawn drawn = draw(question);
    if (drawn.gap <= Duration()) continue;
    const Json experiment = json_of(question);
    CAPTURE(experiment.dump());
    const int64_t messages = 2 * int64_t{question.servers} * question.workers;
    const auto step_at = [&](const char* fidelity) {
      Json json = experiment;
      json["fidelity"] = fidelity;
      return simulate_step(
          read_experiment(resolve_experiment(Value(json, "t", ""), {})).question());
    };
    const StepResult ports = step_at("message");
    CHECK(worst_ps(ports.iterations, drawn.iterations) <= messages);
    const PlayedJob flows =
        played_job(job_of(experiment, question.workers, question.dedicated ? question.servers : 0));
    CHECK(worst_ps(flows.result.iterations, drawn.iterations) <= messages);
    CHECK(flows.result.message_count == ports.message_count);
    CHECK(flows.result.quality.staleness_mean == ports.quality.staleness_mean);
    ++compared;
    CHECK(step_at("flow").iterations == flows.result.iterations);
    if (question.dedicated) continue;
    // A message's last packet of 4,096 B is stored at the switch before it goes on; a worker waits
    // for two of them in an exchange, and for those of others at its ports.
    const auto late_us = 4.096e-3 * static_cast<double>(question.per_byte_ps) * 2 *
                         question.iterations * question.workers * question.servers;
    if (question.port || drawn.gap.us() < late_us) continue;
    CHECK(worst_ps(step_at("packet").iterations, drawn.iterations) <= 1e6 * late_us);
    ++packets;
  }
  CHECK(packets >= 50);
}

// Links of 1 ns/B; between racks 4 us of latency. 1 MB takes 1 ms.
const Json racks = {{"shape", "leaf_spine"},
                    {"nodes_per_leaf", 2},
                    {"spines", 1},
                    {"nic", {{"latency", "1 us"}, {"per_byte", "1 ns/B"}}},
                    {"uplink", {{"latency", "1 us"}, {"per_byte", "1 ns/B"}}}};
const Json one_server = {{"servers", 1}, {"placement", "dedicated"}, {"alpha", "wire"}};

TEST_CASE("asynchronous: one worker, and two that share the port of a server, by hand") {
  // Two workers of one rack, a server in the next one: compute for 3 ms, push for 1 ms, pull for 1.
  Json one = job_of(experiment_of(racks, one_server), 1, 2);
  one["jobs"][0]["servers"] = "2";
  const std::vector<Duration> alone = {Duration::us(3000 + 1000 + 4),
                                       Duration::us(1000 + 3000 + 1000 + 8)};
  CHECK(played_job(one).result.iterations == alone);
  // The other worker's link to its rack's switch is not the server's: traffic on the same uplink
  // takes half of it from 0 on, and until 6 ms at least; pulls have their way to themselves.
  Json beside = one;
  beside["traffic"]["flows"] = {
      {{"generator", "incast"}, {"to", 3}, {"from", "1"}, {"size", "100 MB"}, {"start", "0 us"}}};
  beside["cluster"]["nodes"] = 4;
  CHECK(played_job(beside).result.iterations ==
        std::vector<Duration>{Duration::us(3000 + 2000 + 4), Duration::us(1000 + 3000 + 2000 + 8)});
  // Both workers; one takes 0.4 ms longer to compute. It pushes alone until 3.4 ms, both share
  // until the first has sent its rest of 0.6 MB at 4.6 ms, and the second its rest of 0.4 MB at 5
  // ms. The first is answered until 5.6 ms, then the second until 6.6 ms. They compute until 8.6
  // and 10 ms: the first has pushed when the second begins, and ends at 9.6, the second at 11 ms.
  Json two = job_of(experiment_of(racks, one_server), 2, 1);
  const Json slow = {{"worker", 1}, {"factor", 3.4 / 3}};
  two["jobs"][0]["experiment"]["workers"]["slow"] = Json::array({slow});
  const PlayedJob shared = played_job(two);
  REQUIRE(shared.result.iterations.size() == 2);
  CHECK(std::abs((shared.result.iterations[0] - Duration::us(5000 + 4)).ps()) <= 2);
  CHECK(std::abs((shared.result.iterations[1] - Duration::us(11'000 - 5000 + 8)).ps()) <= 4);
  // At ports one waits for the other: pushes end at 4 and 5 ms, answers at 5 and 6 ms, and the next
  // pushes at 9 and 10.4 ms.
  Json ports = two["jobs"][0]["experiment"];
  ports["cluster"] = {{"shape", "single_switch"},
                      {"nodes", 2},
                      {"nic", {{"latency", "2 us"}, {"per_byte", "1 ns/B"}}}};
  const StepResult in_turn =
      simulate_step(read_experiment(resolve_experiment(Value(ports, "t", ""), {})).question());
  CHECK(std::abs((in_turn.iterations[0] - Duration::us(5000 + 4)).ps()) <= 2);
  CHECK(std::abs((in_turn.iterations[1] - Duration::us(10'400 - 5000 + 8)).ps()) <= 4);
}

// A server on the first of four workers, 1 MB at 1 Gbit/s: 8 ms a message. That worker sends
// nothing: it updates every 0.4 ms. The others share the server's port: one of them every 8 ms. In
// an iteration, 4 of these 20 + 1 updates in 8 ms, the port carries a message of those each way.
// With a bound all go at the pace of the port, three messages an iteration. Two servers on two
// workers: each sends half and pulls half.
TEST_CASE("asynchronous: servers on workers have their own gradients for nothing") {
  const Json cluster = {{"shape", "single_switch"},
                        {"nodes", 4},
                        {"nic", {{"latency", "0 us"}, {"bandwidth", "1 Gbps"}}}};
  Json experiment = experiment_of(cluster, {{"servers", 1}, {"placement", "co_located"}});
  experiment["trace"]["layers"][0]["forward"] = "400 us";
  experiment["trace"]["layers"][0]["backward"] = "0 us";
  experiment["iterations"] = 420;
  const auto step_at = [](Json json, const char* fidelity) {
    json["fidelity"] = fidelity;
    return simulate_step(read_experiment(resolve_experiment(Value(json, "t", ""), {})).question());
  };
  Json bound = experiment;
  bound["synchronization"] = {{"name", "ssp"}, {"staleness", 3}};
  Json two = experiment;
  two["cluster"]["nodes"] = 2;
  two["collective"]["parameter_server"]["servers"] = 2;
  for (const char* fidelity : {"closed_form", "message", "flow"}) {
    CAPTURE(fidelity);
    const auto mean_us = [&](const Json& json) {
      const StepResult result = step_at(json, fidelity);
      return result.total().us() / static_cast<double>(result.iterations.size());
    };
    CHECK(mean_us(experiment) == doctest::Approx(8000. * 4 / 21).epsilon(0.005));
    CHECK(mean_us(bound) == doctest::Approx(24'000).epsilon(0.005));
    CHECK(mean_us(two) == doctest::Approx(8400).epsilon(0.005));
    if (std::string_view(fidelity) == "closed_form") continue;
    CHECK(step_at(experiment, fidelity).wire_B == doctest::Approx(2e6 * 4 / 21).epsilon(0.02));
  }
  CHECK(step_at(experiment, "closed_form").quality.staleness_max == 62);  // 20 + 1 over 1/3, less 1
}

TEST_CASE("asynchronous: bytes are conserved and no link has more than it can carry") {
  Random random(18);
  for (int tries = 0; tries < 60; ++tries) {
    Question question = random_question(random);
    // Computation as long as the exchange: everybody meets everybody.
    for (int64_t& compute : question.compute_us) compute = 1 + compute / 200;
    question.dedicated = true;
    question.iterations = 1 + static_cast<int>(random.below(20));
    const Json experiment = json_of(question);
    CAPTURE(experiment.dump());
    const PlayedJob played = played_job(job_of(experiment, question.workers, question.servers));
    // Up the sender's link and down the receiver's, pushes and pulls.
    const double exchanges = played.iterations * question.workers;
    const double all_B = 4. * static_cast<double>(question.parameters) * exchanges * 2 * 2;
    CHECK(played.carried_B == doctest::Approx(all_B).epsilon(1e-9));
    CHECK(exchanges >= question.workers * question.iterations);
    if (question.workers < 2) continue;
    Json co_located = experiment;
    co_located["collective"]["parameter_server"]["placement"] = "co_located";
    co_located["collective"]["parameter_server"]["servers"] = 1;
    co_located["fidelity"] = "flow";
    const StepResult step = simulate_step(
        read_experiment(resolve_experiment(Value(co_located, "t", ""), {})).question());
    REQUIRE_FALSE(step.wires.busiest.empty());
    CHECK(step.wires.busiest.front().utilisation > 0);
    CHECK(step.wires.busiest.front().utilisation <= 1 + 1e-9);
  }
}

// An asynchronous job and a synchronous one, each in its own rack and then across both.
TEST_CASE("asynchronous: beside other jobs") {
  Json file = {{"cluster", racks}, {"jobs", Json::array()}};
  file["cluster"]["nodes"] = 8;
  file["cluster"]["nodes_per_leaf"] = 4;
  Json experiment = experiment_of({}, one_server);
  experiment.erase("cluster");
  experiment["iterations"] = 20;
  file["jobs"].push_back({{"experiment", experiment}, {"placement", "0-2"}, {"servers", "3"}});
  Json ring = experiment;
  ring["collective"] = {{"algorithm", "ring"}, {"options", {{"alpha", "wire"}}}};
  ring.erase("synchronization");
  file["jobs"].push_back({{"experiment", ring}, {"placement", "4-7"}});
  const auto slowdowns = [&] {
    const Temporary stored(Temporary::Kind::file, file.dump());
    const Ran ran = run_sgdsim({"jobs", stored.name(), "--format", "json"});
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    const Json jobs = Json::parse(ran.out)["jobs"];
    return std::pair(jobs[0]["slowdown"].get<double>(), jobs[1]["slowdown"].get<double>());
  };
  CHECK(slowdowns() == std::pair(1., 1.));
  // Pushes and pulls cross the uplinks, and so does the ring, both ways.
  file["jobs"][0]["placement"] = "0-1,4";
  file["jobs"][0]["servers"] = "5";
  file["jobs"][1]["placement"] = "2-3,6-7";
  const auto [asynchronous, synchronous] = slowdowns();
  CHECK(asynchronous > 1.01);
  CHECK(synchronous > 1.01);
  CHECK(asynchronous < 2);
  CHECK(synchronous < 2);
}

TEST_CASE("asynchronous: what wires cannot have is refused with a sentence") {
  const Json cluster = {{"shape", "single_switch"},
                        {"nodes", 4},
                        {"nic", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}}};
  const auto refusal = [&](const Json& servers, const Json& changes) {
    Json json = experiment_of(cluster, servers);
    json["fidelity"] = "flow";
    json.merge_patch(changes);
    try {
      simulate_step(read_experiment(resolve_experiment(Value(json, "t", ""), {})).question());
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Json on_workers = {{"servers", 2}, {"placement", "co_located"}};
  CHECK(refusal(on_workers, Json::object()).empty());
  CHECK(refusal(on_workers, {{"collective", {{"parameter_server", {}}, {"algorithm", "ring"}}}})
            .find("needs parameter servers") != std::string::npos);
}
