// The options of `sgdsim collective` as the command line gives them, and what they ask for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/collective/options.h"
#include "models/collective/simulate.h"
#include "sim/core/json.h"
#include "study/answer.h"
#include "study/collective/option_words.h"
#include "study/limits.h"
#include "study/traffic/traffic_file.h"

namespace sgdsim {

constexpr double most_jitter = 2;  // one message in a hundred then takes 14 times as long

// As text; empty where an option was not given.
struct CollectiveArguments {
  std::string algorithm;  // chosen by choose_algorithm(), if not given
  bool is_usual = false;  // it was not given: each point of a sweep has what people run there
  std::string operation = "allreduce";
  std::string ranks;
  std::vector<std::string> bytes;
  std::string block;
  std::string root;
  std::string cluster;
  std::string alpha;
  std::string beta;
  std::string gamma;
  std::vector<std::string> settings;  // --set, on the cluster
  std::vector<std::string> options;   // --option key=value
  std::string fidelity;
  std::string transport;
  std::string traffic;  // a file, or JSON itself
  std::string path;
  std::string starts;
  std::string jitter;
  std::string seed;
  LimitArguments limits;
  Watch watch;
  bool sweep = false;
  bool splits_time = false;  // how much of it is adding up
  std::string file;          // with these questions

  std::shared_ptr<const Cluster> cluster_read;  // of the file, with the settings
};

// If none is given, what people run there; simulated where something is asked that only messages
// have, as `wants_messages` or an option.
void choose_algorithm(CollectiveArguments& arguments, bool wants_messages);

// What people run among so many ranks for messages that are empty, or are not.
std::string usual_at(const CollectiveArguments& arguments, int ranks, bool is_empty);

// At this fidelity an algorithm sends messages in place of what NCCL's model, a formula, chooses.
bool is_nccl_simulated(const CollectiveArguments& arguments);

Fields collective_fields(CollectiveArguments& arguments);

// Reads the cluster file, once: it may be standard input.
void read_inputs(CollectiveArguments& arguments);

// The cluster that --cluster, or --alpha, --beta and --gamma, describe; with all its workers, or
// `ranks` where only a pair cost is given.
Cluster cluster_of(const CollectiveArguments& arguments, int ranks);

// Error if an option has no effect on the algorithm; `where` of its errors names the option.
CollectiveQuestion question_of(const CollectiveArguments& arguments, const std::string& algorithm,
                               const std::vector<Bytes>& messages);

// How its messages go on this cluster; and what else is on the wires, which the result keeps.
TrafficFile put_on(const Cluster& cluster, const CollectiveArguments& arguments,
                   CollectiveQuestion& question);

// Error if an algorithm is unknown, or if an option has no value, is known to none of these
// algorithms or was given twice.
void check_known_options(const CollectiveArguments& arguments,
                         const std::vector<std::string>& names);

// Whether the option changes anything for this algorithm, or for one of those that auto compares.
bool has_effect(const CollectiveArguments& arguments, const std::string& algorithm,
                const std::string& key);
bool takes_block(const std::string& algorithm);
// Whether it matters which member is the root. Of operations that have none, an error says so.
bool takes_root(const CollectiveArguments& arguments, const std::string& algorithm);

// The ranks to simulate: one value, or those of a sweep; all workers of the cluster if not given.
std::vector<int> ranks_of(const CollectiveArguments& arguments);

}  // namespace sgdsim
