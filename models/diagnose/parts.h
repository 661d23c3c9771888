// Which part costs most: what a step would take if one part of it did as its likes do.
//
// Repair is not balance: a slow worker is compared with the same stage of the other replicas, a
// long stage with the other stages, a link and an exchange with the usual transfer of their kind,
// and a pass with the other passes of its worker. So a part that was always as slow as all its
// likes costs nothing here.
//
// What a worker does outside its passes (update, loading, idle time) counts as its own: it begins
// when the last exchange has ended, which is the same moment for all its likes. Only where a
// collective that is not in the record lies there does it hold waiting for others, and then for all
// of them alike, so that nobody is blamed.
#pragma once

#include <vector>

#include "models/diagnose/step_work.h"
#include "sim/core/named.h"

namespace sgdsim::diagnose {

enum class PartKind : uint8_t {
  worker,     // takes longer than the same stage of other replicas, always or now and then
  stage,      // has more to compute than the other stages
  sequences,  // some micro-batches take longer than others on all their stages
  pauses,     // what took much longer than usual on its worker, and collection of garbage
  link,       // between two stages of a replica
  card,       // all exchanges of a worker
  replicas,   // exchanges between the replicas of a stage
  embedding,  // exchange of a replica's first and last stage
  clipping    // everybody's
};
inline constexpr Named<PartKind, 9> part_kinds{{{"worker", PartKind::worker},
                                                {"stage", PartKind::stage},
                                                {"sequences", PartKind::sequences},
                                                {"pauses", PartKind::pauses},
                                                {"link", PartKind::link},
                                                {"card", PartKind::card},
                                                {"replicas", PartKind::replicas},
                                                {"embedding", PartKind::embedding},
                                                {"clipping", PartKind::clipping}}};
inline const auto& names_of(PartKind) { return part_kinds; }

struct Part {
  PartKind kind = PartKind::worker;
  int worker = -1;  // of worker and card; of a link: the earlier stage's
  int peer = -1;    // of a link: the later stage's
  int stage = -1;
  int replica = -1;
  double saved_s = 0;  // of a step, if it were repaired
  double share = 0;    // of its operations that took over 1.2 times as long as after the repair
  double outside = 0;  // of what its operations take less: outside the passes
};

// Those whose repair saves at least a thousandth of a step, the most first. A part that is included
// in another one comes before it if it saves nearly as much.
std::vector<Part> parts_of(const StepWork& work, double played_s);

}  // namespace sgdsim::diagnose
