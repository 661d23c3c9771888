// A schedule of what every rank does, or a Chakra trace, on a network: question and answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/collective/simulate.h"
#include "sim/net/link_use.h"
#include "sim/play/replay.h"
#include "study/answer.h"
#include "study/rank_time.h"
#include "study/replay/chakra_schedule.h"
#include "study/replay/replay_wires.h"

namespace sgdsim {

Fields replay_fields(ReplayWords& words);

struct ReplayAnswer {
  std::string name;  // of the file
  Fidelity fidelity = Fidelity::message;
  std::string transport = {};  // on wires; empty: messages share them evenly
  std::optional<RankSchedule> goal;
  std::optional<ChakraSchedule> chakra;
  std::optional<Replayed> played;    // nothing: it cannot be played
  std::optional<TimeOfRanks> ranks;  // if it was played to its end
  WireUse wires;                     // where messages share them
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  std::string problem;  // why it was not played, or not to its end; empty: it was

  const RankSchedule& schedule() const { return goal ? *goal : chakra->schedule(); }
  // What an operation is, for people.
  std::string text_of(uint32_t place) const;
};

// `records`: when every operation began and ended.
ReplayAnswer answer_replay(const ReplayWords& words, bool records, const Watch& watch);
// sgdsim/replay/1.
Json to_json(const ReplayAnswer& answer);
Json schema_of_replayed();
void print(std::ostream& out, const ReplayAnswer& answer);

Answer answer_replay(const Value& question, const Watch& watch);

}  // namespace sgdsim
