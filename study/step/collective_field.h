// The field `collective` of an experiment: how one message of gradients is exchanged.
//
// By an algorithm, by the best one for each message (`auto`), as NCCL would choose and expects
// (`nccl`), by parameter servers, or at constants or a curve that were measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/collective/collective.h"
#include "models/strategy/cost.h"
#include "sim/core/json.h"
#include "sim/net/cluster.h"

namespace sgdsim {

struct CollectiveField {
  std::string name;                          // for people: "ring", "a + bM", "measured curve"
  std::vector<const Algorithm*> algorithms;  // one, or those that `auto` chooses from
  CollectiveOptions options;
  std::optional<Bytes> block;
  std::optional<std::vector<std::string>> nccl;  // the options of NCCL's model, as key=value
  Duration launch;                               // of one message, with NCCL's model
  std::optional<Value> servers;
  std::optional<Curve> curve;
  MessageCost constants;              // where none of these is given
  std::optional<int> measured_ranks;  // of a curve, if its file says so
  bool on_wires = false;              // its messages share the wires of their routes
  std::string where;

  bool offers(Operation operation) const;
  // InputError if it cannot be done. The cluster must outlive the cost, or MessageCost::on be
  // called.
  MessageCost cost(const Cluster& cluster, Operation operation) const;
  // What to know of its times on this cluster: that a curve was measured among other ranks, or that
  // NCCL's model does not know the GPUs. Empty if there is nothing.
  std::string note_on(const Cluster& cluster) const;
  // Another algorithm on the same links.
  CollectiveField replaced_by(const std::string& algorithm, const std::string& named_in) const;
  // How any algorithm's messages meet there, where this says nothing itself.
  void take_options_of(const CollectiveField& field);
};

// "ring" as {"algorithm": "ring"}, and likewise "auto", "nccl" and "parameter_server"; whatever
// is no name of a collective stays as it is, a path of a file for example.
Json named_collective(Json given);

// Whether an experiment says itself what an exchange costs, whatever its cluster is: constants,
// lines or a curve.
bool gives_costs(const Json& experiment);

CollectiveField read_collective(const Value& value);
// An object that has options alone says them of what is usual.
CollectiveField read_collective(const Value& value, const Json& usual);
// A name, the path of a file, or one of these objects.
Json schema_of_collectives();
// By an algorithm, a ring if none is named; with more fields.
Json schema_of_played_collectives(const Fields& more);
// The file that `sgdsim fit` writes.
Json schema_of_measured_curves();

}  // namespace sgdsim
