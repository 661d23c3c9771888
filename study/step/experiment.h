// An experiment: trace, cluster, collective, strategy and how to play them; read, checked,
// resolved.
//
// The trace and the cluster may be inline objects or paths relative to the experiment's file. They
// are put in place before `--set` changes any field, so that cluster.nodes=128 works either way.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/learning/compressing.h"
#include "models/step/step.h"
#include "sim/core/json.h"
#include "study/step/convergence.h"
#include "study/step/stated_costs.h"
#include "study/traffic/traffic_file.h"
#include "topologies/cluster_file.h"

namespace sgdsim {

struct RecordedStep;  // study/import/profile_trace.h

struct Experiment {
  std::string name;
  std::string method;  // the label of --method; empty: none
  std::string file;
  Trace trace;
  Cluster cluster;
  Strategy strategy;
  std::optional<Synchronization> synchronization;
  std::string collective;          // for people: "ring", "a + bM", "measured curve"
  std::string compression;         // its name; empty: none
  learning::Compressing numbers;   // what it does to them
  std::vector<std::string> notes;  // what a result must repeat as a warning
  MessageCost cost;
  std::optional<MessageCost> broadcast;  // with an algorithm that has it
  std::optional<MessageCost> reduce;
  WorkerModel workers;
  std::optional<Convergence> convergence;
  Fidelity fidelity = Fidelity::message;
  bool meets_others = false;                   // other jobs use its wires or ports
  MakeCarrier carrier;                         // on wires; none: messages share them evenly
  std::string transport;                       // its name
  std::shared_ptr<const TrafficFile> traffic;  // of others; or null
  int64_t accumulation = 1;  // micro-batches of a step; the trace has been made of so many
  int iterations = 1;
  int warm_up = 2;
  uint64_t seed = 1;
  std::optional<int> given_channels;  // messages in flight
  std::optional<double> given_interference;
  std::optional<Duration> alone;  // of an iteration on one worker, as somebody states it
  Json inputs;                    // resolved and complete

  // As given, or what is usual with its strategy, synchronization, servers and network.
  int channels() const;
  // What NCCL's channels take of computing beside exchanges, where nobody said `interference` and
  // there is an answer with it: what a user would write there. It is told and not taken: no
  // strategy by priority has an answer with it that does not play every message, and comparing one
  // without it with others would be unfair.
  std::optional<double> unsaid_interference() const;
  // At fidelity message, whose messages else have ports to themselves or among them.
  bool meets_others_at_ports() const {
    return fidelity == Fidelity::message && (traffic != nullptr || meets_others);
  }
  // Of a step, over all workers; where the trace states no batch, a worker's micro-batch is one.
  int64_t samples() const {
    return cluster.network.workers() * (trace.batch > 0 ? trace.batch : accumulation);
  }
  // An iteration on one worker, which exchanges nothing: as stated, or what its own work takes.
  Duration one_worker() const;
  // The experiment must outlive the question.
  StepQuestion question() const;
};

// The experiment with paths replaced by what they lead to and settings applied; not yet checked.
struct ResolvedExperiment {
  Json json;
  std::string method;
  std::string file;
  std::string path;        // of the experiment within the file, as in "/experiment"
  std::string trace_file;  // where the trace came from; empty: it was inline
  std::string cluster_file;
  std::vector<std::string> inputs;               // all files that were read
  std::vector<std::string> settings;             // that were applied
  std::vector<std::string> options;              // those that options of the same name made
  std::shared_ptr<const RecordedStep> recorded;  // of a profile; else null
  ClusterChanges cluster_changes;                // by settings and by another cluster
};
// The file may be a trace, or the name of one that ships; the experiment then has nothing else, and
// the cluster must be given. A profile of PyTorch, or a folder of those of its ranks, becomes the
// step as it was recorded, on as many ranks, and is NoReplay if that cannot be. A cluster (a file
// or a name) that is given takes the place of the experiment's. Paths in settings count from the
// working folder.
ResolvedExperiment resolve_experiment(const std::string& file,
                                      const std::vector<std::string>& settings,
                                      const std::string& cluster = "");
// What was resolved before with more settings on top.
ResolvedExperiment with_settings(ResolvedExperiment resolved,
                                 const std::vector<std::string>& settings);
// The same for an experiment that stands inside another file.
ResolvedExperiment resolve_experiment(const Value& value, const std::vector<std::string>& settings);
// With settings that stand in a file, whose paths count from its folder.
ResolvedExperiment with_settings_of(const std::string& file, ResolvedExperiment resolved,
                                    const std::vector<std::string>& settings);
Experiment read_experiment(const ResolvedExperiment& resolved);
// Throws an error of reading it again, if it is about one of these settings, as one about it or the
// option that made it.
void blame_setting(const InputError& error, const ResolvedExperiment& resolved,
                   const std::vector<std::string>& settings);
// Where a setting or an axis changes the batch of a trace alone.
inline constexpr char batch_field[] = "trace.batch";
inline constexpr char batch_note[] =
    "trace.batch says how many samples a step has, and leaves its times as they are: `sgdsim trace "
    "scale --batch` makes a trace of another batch";
Json schema_of_experiments();

// Which parts of an experiment that was read before are still the same.
struct Unchanged {
  bool trace = false;
  bool cluster = false;
  bool exchange = false;  // all that the costs of messages rest on
};
// Reads an experiment again in its place, without the parts that did not change (and without
// `inputs`): what a sweep does a hundred thousand times. If it throws, nothing of it holds.
void read_changes(Experiment& experiment, const ResolvedExperiment& resolved, Unchanged unchanged);

// Keys sorted, no blanks.
std::string canonical(const Json& json);
// "sha256:" and the hash of the inputs in canonical form, in which a long field, such as a trace,
// is its own hash: points that share one need not digest it again.
std::string id_of(const Json& inputs);
Json schema_of_ids();
std::string id_of_text(const std::string& canonical_text);
// What stands for a field there, and the id of all of them.
std::string text_in_id(const Json& field);
std::string id_of_fields(const std::map<std::string, std::string>& texts);

}  // namespace sgdsim
