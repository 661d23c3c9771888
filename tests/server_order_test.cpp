// In which order parts go to parameter servers and come back: an answer does not wait for one that
// is not ready, workers do not crowd at one server, and from when on more servers are not slower.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <utility>

#include "models/server/parameter_server.h"
#include "models/step/step.h"
#include "sim/core/random.h"
#include "study/step/experiment.h"
#include "tests/server_cases.h"

using namespace sgdsim;

namespace {

// One that takes what comes in the order of its first bytes; of equal ones as they were sent.
struct Coming {
  Time first_byte;
  int64_t sent = 0;
  int worker = 0;
  std::size_t part = 0;
  Leg leg;
  bool operator<(const Coming& other) const {
    return std::pair(first_byte, sent) < std::pair(other.first_byte, other.sent);
  }
};

// Push and pull to dedicated servers with hashed parts, without a clock of the whole: what workers
// send, what servers take and sum, what they answer, what workers take.
std::vector<Time> read_port_by_port(const ParameterServers& group, const Network& network,
                                    Bytes size, const std::vector<Time>& starts) {
  const Network all = with_servers(network, group.servers);
  const Wires wires(all, group.alpha);
  const std::vector<ServerPart> parts = parts_of(group, size, {});
  const auto count = static_cast<int>(starts.size());
  std::vector<std::vector<Coming>> at_server(static_cast<std::size_t>(group.servers));
  int64_t number = 0;
  for (int worker = 0; worker < count; ++worker) {
    Time port = starts[static_cast<std::size_t>(worker)];
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const int server = parts[part].server;
      const Leg leg = wires.leg(worker, count + server, parts[part].size_B, true);
      at_server[static_cast<std::size_t>(server)].push_back(
          {port + leg.flight, number++, worker, part, leg});
      port += leg.out_busy;
    }
  }
  std::vector<std::vector<Coming>> at_worker(starts.size());
  for (int server = 0; server < group.servers; ++server) {
    std::vector<Coming>& coming = at_server[static_cast<std::size_t>(server)];
    std::sort(coming.begin(), coming.end());
    std::vector<Time> ready(parts.size());
    std::vector<int> there(parts.size());
    std::vector<std::pair<Time, std::size_t>> answers;  // in the order in which parts are complete
    Time port;
    for (const Coming& it : coming) {
      const Time begins = std::max(port, it.first_byte);
      port = begins + it.leg.in_busy;
      Time end = begins + it.leg.transit;
      if (there[it.part]++ > 0) {
        end = std::max(end, ready[it.part]) + it.leg.fold;
        port += it.leg.fold;
      }
      ready[it.part] = end;
      if (there[it.part] == count) answers.emplace_back(end, it.part);
    }
    std::stable_sort(answers.begin(), answers.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Time out;
    for (const auto& [when, part] : answers)
      for (int i = 0; i < count; ++i) {
        const int worker = (server + i) % count;
        const Leg leg = wires.leg(count + server, worker, parts[part].size_B, false);
        const Time leaves = std::max(when, out);
        out = leaves + leg.out_busy;
        at_worker[static_cast<std::size_t>(worker)].push_back(
            {leaves + leg.flight, when.ps(), worker, part, leg});
      }
  }
  std::vector<Time> ends = starts;
  for (std::size_t worker = 0; worker < starts.size(); ++worker) {
    std::sort(at_worker[worker].begin(), at_worker[worker].end());
    Time port;
    for (const Coming& it : at_worker[worker]) {
      const Time begins = std::max(port, it.first_byte);
      port = begins + it.leg.in_busy;
      ends[worker] = std::max(ends[worker], begins + it.leg.transit);
    }
  }
  return ends;
}

}  // namespace

// Where the formulas of the header say so: of all pushing at once, up to S = P; in the steady state
// one more of S dedicated servers gains if n beta > 2 S (S+1) alpha / (P-1) while P + 2 S + 1 <= 2
// P, and P servers on workers over one if n beta (P - 2 + 2/P) > (P-2) alpha. Shorter messages get
// slower.
TEST_CASE("servers: from which size on more of them are not slower") {
  Random random(62);
  int gained = 0;
  int lost = 0;
  for (int round = 0; round < 400; ++round) {
    const int P = 2 + static_cast<int>(random.below(14));
    const double alpha_us = random.uniform(1, 40);
    const PairCost cost{Duration::nearest_ps(alpha_us * 1e6), PerByte::ps(800), {}};
    const Network network = Network::uniform(P, cost);
    const auto size = static_cast<int64_t>(std::exp(random.uniform(0, std::log(2e7))));
    const double bytes_us = static_cast<double>(size) * 800e-6;
    const auto exchange = [&](int count, bool dedicated) {
      return push_pull_time(read_servers(servers(count, dedicated ? "" : co_located), network),
                            Bytes(size), {});
    };
    for (int S = 1; S < P; ++S) {
      CAPTURE(P);
      CAPTURE(S);
      CAPTURE(size);
      for (const bool dedicated : {true, false})
        CHECK(exchange(S + 1, dedicated).together <=
              exchange(S, dedicated).together + Duration::ps(P));
      if (P + 2 * S + 1 > 2 * P) continue;
      const double least_us = 2. * S * (S + 1) * alpha_us / (P - 1);
      if (std::abs(bytes_us - least_us) < 1e-3 * least_us) continue;
      const bool gains = exchange(S + 1, true).steady() < exchange(S, true).steady();
      CHECK(gains == (bytes_us > least_us));
      (gains ? gained : lost) += 1;
    }
    const double one_us = bytes_us * (P - 2 + 2. / P);
    const double least_us = (P - 2) * alpha_us;
    if (P > 2 && std::abs(one_us - least_us) > 1e-3 * least_us)
      CHECK((exchange(P, false).steady() < exchange(1, false).steady()) == (one_us > least_us));
  }
  CHECK(gained > 300);
  CHECK(lost > 300);
}

// Message by message, where all push at once: never slower up to S = P, with messages long or
// short.
TEST_CASE("servers: at once, more of them are never slower, message by message") {
  Random random(63);
  for (int round = 0; round < 60; ++round) {
    const int P = 2 + static_cast<int>(random.below(11));
    const PairCost cost{Duration::us(static_cast<int64_t>(random.below(30))), PerByte::ps(800),
                        PerByte::ps(static_cast<double>(random.below(300)))};
    const Network network = Network::uniform(P, cost);
    const auto size = static_cast<int64_t>(std::exp(random.uniform(0, std::log(2e7))));
    for (const bool dedicated : {true, false}) {
      Duration before = Duration::longest();
      for (int S = 1; S <= P; ++S) {
        CAPTURE(P);
        CAPTURE(S);
        CAPTURE(size);
        const ParameterServers group =
            read_servers(servers(S, dedicated ? "" : co_located), network);
        const Played played = play_push_pull(group, network, Bytes(size), {},
                                             std::vector<Time>(static_cast<std::size_t>(P)));
        const Duration now = *std::max_element(played.ends.begin(), played.ends.end()) - Time();
        CHECK(now.us() <= before.us() * (1 + 1e-6));
        before = now;
      }
    }
  }
}

// On wires, an exchange of n bytes among P workers keeps every server busy both ways for P n/S, or
// for (P-1) n/S on a worker: nobody can be faster, and with 4 MB at 10 Gbit/s nobody is slower.
TEST_CASE("servers: on wires, everybody begins at another server") {
  for (const char* fidelity : {"flow", "packet"})
    for (const bool dedicated : {true, false})
      for (int P = 2; P <= 7; ++P) {
        double before_us = std::numeric_limits<double>::infinity();
        for (int S = 1; S <= P; ++S) {
          const Json placement = dedicated ? "dedicated" : "co_located";
          const Json json = {
              {"trace",
               {{"layers",
                 {{{"name", "l"},
                   {"parameters", 1'000'000},
                   {"forward", "1 s"},  // longer than any push of the iteration before
                   {"backward", "0 us"}}}}}},
              {"cluster",
               {{"shape", "single_switch"},
                {"nodes", P},
                {"nic", {{"latency", "0 us"}, {"bandwidth", "10 Gbps"}}}}},
              {"collective", {{"parameter_server", {{"servers", S}, {"placement", placement}}}}},
              {"fidelity", fidelity},
              {"warm_up", 0}};
          const Experiment experiment =
              read_experiment(resolve_experiment(Value(json, "t", ""), {}));
          const double now_us = simulate_step(experiment.question()).iterations.front().us() - 1e6;
          CAPTURE(json.dump());
          const double least_us = 2. * (dedicated ? P : P - 1) * 3200 / S;
          CHECK(now_us >= least_us * (1 - 1e-6));
          // A packet of 4,096 B is stored at the switch before it goes on.
          CHECK(now_us <= least_us * (1 + 1e-6) + (experiment.carrier ? 4 * P * 3.2768 : 0));
          CHECK(now_us <= before_us);
          before_us = now_us;
        }
      }
}

// Worker 1 has a tenth of the rate of worker 0 and of the server, 1 ns/B, and folding takes 20
// ns/B. Parts of 100 B and 10 B. The server takes the first from worker 0 at 0 and from worker 1 at
// 100 ns: it is there at 1100 and folded at 3100 ns. Its port is free at 2200 ns and takes the
// second from worker 0, then at 2210 ns from worker 1: it is there at 2310 and folded at 2510 ns.
// So the second part is answered first, from 2510 ns on; the first one is there at 3200 ns on
// worker 0, and on worker 1 1000 ns after it left at 3200 ns.
TEST_CASE("hashed servers: an answer does not wait for one that is not ready, by hand") {
  Network network = Network::uniform(2, {{}, PerByte::ps(1), PerByte::ps(20'000)});
  const auto port = [](double per_byte_ps) {
    const PairCost cost{{}, PerByte::ps(per_byte_ps), {}};
    return Port{cost, cost};
  };
  network.set_ports({port(1000), port(10'000)});
  ParameterServers group = read_servers(servers(1, byteps + R"(,"partition":"100 B")"), network);
  group.alpha = AlphaRule::wire;
  const Played played = play_push_pull(group, network, Bytes(110), {}, {Time(), Time()});
  CHECK(played.ends[0] == Time() + Duration::ns(3200));
  CHECK(played.ends[1] == Time() + Duration::ns(4200));
}

// Dedicated servers: pushes come to their ports before any answer leaves them, so that each port
// can be read by itself. An answer leaves when it is ready and those that were ready before it have
// left.
TEST_CASE("hashed servers: at uneven ports, as one port after the other says") {
  Random random(64);
  int compared = 0;
  for (int round = 0; round < 3000; ++round) {
    const int P = 2 + static_cast<int>(random.below(6));
    const int S = 1 + static_cast<int>(random.below(4));
    const auto rate = [&] { return PerByte::ps(static_cast<double>(100 + random.below(5000))); };
    Network network =
        Network::uniform(P, {Duration::ns(static_cast<int64_t>(random.below(50))), rate(),
                             PerByte::ps(static_cast<double>(random.below(900)))});
    std::vector<Port> ports;
    for (int worker = 0; worker < P; ++worker)
      ports.push_back({{{}, rate(), {}}, {{}, rate(), {}}});
    network.set_ports(ports);
    const std::string partition = R"(,"partition":")" + std::to_string(1 + random.below(400));
    ParameterServers group = read_servers(servers(S, byteps + partition + " B\""), network);
    if (random.below(2) == 0) group.alpha = AlphaRule::wire;
    std::vector<Time> starts;
    for (int worker = 0; worker < P; ++worker)
      starts.push_back(Time() + Duration::ns(static_cast<int64_t>(random.below(3000))));
    const Bytes size(1 + static_cast<int64_t>(random.below(1500)));
    CAPTURE(round);
    const Played played = play_push_pull(group, network, size, {}, starts);
    CHECK(played.ends == read_port_by_port(group, network, size, starts));
    ++compared;
  }
  CHECK(compared == 3000);
}
