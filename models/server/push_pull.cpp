// Pushes and answers in the order in which they reach a port. An actor of the clockwork that sends
// nothing: it knows when ports are free.
#include <algorithm>
#include <optional>

#include "models/server/parameter_server.h"
#include "sim/core/error.h"
#include "sim/play/clockwork.h"

namespace sgdsim {
namespace {

class PushPull {
 public:
  PushPull(const ParameterServers& servers, const Network& network,
           const std::vector<ServerPart>& parts, std::vector<Time> starts)
      : servers_(servers),
        extended_(servers.dedicated ? std::optional(with_servers(network, servers.servers))
                                    : std::nullopt),
        wires_(extended_ ? *extended_ : network, servers.alpha),
        parts_(parts),
        starts_(std::move(starts)),
        out_free_(starts_),
        sums_(parts.size()) {
    const double ways = static_cast<double>(parts.size()) * static_cast<double>(starts_.size());
    if (ways > UINT32_MAX)
      throw InputError(
          "", "more than 2^32 messages of one exchange with parameter servers: say fewer servers");
    ways_.resize(parts.size() * starts_.size());
    out_free_.resize(starts_.size() +
                     (servers.dedicated ? static_cast<std::size_t>(servers.servers) : 0));
    in_free_.resize(out_free_.size());
  }

  Played play() {
    played_.ends = starts_;
    push();
    Clockwork clockwork(clock_, *this);
    while (clockwork.step()) {
    }
    played_.path = PathTaken::events;
    return std::move(played_);
  }
  void happen(const Event& event, Time now) {
    switch (static_cast<Kind>(event.kind_of_actor())) {
      case pushed:
        return serve(event.subject(), now);
      case summed:
        return answer(event.subject(), now);
      case answered:
        return take(event.subject(), now);
    }
  }

 private:
  // The first byte of a part at the other end, by its way, or the end of a part's sum.
  enum Kind : uint8_t { pushed, summed, answered };
  // A part's to a worker, or from it.
  struct Way {
    Duration in_busy;
    Duration transit;
    Duration fold;
  };
  struct Sum {
    Time ready;
    Time own;            // gradient of a co-located server
    int missing = 0;     // pushes
    bool begun = false;  // something is there, to which the next one is folded
  };

  int workers() const { return servers_.workers; }
  int place(std::size_t part) const { return servers_.place(parts_[part].server); }
  Time& out(int endpoint) { return out_free_[static_cast<std::size_t>(endpoint)]; }
  Time& in(int endpoint) { return in_free_[static_cast<std::size_t>(endpoint)]; }

  // Sends when the port is free.
  void send(std::size_t part, int worker, bool is_answer, Time ready) {
    const int server = place(part);
    const int from = is_answer ? server : worker;
    const double size_B = parts_[part].size_B;
    const Leg way = wires_.leg(from, is_answer ? worker : server, size_B, !is_answer);
    Time& port = out(from);
    const Time start = std::max(ready, port);
    port = start + way.out_busy;
    ++played_.traffic.messages;
    played_.traffic.wire_B += size_B;
    const std::size_t number = part * starts_.size() + static_cast<std::size_t>(worker);
    ways_[number] = {way.in_busy, way.transit, way.fold};
    own_clock_.plan(is_answer ? answered : pushed, number, start + way.flight);
  }

  // The own gradient of a co-located server is there when its worker starts.
  void push() {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      Sum& sum = sums_[part];
      sum.missing = servers_.dedicated ? workers() : workers() - 1;
      sum.begun = !servers_.dedicated;
      if (sum.begun) sum.ready = sum.own = starts_[static_cast<std::size_t>(place(part))];
    }
    for (int worker = 0; worker < workers(); ++worker) {
      const std::size_t first = servers_.hashed ? 0 : static_cast<std::size_t>(worker);
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        const std::size_t part = (i + first) % parts_.size();
        if (place(part) != worker)
          send(part, worker, false, starts_[static_cast<std::size_t>(worker)]);
      }
    }
  }

  // Every gradient but the first is folded in; after the last one the server answers. Its port is
  // taken only then: until then it sends what is ready before.
  void serve(std::size_t number, Time now) {
    const std::size_t part = number / starts_.size();
    const Way& arrival = ways_[number];
    const int server = place(part);
    Sum& sum = sums_[part];
    Time& port = in(server);
    const Time begin = std::max(port, now);
    Time there = begin + arrival.transit;
    port = begin + arrival.in_busy;
    // The own gradient of a co-located server may be the last to be there.
    if (sum.begun) {
      port = std::max(port, sum.own) + arrival.fold;
      there = std::max(there, sum.ready) + arrival.fold;
    }
    sum.begun = true;
    sum.ready = there;
    if (--sum.missing == 0) own_clock_.plan(summed, part, sum.ready);
  }

  void answer(std::size_t part, Time now) {
    const int server = place(part);
    for (int i = 0; i < workers(); ++i) {
      const int worker = (server + i) % workers();
      if (worker == server)
        end(worker, now);
      else
        send(part, worker, true, now);
    }
  }

  void take(std::size_t number, Time now) {
    const int worker = static_cast<int>(number % starts_.size());
    const Way& arrival = ways_[number];
    Time& port = in(worker);
    const Time begin = std::max(port, now);
    port = begin + arrival.in_busy;
    end(worker, begin + arrival.transit);
  }

  void end(int worker, Time time) {
    Time& last = played_.ends[static_cast<std::size_t>(worker)];
    last = std::max(last, time);
  }

  const ParameterServers& servers_;
  std::optional<Network> extended_;
  Wires wires_;
  const std::vector<ServerPart>& parts_;
  std::vector<Time> starts_;
  std::vector<Time> out_free_;  // per endpoint
  std::vector<Time> in_free_;
  std::vector<Way> ways_;  // part by part, of each worker
  std::vector<Sum> sums_;  // per part
  Agenda agenda_;
  Clock clock_{agenda_, nullptr, nullptr};
  ActorClock own_clock_{clock_, 1};
  Played played_;
};

}  // namespace

Played play_push_pull(const ParameterServers& servers, const Network& network, Bytes size,
                      const TensorPart& part, std::vector<Time> starts) {
  if (servers.is_alone() || size.count() == 0) {
    Played nothing;
    nothing.ends = std::move(starts);
    return nothing;
  }
  const std::vector<ServerPart> parts = parts_of(servers, size, part);
  if (servers.barrier)
    starts.assign(starts.size(), *std::max_element(starts.begin(), starts.end()));
  return PushPull(servers, network, parts, std::move(starts)).play();
}

}  // namespace sgdsim
