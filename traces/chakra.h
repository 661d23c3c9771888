// Execution traces of MLCommons Chakra: what one rank computes and communicates, and after what.
//
// A file `PREFIX.RANK.et` holds one GlobalMetadata and then Nodes (et_def.proto), each behind its
// length, perhaps packed with gzip. An older variant is JSON: {"workload_graph": [...]}. What is
// not named here is skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgdsim {

enum class ChakraType : uint8_t {
  invalid,
  metadata,
  memory_load,
  memory_store,
  compute,
  send,
  receive,
  collective
};

// Values of comm_type.
enum class ChakraCollective : uint8_t {
  all_reduce,
  reduce,
  all_gather,
  gather,
  scatter,
  broadcast,
  all_to_all,
  reduce_scatter,
  reduce_scatter_block,
  barrier
};
inline constexpr int64_t chakra_collectives = 10;

struct ChakraNode {
  uint64_t id = 0;
  std::string name;
  ChakraType type = ChakraType::invalid;
  std::vector<uint64_t> control_waits;  // for the ends of nodes with these ids
  std::vector<uint64_t> data_waits;
  uint64_t start_us = 0;
  uint64_t duration_us = 0;
  // Attributes; empty: not given.
  std::optional<bool> is_cpu_op;
  std::optional<int64_t> operations;     // num_ops
  std::optional<int64_t> tensor_size_B;  // tensor_size
  std::optional<int64_t> collective;     // comm_type
  std::optional<int64_t> size_B;         // comm_size
  std::optional<int64_t> priority;       // comm_priority
  std::optional<int64_t> sender;         // comm_src
  std::optional<int64_t> receiver;       // comm_dst
  std::optional<int64_t> tag;            // comm_tag
  std::optional<std::string> group;      // pg_name
  std::vector<bool> dimensions;          // involved_dim
  bool operator==(const ChakraNode&) const = default;
};

using ChakraVisitor = std::function<void(ChakraNode& node)>;

// Reads the file as a stream, node by node; the JSON variant as a whole. InputError with the byte,
// or with the place in the JSON.
void read_chakra(const std::string& file, const ChakraVisitor& visit);
// The same from a text; `where` is what errors name.
void parse_chakra(std::string_view text, const std::string& where, const ChakraVisitor& visit);

// By its name: .et or .json, perhaps packed.
bool looks_like_chakra(const std::string& file);

// The beginning of a file, and one node of it.
void write_chakra_head(std::string& out, std::string_view version);
void write_chakra_node(std::string& out, const ChakraNode& node);

}  // namespace sgdsim
