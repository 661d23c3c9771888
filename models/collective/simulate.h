// One collective on one cluster, at one fidelity: the question and the answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/collective/collective.h"
#include "sim/net/cluster.h"
#include "sim/net/link_use.h"

namespace sgdsim {

enum class Fidelity : uint8_t { closed_form, message, flow, packet };
inline constexpr Named<Fidelity, 4> fidelities{{{"closed_form", Fidelity::closed_form},
                                                {"message", Fidelity::message},
                                                {"flow", Fidelity::flow},
                                                {"packet", Fidelity::packet}}};
inline const auto& names_of(Fidelity) { return fidelities; }
// Whether messages are played on the wires of the cluster.
inline bool is_on_wires(Fidelity fidelity) { return fidelity >= Fidelity::flow; }
std::string_view name_of(Fidelity fidelity);
Fidelity fidelity_named(const std::string& name, const std::string& where);

// InputError if an option has no effect at this fidelity.
// `has_windows`: connections take what senders hand over, so that there is no other buffer.
void check_fidelity(Fidelity fidelity, const CollectiveOptions& options, bool has_windows);
// What messages share at fidelity flow.
std::unique_ptr<Resources> wires_of(const Cluster& cluster, const CollectiveOptions& options,
                                    uint64_t seed);

// What messages of several share: at fidelity message the ports of workers, of nodes and of racks,
// else wires. The cluster must stay.
std::unique_ptr<Resources> shared_at(Fidelity fidelity, const Cluster& cluster,
                                     const RouteChoice& routes);

struct CollectiveQuestion {
  std::string algorithm = "ring";  // or "auto": the cheapest of all that offer the operation
  Operation operation = Operation::allreduce;
  std::vector<Bytes> messages;  // one after the other
  std::optional<Bytes> block;
  std::optional<int> root;
  CollectiveOptions options;
  Duration latency = {};  // which a message takes at least, by a model that it stands for
  Fidelity fidelity = Fidelity::message;
  MakeCarrier carrier = {};    // on wires: of messages
  std::string transport = {};  // its name
  Meanwhile meanwhile = {};    // on the wires; at fidelity message, flows at the ports
  PathChoice path = PathChoice::fastest;
  MessageJitter jitter;
  std::vector<Time> starts;  // per worker; empty: all at 0
  // Filled in with every message, of which there may be so many; not of closed forms, nor for auto.
  MessageLog* log = nullptr;
  int64_t most_logged = 0;
  Stopper* stopper = nullptr;
};

struct Candidate {
  std::string algorithm;
  std::optional<Duration> time;
  std::string why_not;  // if it has no time
};

struct CollectiveAnswer {
  std::string algorithm;
  Duration time;
  Traffic traffic;
  double algbw_GBps = 0;  // bytes over time, decimal
  double busbw_GBps = 0;  // algbw times what the operation must move per byte
  Fidelity fidelity = Fidelity::message;
  std::string transport = {};  // on wires: how messages were sent; empty: they shared them evenly
  std::string path;            // formula, symmetric, rounds, events, none
  std::vector<std::string> warnings;
  WireUse wires;                      // fidelity flow
  std::vector<Candidate> candidates;  // auto: every algorithm looked at, best first
};

// InputError where the question has no answer; `where` is named in it.
CollectiveAnswer simulate_collective(const CollectiveQuestion& question, const Cluster& cluster,
                                     const std::string& where);

// What the closed form of an algorithm says of itself, or does not know of the network.
inline constexpr char worst_pair_said[] =
    "the closed form charges every message the cost of the worst pair";
std::vector<std::string> notes_of_formula(const Algorithm& algorithm, const CollectiveJob& job,
                                          const Network& network);

// What a job needs as its launch so that a short message takes this latency: nothing where the
// start-ups of its messages are as long.
Duration launch_for(Duration latency, const Algorithm& algorithm, CollectiveJob job);

// Why the costs of this cluster do not reach the messages of a program; empty if they do.
std::string beyond_valid(const Program& program, const Cluster& cluster);

// Bytes that cross each port per byte of the message, in the convention of nccl-tests: 2(P-1)/P for
// all-reduce, (P-1)/P for reduce-scatter, all-gather and all-to-all, 1 for broadcast and reduce.
double bus_factor(Operation operation, int ranks);

}  // namespace sgdsim
