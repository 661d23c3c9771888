// Reading and checking.
#include "study/learn/absent_workers.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/fields.h"
#include "sim/core/refusal.h"
#include "sim/core/whole_number.h"
#include "study/learn/lost_packets.h"

namespace sgdsim {
namespace {

constexpr int64_t most_iterations = 1'000'000;
constexpr std::size_t most_absences = 1000;

struct StatedAbsence {
  int64_t worker = 0;
  int64_t from = 0;
  std::optional<int64_t> until;
};

Fields fields_of(StatedAbsence& o) {
  return {Field("worker", o.worker, "which one, counted from 0").needed().from(0, 1'000'000),
          Field("from", o.from, "the first iteration without it, counted from 0")
              .from(0, most_iterations),
          Field("until", o.until, "the iteration in which it is back (default: never)")
              .from(1, most_iterations)};
}

}  // namespace

void state_absences(const Json& absent, LearnMethod& method) {
  const Value value(absent, "--also " + method.label, "/absent");
  if (!is_list(absent) || absent.empty())
    value.fail("expected a list as [{\"worker\": 3, \"from\": 100, \"until\": 200}]");
  if (absent.size() > most_absences)
    value.fail("expected at most " + std::to_string(most_absences) + " absences");
  for (const Value& one : value.items()) {
    const auto stated = read_record<StatedAbsence>(one);
    learning::Absence absence;
    absence.worker = static_cast<int>(stated.worker);
    absence.from = stated.from;
    if (stated.until) {
      absence.until = *stated.until;
      if (absence.until <= absence.from) one.child("until").fail("expected more than `from`");
    }
    method.log.absences.push_back(absence);
  }
}

void check_absences(const LearnMethod& method, bool is_asynchronous) {
  const std::vector<learning::Absence>& absences = method.log.absences;
  if (absences.empty()) return;
  const std::string label = '"' + method.label + "\" ";
  if (is_asynchronous)
    throw not_together("--also",
                       label +
                           "has absent workers, which are learned where workers wait for "
                           "each other: not with async_ps or ssp, whose order of pushes is "
                           "that of all workers");
  const int64_t every = method.log.every;
  for (const learning::Absence& one : absences) {
    if (one.worker >= method.log.workers)
      throw InputError("--also", label + "misses worker " + std::to_string(one.worker) + " of " +
                                     std::to_string(method.log.workers) + ", counted from 0");
  }
  for (const learning::Absence& one : absences) {
    // Most are absent when somebody leaves, and then before the next average.
    const int64_t last = one.from - one.from % every + every - 1;
    if (method.log.there(last) > 0) continue;
    if (every == 1)
      throw InputError("--also",
                       label + "has no worker left in iteration " + std::to_string(one.from));
    throw InputError("--also", label + "has no worker that is there in all of the iterations " +
                                   std::to_string(last - every + 1) + " to " +
                                   std::to_string(last) + ", between two averages");
  }
}

std::optional<ResolvedExperiment> with_fewer_workers(const ResolvedExperiment& resolved, int all,
                                                     int workers) {
  if (workers == all) return resolved;
  const Json* cluster = resolved.json.contains("cluster") ? &resolved.json["cluster"] : nullptr;
  if (cluster == nullptr || !cluster->is_object() || !cluster->contains("nodes"))
    return std::nullopt;
  const auto nodes = whole_number_in((*cluster)["nodes"]);
  if (!nodes || *nodes < 1) return std::nullopt;
  const int64_t of_node = all / *nodes;
  if (of_node < 1 || workers % of_node != 0) return std::nullopt;
  try {
    ResolvedExperiment fewer =
        with_settings(resolved, {"cluster.nodes=" + std::to_string(workers / of_node)});
    if (read_experiment(fewer).cluster.network.workers() != workers) return std::nullopt;
    return fewer;
  } catch (const InputError&) {  // a shape that is not of this size
    return std::nullopt;
  }
}

namespace learning {
Fields fields_of(const Absence& o) {
  std::optional<int64_t> until;
  if (o.until != Absence().until) until = o.until;
  return {
      Field("worker", o.worker, "counted from 0").at_least(0),
      Field("from", o.from, "the first iteration without it, counted from 0").at_least(0),
      Field("until", std::move(until), "the iteration in which it is back; never, if there is none")
          .at_least(1)};
}
}  // namespace learning

}  // namespace sgdsim
