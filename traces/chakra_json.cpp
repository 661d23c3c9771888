// {"workload_graph": [{"Id": 0, "Name": "..", "NodeType": 4, "runtime": 5, "data_deps": []}, ...]}
//
// Every node has all attributes there: those of communication count for its nodes only.
#include "traces/chakra_json.h"

#include <limits>

#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/json.h"
#include "traces/registry.h"

namespace sgdsim {
namespace {

// A member under one of the names under which it is written.
std::optional<Value> find(const Value& node, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (node.json().contains(name)) return node.child(name);
  return std::nullopt;
}

constexpr int64_t any_whole = std::numeric_limits<int64_t>::max();

std::optional<int64_t> whole(const Value& node, const char* name, int64_t least = 0) {
  if (!node.json().contains(name)) return std::nullopt;
  return node.child(name).whole(least, any_whole);
}

std::vector<uint64_t> ids(const std::optional<Value>& list) {
  std::vector<uint64_t> all;
  if (list)
    list->for_each_item(
        [&](const Value& id) { all.push_back(static_cast<uint64_t>(id.whole(0, any_whole))); });
  return all;
}

bool is_true(const Value& value) {
  return value.json().is_boolean() ? value.flag() : value.whole(0, 1) == 1;
}

void read_communication(const Value& value, ChakraNode& node) {
  constexpr int64_t any = std::numeric_limits<int64_t>::min();
  node.collective = whole(value, "comm_type");
  node.size_B = whole(value, "comm_size");
  node.priority = whole(value, "comm_priority", any);
  node.sender = whole(value, "comm_src", any);
  node.receiver = whole(value, "comm_dst", any);
  node.tag = whole(value, "comm_tag", any);
  if (const auto group = find(value, {"pg_name"})) node.group = group->text();
  if (const auto dimensions = find(value, {"involved_dim"}))
    dimensions->for_each_item([&](const Value& one) { node.dimensions.push_back(is_true(one)); });
}

ChakraNode read_node(const Value& value) {
  if (!value.json().is_object()) value.fail("expected a node, as {\"Id\": 0, \"NodeType\": 4}");
  ChakraNode node;
  const auto id = find(value, {"Id", "id"});
  if (!id) value.fail("has no Id");
  node.id = static_cast<uint64_t>(id->whole(0, any_whole));
  const auto type = find(value, {"NodeType", "type"});
  if (!type) value.fail("has no NodeType");
  node.type = static_cast<ChakraType>(type->whole(0, static_cast<int>(ChakraType::collective)));
  if (const auto name = find(value, {"Name", "name"})) node.name = name->text();
  node.control_waits = ids(find(value, {"ctrlDeps", "ctrl_deps"}));
  node.data_waits = ids(find(value, {"data_deps", "dataDeps"}));
  if (const auto length = find(value, {"runtime", "duration_micros"}))
    node.duration_us = static_cast<uint64_t>(length->whole(0, any_whole));
  if (const auto flag = find(value, {"is_cpu_op"})) node.is_cpu_op = is_true(*flag);
  node.operations = whole(value, "num_ops");
  node.tensor_size_B = whole(value, "tensor_size");
  if (node.type >= ChakraType::send) read_communication(value, node);
  return node;
}

// "} {", which no comma parts, is within texts only where the whole is JSON.
bool has_objects_in_a_row(std::string_view text) {
  for (std::size_t at = text.find('}'); at != text.npos; at = text.find('}', at + 1)) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", at + 1);
    if (next != text.npos && text[next] == '{') return true;
  }
  return false;
}

Json json_of_trace(std::string_view text, const std::string& where) {
  if (is_kineto(text) && text.find("\"workload_graph\"") == text.npos)
    throw InputError(where,
                     "is a profile of PyTorch (Kineto), and no schedule; `sgdsim import kineto "
                     "FILE` reads it");
  try {
    return foreign_json(text, where);
  } catch (const InputError&) {
    if (!has_objects_in_a_row(text)) throw;
    throw InputError(where,
                     "holds JSON objects one after another, as chakra_jsonizer prints them; give "
                     "the .et files that they were made from");
  }
}

}  // namespace

void parse_chakra_json(std::string_view text, const std::string& where,
                       const ChakraVisitor& visit) {
  const Json json = json_of_trace(text, where);
  const Value root(json, where, "");
  if (!root.json().is_object() || !root.json().contains("workload_graph"))
    root.fail("expected {\"workload_graph\": [...]}, an execution trace of Chakra");
  root.child("workload_graph").for_each_item([&](const Value& value) {
    ChakraNode node = read_node(value);
    visit(node);
  });
}

}  // namespace sgdsim
