// What sgdsim plays at fidelity flow, played by SimGrid: for bench/peers/compare.py.
//
//   simgrid_peer flows FILE.csv SHAPE K HOSTS LATENCY_s BANDWIDTH_Bps
//   simgrid_peer ring|recursive_doubling SIZE_B SHAPE K HOSTS LATENCY_s BANDWIDTH_Bps
//
// FILE.csv has start_us,from,to,size_B. SHAPE is fat_tree or single_switch. Prints the end of every
// flow, or of the all-reduce, in seconds.
#include <cstdio>
#include <fstream>
#include <simgrid/kernel/routing/FatTreeZone.hpp>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

struct Flow {
  double start = 0;
  int from = 0;
  int to = 0;
  uint64_t size_B = 0;
};

std::vector<Flow> read_flows(const std::string& file) {
  std::vector<Flow> flows;
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    Flow flow;
    double size = 0;
    if (std::sscanf(line.c_str(), "%lf,%d,%d,%lf", &flow.start, &flow.from, &flow.to, &size) != 4)
      continue;
    flow.start *= 1e-6;
    flow.size_B = static_cast<uint64_t>(size);
    flows.push_back(flow);
  }
  return flows;
}

std::vector<sg4::Host*> hosts;

void make_fat_tree(unsigned k, unsigned count, double latency, double bandwidth) {
  auto* zone = sg4::create_fatTree_zone(
      "tree", nullptr, {3, {k / 2, k / 2, k}, {1, k / 2, k / 2}, {1, 1, 1}},
      {[](sg4::NetZone* tree, const std::vector<unsigned long>&, unsigned long id) {
         sg4::Host* host = tree->create_host("host" + std::to_string(id), 1e9)->seal();
         return std::make_pair(host->get_netpoint(),
                               static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
       },
       {},
       {}},
      bandwidth, latency, sg4::Link::SharingPolicy::SPLITDUPLEX);
  zone->seal();
  for (unsigned i = 0; i < count; ++i)
    hosts.push_back(sg4::Host::by_name("host" + std::to_string(i)));
}

void make_switch(unsigned count, double latency, double bandwidth) {
  auto* zone = sg4::create_star_zone("star");
  for (unsigned i = 0; i < count; ++i) {
    const std::string name = "host" + std::to_string(i);
    sg4::Host* host = zone->create_host(name, 1e9)->seal();
    const auto* link = zone->create_split_duplex_link("nic" + std::to_string(i), bandwidth)
                           ->set_latency(latency)
                           ->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                    {{link, sg4::LinkInRoute::Direction::UP}}, true);
    hosts.push_back(host);
  }
  zone->seal();
}

// Every host is an actor; a round sends to one and receives from one.
void all_reduce(sg4::Engine& engine, const std::string& algorithm, double size_B) {
  const auto count = hosts.size();
  for (std::size_t me = 0; me < count; ++me)
    sg4::Actor::create("actor" + std::to_string(me), hosts[me], [=] {
      static int token = 0;
      auto exchange = [&](std::size_t to, std::size_t from, double bytes) {
        auto name = [](std::size_t a, std::size_t b) {
          return std::to_string(a) + ">" + std::to_string(b);
        };
        auto sent =
            sg4::Mailbox::by_name(name(me, to))->put_async(&token, static_cast<uint64_t>(bytes));
        int* got = nullptr;
        auto received = sg4::Mailbox::by_name(name(from, me))->get_async<int>(&got);
        sent->wait();
        received->wait();
      };
      if (algorithm == "ring") {
        for (std::size_t round = 0; round < 2 * (count - 1); ++round)
          exchange((me + 1) % count, (me + count - 1) % count, size_B / static_cast<double>(count));
      } else {
        for (std::size_t mask = 1; mask < count; mask *= 2) exchange(me ^ mask, me ^ mask, size_B);
      }
    });
  engine.run();
}

}  // namespace

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config("network/TCP-gamma:0");
  sg4::Engine::set_config("network/crosstraffic:0");
  sg4::Engine::set_config("maxmin/precision:1e-9");
  sg4::Engine::set_config("surf/precision:1e-12");
  if (argc != 8) return 2;
  const std::string what = argv[1];
  const auto k = static_cast<unsigned>(std::stoul(argv[4]));
  const auto count = static_cast<unsigned>(std::stoul(argv[5]));
  if (std::string(argv[3]) == "fat_tree")
    make_fat_tree(k, count, std::stod(argv[6]), std::stod(argv[7]));
  else
    make_switch(count, std::stod(argv[6]), std::stod(argv[7]));
  if (what != "flows") {
    all_reduce(engine, what, std::stod(argv[2]));
    std::printf("%.15g\n", sg4::Engine::get_clock());
    return 0;
  }
  const std::vector<Flow> flows = read_flows(argv[2]);
  std::vector<double> ends(flows.size());
  sg4::Actor::create("sender", hosts.front(), [&] {
    std::vector<sg4::CommPtr> comms;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const double wait = flows[i].start - sg4::Engine::get_clock();
      if (wait > 0) sg4::this_actor::sleep_for(wait);
      auto comm = sg4::Comm::sendto_init(hosts[static_cast<std::size_t>(flows[i].from)],
                                         hosts[static_cast<std::size_t>(flows[i].to)]);
      comm->set_payload_size(flows[i].size_B);
      comm->start();
      comms.push_back(comm);
    }
    for (std::size_t i = 0; i < comms.size(); ++i) {
      comms[i]->wait();
      ends[i] = comms[i]->get_finish_time();
    }
  });
  engine.run();
  for (const double end : ends) std::printf("%.15g\n", end);
  return 0;
}
