// Plain flows on the wires of a cluster: the words of the question, and when flows are done.
#pragma once

#include <string>
#include <vector>

#include "study/answer.h"
#include "study/limits.h"
#include "study/question_fields.h"
#include "study/traffic/completion.h"

namespace sgdsim {

struct TrafficWords {
  std::string file;
  std::string cluster;
  std::vector<std::string> settings;
  std::string fidelity = "flow";
  std::string transport;
  std::string routing;
  std::string seed;
  std::string links;
  std::string bins;
  bool flows = true;
  LimitArguments limits;
};

Fields traffic_fields(TrafficWords& words);

// What was asked.
struct TrafficHead {
  std::string traffic;
  std::string cluster;
  int workers = 0;
  std::string fidelity;
  std::string transport;  // empty: flows share wires evenly
  std::string routing;    // but at fidelity packet
  bool is_complete = true;
  std::size_t flows = 0;
};

struct TrafficAnswer {
  Cluster cluster;
  TrafficFile file;
  TrafficHead head;
  FlowsPlayed played;
  Completion completion;
  bool is_stuck() const { return !played.stranded.empty(); }
};

// `for_people`: a table has no bins.
TrafficAnswer answer_traffic(const TrafficWords& words, const Watch& watch, bool for_people);
// sgdsim/completion/1, without flows.
Json to_json(const TrafficAnswer& answer);
Json schema_of_completions();
// Why flows never end, line by line.
std::string stuck_text(const TrafficAnswer& answer);

Answer answer_traffic(const Value& question, const Watch& watch);

}  // namespace sgdsim
