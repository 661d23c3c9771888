// Chakra traces that tests write.
#pragma once

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "study/replay/chakra_schedule.h"
#include "tests/run_program.h"

namespace sgdsim::chakra_cases {

using Nodes = std::vector<ChakraNode>;

// A trace in a folder that is gone afterwards: PREFIX.RANK.et.
class TraceFiles {
 public:
  explicit TraceFiles(const std::vector<Nodes>& ranks) : folder_(Temporary::Kind::folder) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      std::string text;
      write_chakra_head(text, "0.0.4");
      for (const ChakraNode& node : ranks[rank]) write_chakra_node(text, node);
      names_.push_back(folder_.name() + "/t." + std::to_string(rank) + ".et");
      std::ofstream(names_.back(), std::ios::binary) << text;
    }
  }
  const std::vector<std::string>& names() const { return names_; }
  std::vector<std::string> command(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"replay"};
    words.insert(words.end(), names_.begin(), names_.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // By L = 2 us and G = 1 ns/B, if nothing else is said.
  Ran run(std::vector<std::string> more = {"--L", "2 us", "--G", "1 ns/B"}) const {
    more.insert(more.end(), {"--format", "json"});
    return run_sgdsim(command(more));
  }
  std::string place(const std::string& text) const {
    std::string without = text;
    for (std::size_t at = 0; (at = without.find(folder_.name() + "/")) != without.npos;)
      without.erase(at, folder_.name().size() + 1);
    return without;
  }

 private:
  Temporary folder_;
  std::vector<std::string> names_;
};

inline ChakraNode node_of(uint64_t id, ChakraType type, std::vector<uint64_t> waits = {}) {
  ChakraNode node;
  node.id = id;
  node.name = "n" + std::to_string(id);
  node.type = type;
  node.data_waits = std::move(waits);
  node.is_cpu_op = false;
  return node;
}
inline ChakraNode computing(uint64_t id, uint64_t duration_us, std::vector<uint64_t> waits = {}) {
  ChakraNode node = node_of(id, ChakraType::compute, std::move(waits));
  node.duration_us = duration_us;
  return node;
}
inline ChakraNode exchanging(uint64_t id, ChakraCollective collective, int64_t size_B,
                             std::vector<uint64_t> waits = {}, const std::string& group = "") {
  ChakraNode node = node_of(id, ChakraType::collective, std::move(waits));
  node.collective = static_cast<int64_t>(collective);
  node.size_B = size_B;
  if (!group.empty()) node.group = group;
  return node;
}
inline ChakraNode message(uint64_t id, bool sends, int64_t size_B, int64_t peer, int64_t tag,
                          std::vector<uint64_t> waits = {}) {
  ChakraNode node = node_of(id, sends ? ChakraType::send : ChakraType::receive, std::move(waits));
  node.size_B = size_B;
  (sends ? node.receiver : node.sender) = peer;
  node.tag = tag;
  return node;
}

inline constexpr ChakraCollective all_reduce = ChakraCollective::all_reduce;

}  // namespace sgdsim::chakra_cases
