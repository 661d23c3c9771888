// The fields of one node of an execution trace, in the layout of any version: what old versions
// have as members of the node, newer ones have in its list "attrs".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/kineto/events.h"
#include "traces/kineto/json_stream.h"

namespace sgdsim::profiler {

// Values as they are written; empty: not there. Reused for every node of a file.
struct NodeFields {
  std::string id;
  std::string name;
  std::string parent;       // ctrl_deps
  std::string function_id;  // rf_id
  std::string schema;       // op_schema
  std::string values;       // of inputs: "[[5,6,0,1000,4,"cuda:0"]]"
  std::string shapes;
  std::string types;
  // Of a collective.
  std::string collective;
  std::string type;
  std::string elements;
  std::string elements_out;
  std::string group_name;
  std::string group_size;
  std::string_view twice;  // a field that occurs twice
};

class NodeReader {
 public:
  void read(JsonStream& stream, NodeFields& fields);

 private:
  using Member = std::string NodeFields::*;

  void read_inputs(JsonStream& stream, NodeFields& fields);
  void read_attributes(JsonStream& stream, NodeFields& fields);
  void put(NodeFields& fields, std::string_view name, std::string& value);

  std::string key_;
  std::string inner_key_;
  std::string name_;
  std::string value_;
  std::vector<Member> seen_;
};

// Whether one of the list's objects is a node of an execution trace. The list is read.
bool holds_traced_nodes(JsonStream& stream);

// The first members of a list as it is written: "[1,[2,3]]" has "1" and "[2,3]".
std::vector<std::string_view> members_of(std::string_view list, std::size_t most);

struct TracedSize {
  int64_t elements = -1;  // -1: not said
  int64_t element_B = 0;
  std::string type;  // "float", "c10::Half"
};
// Of the first input of a gradient. InputError if what is said cannot be, or contradicts itself.
TracedSize gradient_size(const NodeFields& fields, const std::string& where);
// What a node says of its collective.
CommunicationFacts traced_facts(const NodeFields& fields);

}  // namespace sgdsim::profiler
