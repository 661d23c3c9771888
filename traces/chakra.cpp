// et_def.proto by its field numbers. proto3 leaves out zeros, but for the value of an attribute.
#include "traces/chakra.h"

#include <array>
#include <limits>

#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/json.h"
#include "traces/chakra_json.h"
#include "traces/protobuf.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_json_B = std::size_t{1} << 30;

// Field numbers of Node.
enum : uint32_t {
  node_id = 1,
  node_name = 2,
  node_type = 3,
  node_control = 4,
  node_data = 5,
  node_start = 6,
  node_duration = 7,
  node_attribute = 10
};
// Field numbers of an attribute's values.
enum : uint32_t {
  value_int64 = 9,
  value_uint64 = 13,
  value_int32 = 7,
  value_sint32 = 15,
  value_sint64 = 17,
  value_sfixed32 = 23,
  value_bool = 27,
  value_bool_list = 28,
  value_string = 29,
  value_bytes = 31
};

// The one value of an attribute.
struct AttributeValue {
  enum class Kind : uint8_t { none, whole, text, flags, other };
  Kind kind = Kind::none;
  uint64_t number = 0;  // as two's complement, where it is signed
  bool is_signed = true;
  std::string_view text;
  std::vector<bool> flags;
  uint64_t at = 0;
};

// A number as the wire has it; InputError for a field of another kind.
uint64_t number_of(const WireReader& reader, const WireField& field, const char* what) {
  if (field.kind != WireKind::varint) reader.fail(field.at, std::string(what) + " is no number");
  return field.value;
}

void append_ids(const WireReader& reader, const WireField& field, std::vector<uint64_t>& ids) {
  if (field.kind == WireKind::varint) {
    ids.push_back(field.value);
    return;
  }
  if (field.kind != WireKind::bytes) reader.fail(field.at, "a list of ids is no list of numbers");
  WireReader packed = reader.inside(field);
  for (uint64_t id = 0; packed.next_number(id);) ids.push_back(id);
}

std::vector<bool> flags_of(WireReader list) {
  std::vector<bool> flags;
  std::vector<uint64_t> numbers;
  for (WireField field; list.next(field);)
    if (field.number == 1) append_ids(list, field, numbers);
  for (const uint64_t number : numbers) flags.push_back(number != 0);
  return flags;
}

std::string_view text_of(const WireReader& reader, const WireField& field, const char* what) {
  if (field.kind != WireKind::bytes) reader.fail(field.at, std::string(what) + " is no text");
  return field.bytes;
}

bool is_whole(uint32_t number) {
  return number % 2 == 1 && number >= value_int32 && number <= value_bool;
}

void read_value(const WireReader& reader, const WireField& field, AttributeValue& value) {
  using Kind = AttributeValue::Kind;
  value.at = field.at;
  value.number = field.value;
  value.is_signed = true;
  if (is_whole(field.number)) {
    value.kind = field.kind == WireKind::bytes ? Kind::other : Kind::whole;
    if (field.number == value_sint32 || field.number == value_sint64)
      value.number = static_cast<uint64_t>(from_zigzag(field.value));
    else if (field.number == value_sfixed32)
      value.number = static_cast<uint64_t>(int64_t{static_cast<int32_t>(field.value)});
    else if (field.number == value_uint64 || field.number == 21)
      value.is_signed = false;
  } else if (field.number == value_string || field.number == value_bytes) {
    value.kind = Kind::text;
    value.text = text_of(reader, field, "a text");
  } else if (field.number == value_bool_list && field.kind == WireKind::bytes) {
    value.kind = Kind::flags;
    value.flags = flags_of(reader.inside(field));
  } else {
    value.kind = Kind::other;
  }
}

// Attributes that are whole numbers, and what they may be.
struct WholeAttribute {
  std::string_view name;
  std::optional<int64_t> ChakraNode::*member;
  bool may_be_negative;
  uint32_t written_as;
};
constexpr std::array<WholeAttribute, 8> whole_attributes = {
    {{"num_ops", &ChakraNode::operations, false, value_int64},
     {"tensor_size", &ChakraNode::tensor_size_B, false, value_uint64},
     {"comm_type", &ChakraNode::collective, false, value_int64},
     {"comm_size", &ChakraNode::size_B, false, value_int64},
     {"comm_priority", &ChakraNode::priority, true, value_int32},
     {"comm_src", &ChakraNode::sender, true, value_int32},
     {"comm_dst", &ChakraNode::receiver, true, value_int32},
     {"comm_tag", &ChakraNode::tag, true, value_int32}}};

void keep_attribute(const WireReader& reader, std::string_view name, const AttributeValue& value,
                    ChakraNode& node) {
  using Kind = AttributeValue::Kind;
  const auto fail = [&](const std::string& sentence) {
    reader.fail(value.at, "attribute " + std::string(name) + " " + sentence);
  };
  if (value.kind == Kind::none) return;
  for (const WholeAttribute& known : whole_attributes) {
    if (known.name != name) continue;
    const auto number = static_cast<int64_t>(value.number);
    if (value.kind != Kind::whole) fail("is no whole number");
    if (number < 0 && (!value.is_signed || !known.may_be_negative))
      fail(value.is_signed ? "is negative" : "is too large");
    node.*known.member = number;
    return;
  }
  if (name == "is_cpu_op") {
    if (value.kind != Kind::whole) fail("is neither true nor false");
    node.is_cpu_op = value.number != 0;
  } else if (name == "pg_name") {
    if (value.kind != Kind::whole && value.kind != Kind::text) fail("is no name");
    node.group = value.kind == Kind::text ? std::string(value.text)
                                          : std::to_string(static_cast<int64_t>(value.number));
    if (const std::string problem = problem_of_text(*node.group, false); !problem.empty())
      fail(problem);
  } else if (name == "involved_dim") {
    if (value.kind != Kind::flags) fail("is no list of true and false");
    node.dimensions = value.flags;
  }
}

void read_attribute(WireReader reader, ChakraNode& node) {
  std::string_view name;
  AttributeValue value;
  for (WireField field; reader.next(field);) {
    if (field.number == 1)
      name = text_of(reader, field, "the name of an attribute");
    else if (field.number >= 3 && field.number <= 32)
      read_value(reader, field, value);
  }
  keep_attribute(reader, name, value, node);
}

ChakraNode read_node(WireReader reader) {
  ChakraNode node;
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case node_id:
        node.id = number_of(reader, field, "the id of a node");
        break;
      case node_name:
        node.name = text_of(reader, field, "the name of a node");
        break;
      case node_type: {
        const uint64_t type = number_of(reader, field, "the type of a node");
        if (type > static_cast<uint64_t>(ChakraType::collective))
          reader.fail(field.at, "type " + std::to_string(type) + " of a node is not known");
        node.type = static_cast<ChakraType>(type);
        break;
      }
      case node_control:
        append_ids(reader, field, node.control_waits);
        break;
      case node_data:
        append_ids(reader, field, node.data_waits);
        break;
      case node_start:
        node.start_us = number_of(reader, field, "start_time_micros");
        break;
      case node_duration:
        node.duration_us = number_of(reader, field, "duration_micros");
        break;
      case node_attribute:
        if (field.kind != WireKind::bytes) reader.fail(field.at, "an attribute is no message");
        read_attribute(reader.inside(field), node);
        break;
      default:
        break;
    }
  }
  return node;
}

// A file without metadata begins with a node: that has a number as field 1, or fields above 2.
bool is_head(WireReader reader) {
  for (WireField field; reader.next(field);)
    if (field.number > 2 || (field.number == 1 && field.kind != WireKind::bytes)) return false;
  return true;
}

void read_messages(ByteReader& file, const ChakraVisitor& visit) {
  std::string message;
  uint64_t at = 0;
  bool is_first = true;
  bool is_empty = true;
  bool met_nothing = false;  // a node that says nothing is node 0
  while (next_message(file, message, at)) {
    if (message.empty() && !is_first) {
      if (met_nothing)
        throw InputError(file.where(),
                         "byte " + std::to_string(at) + ": a second node without anything in it");
      met_nothing = true;
    }
    const WireReader reader(message, file.offset() - message.size(), file.where());
    if (!is_first || !is_head(reader)) {
      ChakraNode node = read_node(reader);
      visit(node);
    }
    is_first = false;
    is_empty = false;
  }
  if (is_empty) throw InputError(file.where(), "holds no execution trace: it is empty");
}

}  // namespace

void parse_chakra(std::string_view text, const std::string& where, const ChakraVisitor& visit) {
  if (first_of_json(text) == '{' && text.find("\"workload_graph\"") != text.npos)
    return parse_chakra_json(text, where, visit);
  ByteReader reader = ByteReader::of_text(text, where);
  read_messages(reader, visit);
}

void read_chakra(const std::string& file, const ChakraVisitor& visit) {
  // A message may begin with any byte, also with that of "{": the name decides.
  if (!file.ends_with(".json") && !file.ends_with(".json.gz")) {
    ByteReader reader = ByteReader::of_file(file);
    return read_messages(reader, visit);
  }
  parse_chakra_json(ByteReader::of_file(file).rest(most_json_B), file, visit);
}

bool looks_like_chakra(const std::string& file) {
  for (const char* ending : {".et", ".et.gz", ".json", ".json.gz"})
    if (file.ends_with(ending)) return true;
  return false;
}

void write_chakra_head(std::string& out, std::string_view version) {
  std::string head;
  if (!version.empty()) append_bytes(head, 1, version);
  append_varint(out, head.size());
  out += head;
}

namespace {

void append_attribute(std::string& node, std::string_view name, const std::string& value) {
  std::string attribute;
  append_bytes(attribute, 1, name);
  append_bytes(node, node_attribute, attribute + value);
}

void append_list(std::string& node, uint32_t field, const std::vector<uint64_t>& ids) {
  std::string packed;
  for (const uint64_t id : ids) append_varint(packed, id);
  if (!ids.empty()) append_bytes(node, field, packed);
}

std::string number_value(uint32_t field, uint64_t number) {
  std::string value;
  append_number(value, field, number);
  return value;
}

}  // namespace

void write_chakra_node(std::string& out, const ChakraNode& one) {
  std::string node;
  if (one.id != 0) append_number(node, node_id, one.id);
  if (!one.name.empty()) append_bytes(node, node_name, one.name);
  if (one.type != ChakraType::invalid)
    append_number(node, node_type, static_cast<uint64_t>(one.type));
  append_list(node, node_control, one.control_waits);
  append_list(node, node_data, one.data_waits);
  if (one.start_us != 0) append_number(node, node_start, one.start_us);
  if (one.duration_us != 0) append_number(node, node_duration, one.duration_us);
  if (one.is_cpu_op)
    append_attribute(node, "is_cpu_op", number_value(value_bool, *one.is_cpu_op ? 1 : 0));
  for (const WholeAttribute& known : whole_attributes)
    if (const auto& value = one.*known.member)
      append_attribute(node, known.name,
                       number_value(known.written_as, static_cast<uint64_t>(*value)));
  if (one.group) {
    std::string value;
    append_bytes(value, value_string, *one.group);
    append_attribute(node, "pg_name", value);
  }
  if (!one.dimensions.empty()) {
    std::string packed;
    for (const bool flag : one.dimensions) packed += flag ? '\1' : '\0';
    std::string list;
    append_bytes(list, 1, packed);
    std::string value;
    append_bytes(value, value_bool_list, list);
    append_attribute(node, "involved_dim", value);
  }
  append_varint(out, node.size());
  out += node;
}

}  // namespace sgdsim
