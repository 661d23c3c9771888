// The process groups of Flight Recorder dumps: who belongs to them, and which of their collectives
// each rank has entered.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/json.h"

namespace sgdsim {

struct DumpedGroup {
  std::string label;           // "default_pg 0, ranks 0, 1"
  std::vector<int64_t> ranks;  // empty: not stated
};

class DumpedGroups {
 public:
  // What a dump says of its groups.
  void begin_dump(const Json& dump, int rank);
  // The group of an entry, which counts as entered; nothing if it has none.
  const DumpedGroup* enter(const Json& entry, int rank);
  // Who has not entered what others have, who calls something else or with other inputs, and of
  // whom there is no dump.
  std::vector<std::string> notes() const;

 private:
  struct Call {
    std::string name;
    std::string inputs;  // sizes and types, as "[1000] Float"; empty: not stated, or may differ
  };
  struct Entered {
    DumpedGroup group;
    std::map<int, int64_t> last;                 // of a rank: the highest number
    std::map<int64_t, std::vector<Call>> calls;  // by number; several of what is coalesced
    std::string difference;                      // the first
  };

  void compare(Entered& entered, int64_t number, const Call& call, int rank);

  std::vector<std::string> notes_of(const Entered& entered) const;

  std::map<std::string, Entered> groups_;       // by label
  std::map<std::string, DumpedGroup> of_dump_;  // by name
  std::set<int> dumps_;
  std::map<std::pair<std::string, int64_t>, std::size_t> calls_of_dump_;  // of group and number
};

}  // namespace sgdsim
