// Lists are kept as text (json_stream.h), so that a node of any size takes little memory.
#include "traces/kineto/execution_node.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/core/error.h"
#include "traces/kineto/event_fields.h"

namespace sgdsim::profiler {
namespace {

using NodeField = std::pair<std::string_view, std::string NodeFields::*>;

constexpr std::array<NodeField, 8> node_members{{{"id", &NodeFields::id},
                                                 {"name", &NodeFields::name},
                                                 {"ctrl_deps", &NodeFields::parent},
                                                 {"parent", &NodeFields::parent},
                                                 {"rf_id", &NodeFields::function_id},
                                                 {"op_schema", &NodeFields::schema},
                                                 {"input_shapes", &NodeFields::shapes},
                                                 {"input_types", &NodeFields::types}}};

constexpr std::array<NodeField, 3> input_members{{{"values", &NodeFields::values},
                                                  {"shapes", &NodeFields::shapes},
                                                  {"types", &NodeFields::types}}};

constexpr std::array<NodeField, 8> attribute_names{{{"rf_id", &NodeFields::function_id},
                                                    {"op_schema", &NodeFields::schema},
                                                    {"collective_name", &NodeFields::collective},
                                                    {"dtype", &NodeFields::type},
                                                    {"in_msg_nelems", &NodeFields::elements},
                                                    {"out_msg_nelems", &NodeFields::elements_out},
                                                    {"pg_name", &NodeFields::group_name},
                                                    {"pg_size", &NodeFields::group_size}}};

template <class Names>
std::string NodeFields::*member_named(const Names& names, std::string_view name) {
  for (const auto& [known, member] : names)
    if (known == name) return member;
  return nullptr;
}

// A text without its quotes.
std::string unquoted(std::string_view word) {
  if (word.size() < 2 || word.front() != '"' || word.back() != '"') return {};
  return std::string(word.substr(1, word.size() - 2));
}

// "float" of "Tensor(float)" and of "GenericList[Tensor(float),Tensor(float)]"; empty: it has none,
// or several.
std::string element_type(std::string_view type) {
  constexpr std::string_view tensor = "Tensor(";
  std::string found;
  for (std::size_t at = type.find(tensor); at != type.npos; at = type.find(tensor, at)) {
    const std::size_t from = at + tensor.size();
    std::size_t end = from;
    for (int depth = 0; end < type.size() && (depth > 0 || type[end] != ')'); ++end)
      depth += type[end] == '(' ? 1 : type[end] == ')' ? -1 : 0;
    std::string one(type.substr(from, end - from));
    if (!found.empty() && found != one) return {};
    found = std::move(one);
    at = end;
  }
  return found;
}

int64_t size_in(std::string_view word, const std::string& what, int64_t most,
                const std::string& where) {
  const auto value = whole_number(std::string(word));
  if (!value || *value < 0 || *value > most)
    throw InputError(where, "expected " + what + " of a tensor from 0 to " + std::to_string(most) +
                                ", got " + std::string(word.substr(0, 40)));
  return *value;
}

}  // namespace

std::vector<std::string_view> members_of(std::string_view list, std::size_t most) {
  std::vector<std::string_view> members;
  if (list.size() < 2 || list.front() != '[') return members;
  int depth = 0;
  bool is_quoted = false;
  std::size_t from = 1;
  for (std::size_t i = 1; i < list.size() && members.size() < most; ++i) {
    const char c = list[i];
    if (c == '"') is_quoted = !is_quoted;
    if (is_quoted) continue;
    if (depth == 0 && (c == ',' || c == ']')) {
      if (i > from) members.push_back(list.substr(from, i - from));
      if (c == ']') break;
      from = i + 1;
    }
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
  }
  return members;
}

void NodeReader::put(NodeFields& fields, std::string_view name, std::string& value) {
  const Member member = member_named(attribute_names, name);
  if (member == nullptr) return;
  if (std::find(seen_.begin(), seen_.end(), member) != seen_.end())
    fields.twice = member == &NodeFields::function_id ? "rf_id" : "an attribute";
  seen_.push_back(member);
  std::swap(fields.*member, value);
}

// [{"name": "rf_id", "type": "uint64", "value": 7}, ...]
void NodeReader::read_attributes(JsonStream& stream, NodeFields& fields) {
  if (stream.peek() != '[') return stream.skip();
  stream.enter('[');
  while (stream.next_item()) {
    name_.clear();
    value_.clear();
    stream.enter('{');
    while (stream.next_member(inner_key_)) {
      if (inner_key_ == "name")
        stream.read_word(name_);
      else if (inner_key_ == "value")
        stream.read_word(value_);
      else
        stream.skip();
    }
    put(fields, name_, value_);
  }
}

void NodeReader::read_inputs(JsonStream& stream, NodeFields& fields) {
  if (stream.peek() != '{') return stream.read_text(fields.values);
  stream.enter('{');
  while (stream.next_member(inner_key_)) {
    const Member member = member_named(input_members, inner_key_);
    member == nullptr ? stream.skip() : stream.read_text(fields.*member);
  }
}

void NodeReader::read(JsonStream& stream, NodeFields& fields) {
  fields = {};
  seen_.clear();
  stream.enter('{');
  while (stream.next_member(key_)) {
    const Member member = member_named(node_members, key_);
    if (member != nullptr) {
      if (std::find(seen_.begin(), seen_.end(), member) != seen_.end()) fields.twice = "a member";
      seen_.push_back(member);
      stream.read_text(fields.*member);
    } else if (key_ == "inputs") {
      read_inputs(stream, fields);
    } else if (key_ == "attrs") {
      read_attributes(stream, fields);
    } else {
      stream.skip();
    }
  }
}

bool holds_traced_nodes(JsonStream& stream) {
  std::string key;
  stream.enter('[');
  while (stream.next_item()) {
    if (stream.peek() != '{') {
      stream.skip();
      continue;
    }
    stream.enter('{');
    while (stream.next_member(key)) {
      if (key == "ctrl_deps" || key == "attrs" || key == "rf_id" || key == "fw_parent") return true;
      stream.skip();
    }
  }
  return false;
}

TracedSize gradient_size(const NodeFields& fields, const std::string& where) {
  constexpr int64_t most_elements_of_tensor = int64_t{1} << 48;
  TracedSize size;
  const auto shapes = members_of(fields.shapes, 1);
  const auto types = members_of(fields.types, 1);
  if (shapes.empty() || types.empty()) return size;
  const std::string type = unquoted(types[0]);
  if (!type.starts_with("Tensor(")) return size;
  size.type = element_type(type);
  size.element_B = bytes_of_type(size.type);
  const auto inputs = members_of(fields.values, 1);
  const auto tensor = inputs.empty() ? inputs : members_of(inputs[0], 5);
  int64_t told = -1;
  if (tensor.size() == 5) {
    told = size_in(tensor[3], "the number of elements", most_elements_of_tensor, where);
    const int64_t element_B = size_in(tensor[4], "the bytes of an element", 255, where);
    if (size.element_B == 0) size.element_B = element_B;
    if (told > 0 && element_B != size.element_B)
      throw InputError(where, "an element of type " + size.type.substr(0, 40) + " has " +
                                  std::to_string(size.element_B) + " bytes, its tensor says " +
                                  std::to_string(element_B));
  }
  const bool is_scalar = shapes[0] == "[]";  // or no tensor at all
  const bool is_shape = shapes[0].front() == '[' && shapes[0].rfind('[') == 0;
  const int64_t shaped = is_scalar  ? 1
                         : is_shape ? elements_in_shapes("[" + std::string(shapes[0]) + "]")
                                    : -1;
  if (shaped < 0)
    throw InputError(where, "its shape " + std::string(shapes[0].substr(0, 80)) +
                                " is no list of sizes from 0 to " +
                                std::to_string(most_elements_of_tensor));
  if (told >= 0 && told != shaped && !(is_scalar && told == 0))
    throw InputError(where, "its shape " + std::string(shapes[0].substr(0, 80)) + " has " +
                                std::to_string(shaped) + " elements, its tensor says " +
                                std::to_string(told));
  const int64_t elements = told >= 0 ? told : shaped;
  if (elements > 0 && size.element_B > 0) size.elements = elements;
  return size;
}

// record_param_comms has its inputs in this order, the first not always: tensors, sequence number,
// group, rank, name, sizes of parts (two), first rank, stride, ranks of the group.
CommunicationFacts traced_facts(const NodeFields& fields) {
  constexpr std::size_t behind_name = 5;
  EventFields event;
  event.name = fields.name;
  event.collective = fields.collective;
  event.type = fields.type;
  event.elements = fields.elements;
  event.elements_out = fields.elements_out;
  event.group_name = fields.group_name;
  event.group_size = fields.group_size;
  const auto inputs = members_of(fields.values, 11);
  for (std::size_t i = 3; i < std::min<std::size_t>(inputs.size(), 5); ++i) {
    const std::string word = unquoted(inputs[i]);
    if (fields.name != "record_param_comms" || word.empty()) continue;
    if (event.collective.empty()) event.collective = word;
    if (event.group_size.empty() && inputs.size() == i + behind_name + 1)
      event.group_size = inputs.back();
    break;
  }
  if (fields.name.find("c10d") == 0 || fields.name.find("_c10d") == 0)
    event.collective = fields.name.substr(fields.name.rfind(':') + 1);
  if (const auto shapes = members_of(fields.shapes, 1); !shapes.empty())
    event.shapes = "[" + std::string(shapes[0]) + "]";
  if (const auto types = members_of(fields.types, 1); !types.empty())
    event.types = "\"" + element_type(unquoted(types[0])) + "\"";
  return communication_facts(event);
}

}  // namespace sgdsim::profiler
