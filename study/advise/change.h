// What could be changed about a training step, each change as settings of `sgdsim run --set`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "study/step/experiment.h"

namespace sgdsim {

enum class ChangeKind : uint8_t {
  strategy,
  buckets,  // other sizes of the same strategy
  algorithm,
  compression,
  staleness,
  bandwidth,
  latency,
  nodes,
  compute,
  storage,      // of a whole training: faster saves,
  reliability,  // rarer failures,
  spares,       // more nodes that wait,
  own,          // somebody asked for it, and it is none of the others
  saving,       // of a whole training: how the state is saved,
  restarting,   // how soon work goes on after a failure,
  repairing,    // which nodes come back, and when
  hardware,     // of somebody's own: another cluster, in more than its links and nodes
  batch         // of somebody's own: other numbers of samples of a worker
};
inline constexpr Named<ChangeKind, 18> change_kinds{{{"strategy", ChangeKind::strategy},
                                                     {"buckets", ChangeKind::buckets},
                                                     {"algorithm", ChangeKind::algorithm},
                                                     {"compression", ChangeKind::compression},
                                                     {"staleness", ChangeKind::staleness},
                                                     {"bandwidth", ChangeKind::bandwidth},
                                                     {"latency", ChangeKind::latency},
                                                     {"nodes", ChangeKind::nodes},
                                                     {"compute", ChangeKind::compute},
                                                     {"own", ChangeKind::own},
                                                     {"storage", ChangeKind::storage},
                                                     {"reliability", ChangeKind::reliability},
                                                     {"spares", ChangeKind::spares},
                                                     {"saving", ChangeKind::saving},
                                                     {"restarting", ChangeKind::restarting},
                                                     {"repairing", ChangeKind::repairing},
                                                     {"hardware", ChangeKind::hardware},
                                                     {"batch", ChangeKind::batch}}};
inline const auto& names_of(ChangeKind) { return change_kinds; }
inline std::string_view name_of(ChangeKind kind) { return name_in(change_kinds, kind); }
// Whether the training may need more or other iterations to the same accuracy.
inline bool alters_learning(ChangeKind kind) {
  return kind == ChangeKind::compression || kind == ChangeKind::staleness ||
         kind == ChangeKind::batch;
}
// Whether somebody has to buy something.
inline bool needs_hardware(ChangeKind kind) {
  return (kind >= ChangeKind::bandwidth && kind <= ChangeKind::spares) ||
         kind == ChangeKind::hardware;
}

struct Change {
  std::string name;  // for people
  std::vector<ChangeKind> kinds;
  std::vector<std::string> settings;  // as of --set
  std::string how;                    // what to set in real programs; empty: nothing known
  std::string assumes;                // beyond what the models say of themselves
  std::string strategy = {};          // by which gradients are sent with it
  std::string algorithm = {};         // that it changes to
  bool is_of_training = false;        // settings are those of `sgdsim goodput`
  bool is_bound = false;              // what nobody can set, and nothing that can be set exceeds
  bool is_own = false;                // somebody asked for it
};

struct ChangeList {
  std::vector<Change> changes;
  // What could not be asked, and why: "twice the bandwidth", "the curve was measured on ...".
  std::vector<std::pair<std::string, std::string>> left_out;
};

// All that can be changed about this experiment. A change that leaves it as it is, is none.
ChangeList changes_of(const ResolvedExperiment& base, const Experiment& experiment);

// A strategy, and an algorithm for it.
Change both(const Change& first, const Change& second);

}  // namespace sgdsim
