// A Chakra trace of several ranks as a schedule of what every rank computes, sends and receives.
//
// The n-th collective of a group is the same one on all its ranks. Those of one group follow each
// other, as on one communicator; those of different groups, sends and receives meet only at the
// cards. A collective becomes the rounds of one of our algorithms.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "models/collective/algorithm_choice.h"
#include "models/collective/rank_writer.h"
#include "sim/net/cluster.h"
#include "study/replay/chakra_graph.h"

namespace sgdsim {

// Names of groups and their ranks, as in {"0": [0, 1, 2, 3]}.
using RankGroups = std::map<std::string, std::vector<uint32_t>>;
RankGroups read_rank_groups(const std::string& file, uint32_t ranks);

// The files of a trace by their rank, which is the last number of the name: PREFIX.3.et. Names
// without such numbers stand in the order in which they are given.
std::vector<std::string> files_by_rank(const std::vector<std::string>& files);

struct ChakraQuestion {
  std::vector<std::string> files;  // of the ranks
  // In place of reading the files.
  std::function<void(uint32_t rank, const ChakraVisitor& visit)> read = {};
  RankGroups groups;
  bool has_groups = false;
  AlgorithmChoice algorithms;
  double operations_per_s = 0;  // of nodes without a duration
  const Network* network = nullptr;
  const Cluster* cluster = nullptr;  // that it is of, if any
  AlphaRule alpha = AlphaRule::port;
  bool pays_folds = false;  // on a cluster
  bool on_wires = false;    // which messages share
  bool shares = false;      // messages in progress share ports or wires
};

class ChakraSchedule {
 public:
  // InputError where a file cannot be read or is contradictory by itself.
  explicit ChakraSchedule(const ChakraQuestion& question);

  const RankSchedule& schedule() const { return schedule_; }
  // Why it cannot be played: circles, and ranks that do not agree on a collective. A sentence, and
  // lines that name nodes; empty: it can.
  const std::vector<std::string>& problems() const { return problems_; }
  // What the user should know of how it is played.
  std::vector<std::string> notes() const;
  // Of its collectives; and the names of the algorithms that make them.
  const std::set<Operation>& operations() const { return operations_; }
  const std::set<std::string_view>& algorithms() const { return algorithms_; }
  // Whether some stand for what NCCL's model chooses.
  bool is_like_nccl() const { return is_like_nccl_; }
  // The node of an operation, for people.
  std::string text_of(uint32_t operation) const;

 private:
  struct Made {
    Program program;
    // Of the schedule, where it is no list of rounds: ranks call it.
    std::optional<uint32_t> number = {};
  };
  struct Met {  // a collective that some of its ranks have reached
    uint32_t rank = 0;
    uint32_t node = 0;
    uint32_t first_tag = 0;
    uint32_t number = 0;  // among those of its group
    const Made* made = nullptr;
  };
  struct Group {
    std::string name;
    std::optional<uint32_t> number = {};     // of the schedule, where it has calls
    std::vector<uint32_t> ranks;             // empty: all
    std::map<uint32_t, uint32_t> member_of;  // of a rank, unless it is all
    std::vector<Met> met;
    std::vector<uint32_t> reached;  // of each member: how many
  };
  // What is known of one rank while it is written.
  struct Writing;

  bool write_rank(uint32_t rank);  // false: it goes in a circle
  void add_groups();
  void write_node(Writing& writing, uint32_t node);
  void write_collective(Writing& writing, uint32_t node, std::vector<uint32_t>& last);
  const Met* meet(Group& group, uint32_t rank, uint32_t member, uint32_t node);
  uint32_t member_of(const Group& group, uint32_t rank, uint32_t node) const;
  void name_what_lacks();
  void complain(const std::string& sentence);
  uint32_t tag_of(int64_t tag);
  uint32_t take_tags(uint32_t count);
  const Made& made_for(const GraphNode& node, const Group& group);
  // Which may set options of the job.
  const Algorithm& algorithm_for(CollectiveJob& job) const;
  CollectiveJob sent_by(const Algorithm& algorithm, CollectiveJob job) const;
  uint32_t number_of(Group& group);
  CollectiveJob job_of(const GraphNode& node, const Group& group, std::optional<Network>& network);
  std::string text_of(uint32_t rank, uint32_t node) const;
  std::string what_of(const GraphNode& node) const;

  const ChakraQuestion& question_;
  RankSchedule schedule_;
  std::vector<RankGraph> graphs_;  // without what they wait for
  GroupNumbers group_numbers_;
  std::vector<Group> groups_;
  std::map<int64_t, uint32_t> tags_;  // of sends and receives
  uint32_t next_tag_ = 0;
  // Of a collective, its bytes and its group.
  std::map<std::tuple<ChakraCollective, int64_t, uint32_t>, Made> programs_;
  std::vector<std::string> problems_;
  uint64_t more_problems_ = 0;
  ChakraOddities oddities_{};
  std::set<Operation> operations_;
  std::set<std::string_view> algorithms_;
  bool is_like_nccl_ = false;
};

}  // namespace sgdsim
