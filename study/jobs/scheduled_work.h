// What a job does that is no experiment: a schedule, a layout, or a collective.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/training/gpu.h"
#include "models/training/layout.h"
#include "models/training/packed_documents.h"
#include "sim/core/fields.h"
#include "sim/net/cluster.h"
#include "sim/work/rank_schedule.h"
#include "study/layout/usual_reach.h"
#include "study/replay/chakra_schedule.h"

namespace sgdsim {

// Ready to be played on as many workers as it has ranks.
struct ScheduledWork {
  std::string kind;  // of work: "schedule", "layout", "collective"
  std::string what;  // for people
  RankSchedule schedule{0};
  int times = 1;
  std::vector<std::string> notes = {};
};

// As a job's file has it.
struct WorkFields {
  std::optional<Value> schedule, layout, collective;
  int iterations = 1;
};
Fields fields_of(WorkFields& work);
inline constexpr char one_work[] =
    "a job is one of: an experiment, a schedule, a layout, a collective";

// As its job says it.
class WorkOfJob {
 public:
  // Takes its fields; nothing if the job has an experiment. `workers`: how many the job asks for,
  // of those of `cluster`.
  static std::optional<WorkOfJob> read(Object& fields, const std::optional<int64_t>& workers,
                                       const Cluster& cluster);

  // Empty: as many as there are workers.
  std::optional<int64_t> ranks() const;
  // Whether its collectives are hierarchical, by the nodes of the cluster.
  bool goes_by_node() const;
  ScheduledWork on(const Cluster& part, const UsualReach& reach) const;

 private:
  struct Goal {
    std::string file;
    RankSchedule schedule;
  };
  struct Chakra {
    std::vector<std::string> files;
    std::string groups;
    std::optional<Value> algorithm;  // as given
    AlgorithmChoice algorithms;      // that it names
  };
  struct Parallel {
    Transformer model;
    Layout layout;
    Gpu gpu;
    Precision precision = Precision::bf16;
    int64_t sequence = 0;
    std::shared_ptr<const PackedDocuments> documents = {};
    AlgorithmChoice algorithms;
    std::vector<std::string> notes;
  };
  struct Collective {
    Json field;
    Operation operation = Operation::allreduce;
    Bytes size;
  };

  WorkOfJob(const Value& where, int times) : where_(where), times_(times) {}
  using Work = std::variant<std::monostate, Goal, Chakra, Parallel, Collective>;
  static Work read_schedule(const Value& value);
  static Parallel read_parallel(const Value& value, const std::optional<int64_t>& workers,
                                const Cluster& cluster);
  static Collective read_collective_work(const Value& value);

  ScheduledWork of(const Goal& goal, const Cluster& part) const;
  ScheduledWork of(const Chakra& chakra, const Cluster& part) const;
  ScheduledWork of(const Parallel& parallel, const Cluster& part, const UsualReach& reach) const;
  ScheduledWork of(const Collective& collective, const Cluster& part) const;

  Value where_;
  int times_;
  Work work_;
};

}  // namespace sgdsim
