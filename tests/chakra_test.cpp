// Chakra traces as bytes: the published example byte by byte, every form in which a number or a
// list may stand, what must be refused, and random graphs that come back as they were written.
#include "traces/chakra.h"

#include <doctest/doctest.h>
#include <fstream>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/random.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

std::string bytes_of(const std::string& hex) {
  std::string bytes;
  std::string digits;
  for (const char c : hex) {
    if (c == ' ') continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes += static_cast<char>(std::stoi(digits, nullptr, 16));
    digits.clear();
  }
  return bytes;
}

std::vector<ChakraNode> parse(const std::string& text) {
  std::vector<ChakraNode> nodes;
  parse_chakra(text, "x.et", [&](ChakraNode& node) { nodes.push_back(node); });
  return nodes;
}

// A field that is a message, or a text; and an attribute of this value.
std::string field(int number, const std::string& content) {
  std::string bytes;
  bytes += static_cast<char>(number << 3 | 2);
  return bytes + static_cast<char>(content.size()) + content;
}
std::string attribute(const std::string& name, const std::string& value) {
  return field(10, field(1, name) + value);
}
std::string record(const std::string& message) {
  return static_cast<char>(message.size()) + message;
}

const std::string head = bytes_of("07 0a 05 30 2e 30 2e 34");

}  // namespace

TEST_CASE("chakra: the example of the specification, byte by byte") {
  const std::string bytes =
      head + bytes_of(
                 "48 12 14 61 6c 6c 5f 72 65 64 75 63 65 5f 38 6e 70 75 73 5f 31 4d 42 18 07"
                 "52 0e 0a 09 69 73 5f 63 70 75 5f 6f 70 d8 01 00"
                 "52 0d 0a 09 63 6f 6d 6d 5f 74 79 70 65 48 00"
                 "52 0f 0a 09 63 6f 6d 6d 5f 73 69 7a 65 48 80 80 40");
  REQUIRE(bytes.size() == 81);
  ChakraNode expected;
  expected.name = "all_reduce_8npus_1MB";
  expected.type = ChakraType::collective;
  expected.is_cpu_op = false;
  expected.collective = 0;
  expected.size_B = 1'048'576;
  const std::vector<ChakraNode> nodes = parse(bytes);
  REQUIRE(nodes.size() == 1);
  CHECK(nodes.front() == expected);
  std::string written;
  write_chakra_head(written, "0.0.4");
  write_chakra_node(written, expected);
  CHECK(written == bytes);
}

TEST_CASE("chakra: a number may stand in any field of whole numbers") {
  struct Row {
    const char* reason;
    const char* value;
    int64_t expected;
  };
  for (const Row& row :
       std::vector<Row>{{"int32", "38 ac 02", 300},
                        {"int64", "48 ac 02", 300},
                        {"uint32", "58 ac 02", 300},
                        {"uint64", "68 ac 02", 300},
                        {"sint32", "78 d8 04", 300},
                        {"sint64", "88 01 d8 04", 300},
                        {"fixed32", "9d 01 2c 01 00 00", 300},
                        {"fixed64", "a9 01 2c 01 00 00 00 00 00 00", 300},
                        {"sfixed32", "bd 01 2c 01 00 00", 300},
                        {"sfixed64", "c9 01 2c 01 00 00 00 00 00 00", 300},
                        {"a varint that is longer than needed", "48 ac 82 00", 300},
                        {"the last one counts", "48 05 48 06", 6}}) {
    CAPTURE(row.reason);
    const auto nodes = parse(head + record(attribute("comm_size", bytes_of(row.value))));
    REQUIRE(nodes.size() == 1);
    CHECK(nodes.front().size_B == row.expected);
  }
  for (const Row& row : std::vector<Row>{{"int32", "38 ff ff ff ff ff ff ff ff ff 01", -1},
                                         {"sint32", "78 01", -1},
                                         {"sfixed32", "bd 01 ff ff ff ff", -1},
                                         {"sfixed64", "c9 01 fe ff ff ff ff ff ff ff", -2}}) {
    CAPTURE(row.reason);
    CHECK(parse(head + record(attribute("comm_tag", bytes_of(row.value)))).front().tag ==
          row.expected);
  }
}

TEST_CASE("chakra: lists in both forms, names of groups, and what is skipped") {
  const std::vector<uint64_t> ids = {3, 300};
  for (const char* list : {"2a 03 03 ac 02", "28 03 28 ac 02", "28 03 2a 02 ac 02"})
    CHECK(parse(head + record(bytes_of(list))).front().data_waits == ids);
  for (const char* list : {"22 03 03 ac 02", "20 03 20 ac 02"})
    CHECK(parse(head + record(bytes_of(list))).front().control_waits == ids);
  const std::vector<bool> dimensions = {true, false};
  for (const char* list : {"e2 01 04 0a 02 01 00", "e2 01 04 08 01 08 00"})
    CHECK(parse(head + record(attribute("involved_dim", bytes_of(list)))).front().dimensions ==
          dimensions);
  for (const char* name : {"ea 01 02 31 37", "fa 01 02 31 37", "38 11"})
    CHECK(parse(head + record(attribute("pg_name", bytes_of(name)))).front().group == "17");
  // inputs, fields that are not known, attributes that are not known.
  const ChakraNode node =
      parse(head + record(bytes_of("08 05 42 03 0a 01 78 f8 01 07 fd 01 01 02 03 04") +
                          attribute("rf_id", bytes_of("48 ff ff ff ff ff ff ff ff ff 01")) +
                          attribute("op_schema", field(2, "doc"))))
          .front();
  ChakraNode expected;
  expected.id = 5;
  CHECK(node == expected);
  // Without metadata the first message is a node; metadata may be empty, or have attributes only.
  CHECK(parse(record(bytes_of("08 05"))).size() == 1);
  CHECK(parse(bytes_of("00")).empty());
  CHECK(parse(record(field(2, field(1, "schema"))) + record(bytes_of("08 05"))).size() == 1);
}

TEST_CASE("chakra: files that are wrong are refused with the byte and the reason") {
  struct Row {
    std::string hex;  // behind the head, which has 8 bytes
    std::string sentence;
  };
  for (const Row& row : std::vector<Row>{
           {"05 08 05", "byte 8: a message of 5 bytes, of which 2 are there"},
           {"ff ff ff ff 0f",
            "byte 8: a message of 4294967295 bytes; the longest that is read has 67108864"},
           {"80", "byte 8: the file ends within the length of a message"},
           {"ff ff ff ff ff ff ff ff ff ff 01", "byte 8: a number of more than 64 bits"},
           {"ff ff ff ff ff ff ff ff ff 02", "byte 8: a number of more than 64 bits"},
           {"02 08 80", "byte 10: the message ends within a number"},
           {"0c 08 ff ff ff ff ff ff ff ff ff ff 01", "byte 10: a number of more than 64 bits"},
           {"03 12 05 61", "byte 9: a field of 5 bytes, of which 1 are there"},
           {"01 0b", "byte 9: a field of wire type 3, which is not read"},
           {"02 00 00", "byte 9: 0 is no number of a field"},
           {"03 0a 01 00", "byte 9: the id of a node is no number"},
           {"02 10 05", "byte 9: the name of a node is no text"},
           {"02 18 08", "byte 9: type 8 of a node is not known"},
           {"03 2a 01 80", "byte 11: the message ends within a number"},
           {"05 25 01 00 00 00", "byte 9: a list of ids is no list of numbers"},
           {"04 39 01 00 00", "byte 10: the message ends within a number"}}) {
    CAPTURE(row.hex);
    CHECK_THROWS_WITH_AS(parse(head + bytes_of(row.hex)), ("x.et: " + row.sentence).c_str(),
                         InputError);
  }
  CHECK_THROWS_WITH_AS(parse(""), "x.et: holds no execution trace: it is empty", InputError);
  // A head, node 0 without anything, and once more: zeros to the end of a disk are refused at once.
  CHECK_THROWS_WITH_AS(parse(bytes_of("00 00 00 00")),
                       doctest::Contains("a second node without anything"), InputError);
  const std::vector<std::pair<std::string, std::string>> attributes = {
      {"comm_size 48 ff ff ff ff ff ff ff ff ff 01", "attribute comm_size is negative"},
      {"comm_size 68 ff ff ff ff ff ff ff ff ff 01", "attribute comm_size is too large"},
      {"comm_size 19 00 00 00 00 00 00 f0 3f", "attribute comm_size is no whole number"},
      {"comm_type ea 01 01 30", "attribute comm_type is no whole number"},
      {"is_cpu_op ea 01 01 30", "attribute is_cpu_op is neither true nor false"},
      {"involved_dim d8 01 01", "attribute involved_dim is no list of true and false"},
      {"pg_name 19 00 00 00 00 00 00 f0 3f", "attribute pg_name is no name"}};
  for (const auto& [text, sentence] : attributes) {
    const std::string& shown = text;
    CAPTURE(shown);
    const std::size_t blank = text.find(' ');
    const std::string bytes =
        head + record(attribute(text.substr(0, blank), bytes_of(text.substr(blank))));
    CHECK_THROWS_WITH_AS(parse(bytes), doctest::Contains(sentence.c_str()), InputError);
  }
}

TEST_CASE("chakra: the older variant in JSON") {
  std::vector<ChakraNode> nodes;
  const auto parse_json = [&](const std::string& text) {
    nodes.clear();
    parse_chakra(text, "x.json", [&](ChakraNode& node) { nodes.push_back(node); });
  };
  parse_json(
      R"({"workload_graph":[{"Id":3,"Name":"a","NodeType":4,"is_cpu_op":false,"runtime":5,
          "data_deps":[],"tensor_size":0,"comm_type":0,"comm_size":0,"comm_src":0,"more":[1]},
          {"Id":4,"Name":"b","NodeType":7,"is_cpu_op":0,"runtime":0,"data_deps":[3],
          "ctrlDeps":[3],"comm_type":2,"comm_size":64,"comm_priority":1,"comm_src":0,
          "comm_dst":0,"comm_tag":-1}]})");
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0].duration_us == 5);
  CHECK_FALSE(nodes[0].size_B);  // attributes of communication count for its nodes only
  CHECK(nodes[1].control_waits == std::vector<uint64_t>{3});
  CHECK(nodes[1].data_waits == std::vector<uint64_t>{3});
  CHECK(nodes[1].collective == 2);
  CHECK(nodes[1].size_B == 64);
  CHECK(nodes[1].tag == -1);
  CHECK(nodes[1].is_cpu_op == false);
  for (const auto& [text, sentence] : std::vector<std::pair<std::string, std::string>>{
           {R"({"workload_graph":[{"Name":"a","NodeType":4}]})", "has no Id"},
           {R"({"workload_graph":[{"Id":1}]})", "has no NodeType"},
           {R"({"workload_graph":[{"Id":1,"NodeType":9}]})", "expected a whole number from 0 to 7"},
           {R"({"workload_graph":[{"Id":-1,"NodeType":4}]})", "expected a whole number from 0"},
           {R"({"workload_graph":[7]})", "expected a node"},
           {R"({"workload_graph":7})", "expected"},
           {R"({"workload_graph":[)", "not JSON"},
           {R"({"workload_graph":[{"Name":"a} {","NodeType":4}]})", "has no Id"}}) {
    const std::string& shown = text;
    CAPTURE(shown);
    CHECK_THROWS_WITH_AS(parse_json(text), doctest::Contains(sentence.c_str()), InputError);
  }
}

namespace {

std::optional<int64_t> maybe(Random& random, uint64_t most) {
  if (random.below(3) == 0) return std::nullopt;
  return static_cast<int64_t>(random.below(most));
}

ChakraNode random_node(Random& random) {
  ChakraNode node;
  node.id = random.below(3) == 0 ? random.below(5) : random.below(UINT64_MAX);
  for (std::size_t i = 0; i < random.below(9); ++i)
    node.name += static_cast<char>(random.below(256));
  node.type = static_cast<ChakraType>(random.below(8));
  for (std::size_t i = 0; i < random.below(6); ++i)
    node.control_waits.push_back(random.below(1 + (uint64_t{1} << random.below(63))));
  for (std::size_t i = 0; i < random.below(6); ++i)
    node.data_waits.push_back(random.below(1 + (uint64_t{1} << random.below(63))));
  if (random.below(2) == 0) node.start_us = random.below(UINT64_MAX);
  if (random.below(2) == 0) node.duration_us = random.below(1'000'000'000);
  if (random.below(2) == 0) node.is_cpu_op = random.below(2) == 0;
  node.operations = maybe(random, INT64_MAX);
  node.tensor_size_B = maybe(random, INT64_MAX);
  node.collective = maybe(random, 10);
  node.size_B = maybe(random, uint64_t{1} << random.below(63));
  node.priority = maybe(random, 100);
  node.sender = maybe(random, 100'000);
  node.receiver = maybe(random, 100'000);
  node.tag = maybe(random, 1'000);
  if (node.tag && random.below(2) == 0) *node.tag -= 1'000;
  if (random.below(2) == 0) node.group = std::to_string(random.below(20));
  for (std::size_t i = 0; i < random.below(4); ++i) node.dimensions.push_back(random.below(2) == 0);
  return node;
}

}  // namespace

TEST_CASE("chakra: 1,000 random graphs come back as they were written") {
  Random random(18);
  for (int round = 0; round < 1'000; ++round) {
    std::vector<ChakraNode> nodes(random.below(40));
    std::string text;
    write_chakra_head(text, random.below(2) == 0 ? "0.0.4" : "");
    for (ChakraNode& node : nodes) {
      node = random_node(random);
      write_chakra_node(text, node);
    }
    REQUIRE(parse(text) == nodes);
    // Cut off anywhere, it is a part of that, or an error.
    const std::size_t cut = random.below(text.size() + 1);
    try {
      const auto part = parse(text.substr(0, cut));
      REQUIRE(part.size() <= nodes.size());
      REQUIRE(std::equal(part.begin(), part.end(), nodes.begin()));
    } catch (const InputError&) {
      continue;
    }
  }
}

TEST_CASE("chakra: JSON of other programs is named with what reads it") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string file = folder.name() + "/x.json";
  const auto said = [&](const std::string& text) {
    std::ofstream(file) << text;
    try {
      read_chakra(file, [](ChakraNode&) {});
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string version = R"({"version": "0.0.4"})";
  const std::string node = R"({"id": "1", "name": "a", "type": "COMP_NODE"})";
  for (const std::string between : {"", "\n", " \r\n"}) {
    INFO(between);
    CHECK(said(version + between + node + between + node) ==
          file +
              ": holds JSON objects one after another, as chakra_jsonizer prints them; give the "
              ".et files that they were made from");
  }
  CHECK(said(R"({"schemaVersion": 1, "traceEvents": [{"name": "a} {"}]})") ==
        file +
            ": is a profile of PyTorch (Kineto), and no schedule; `sgdsim import kineto FILE` "
            "reads it");
}

TEST_CASE("chakra: packed files, and a length that is not there takes no memory") {
  const std::string plain = SGDSIM_SOURCE_DIR "/tests/data/chakra/pair.0.et";
  const auto read = [](const std::string& file) {
    std::vector<ChakraNode> nodes;
    read_chakra(file, [&](ChakraNode& node) { nodes.push_back(node); });
    return nodes;
  };
  const auto nodes = read(plain);
  CHECK(nodes.size() >= 3);
  CHECK(read(plain + ".gz") == nodes);
  std::ifstream stored(plain + ".gz", std::ios::binary);
  const std::string packed((std::istreambuf_iterator<char>(stored)), {});
  for (const std::size_t left : {std::size_t{15}, packed.size() / 2, packed.size() - 4}) {
    CAPTURE(left);
    const Temporary cut(Temporary::Kind::file, packed.substr(0, left));
    CHECK_THROWS_WITH_AS(read(cut.name()),
                         (cut.name() + ": is packed with gzip, and cut off or broken").c_str(),
                         InputError);
  }
  CHECK_THROWS_AS(read(SGDSIM_SOURCE_DIR "/tests"), InputError);
  CHECK_THROWS_AS(read("no_such.et"), InputError);

  const Temporary folder(Temporary::Kind::folder);
  const std::string hostile = folder.name() + "/long.0.et";
  std::ofstream(hostile, std::ios::binary) << head << bytes_of("ff ff ff 1f 08");
  const Ran ran = run_sgdsim({"replay", hostile, "--L", "1", "--G", "1"});
  CHECK(ran.exit_code == 2);
  CHECK(ran.log ==
        "sgdsim: " + hostile + ": byte 8: a message of 67108863 bytes, of which 1 are there\n");
#ifndef SGDSIM_SANITIZED
  CHECK(ran.most_memory_B < run_sgdsim({"--version"}).most_memory_B + 20'000'000);
#endif
}

}  // namespace sgdsim
