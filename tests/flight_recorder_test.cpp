// Pickles that are data are read, pickles that would run something are refused; and dumps of
// PyTorch's Flight Recorder become times and say who is missing. In the samples (2 ranks, pickles
// of protocol 2) an operation of s bytes takes 20 us + s / (10 GB/s), rank 0 waits 5 us for rank 1,
// and rank 0 has entered a sixth collective.
#include <doctest/doctest.h>
#include <filesystem>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "tests/texts.h"
#include "traces/measurement/pickle.h"
#include "traces/measurement/registry.h"

namespace sgdsim {
namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string refusal_of(const std::string& bytes) {
  try {
    read_pickle(bytes, "f");
  } catch (const InputError& error) {
    return error.what();
  }
  return "read";
}

// {"a": [1, -2, 70000, 2**40, -2**40, True, False, None, 1.5, "x"], "t": (1, (2, 3), (4, 5, 6, 7),
// ()), "e": {}, 7: "seven"}, as Python 3 writes it by each protocol.
TEST_CASE("pickle: the same value by every protocol") {
  const std::vector<std::string> protocols = {
      "286470300a56610a70310a286c70320a49310a61492d320a614937303030300a614c313039393531313632373737"
      "36"
      "4c0a614c2d313039393531313632373737364c0a614930310a614930300a614e6146312e350a6156780a70330a61"
      "73"
      "56740a70340a2849310a2849320a49330a7470350a2849340a49350a49360a49370a7470360a28747470370a7356"
      "65"
      "0a70380a286470390a7349370a56736576656e0a7031300a732e",
      "7d71002858010000006171015d7102284b014afeffffff4a701101004c313039393531313632373737364c0a4c2d"
      "31"
      "3039393531313632373737364c0a4930310a4930300a4e473ff80000000000005801000000787103655801000000"
      "74"
      "7104284b01284b024b03747105284b044b054b064b077471062974710758010000006571087d71094b0758050000"
      "00"
      "736576656e710a752e",
      "80027d71002858010000006171015d7102284b014afeffffff4a701101008a060000000000018a060000000000ff"
      "88"
      "894e473ff80000000000005801000000787103655801000000747104284b014b024b03867105284b044b054b064b"
      "07"
      "7471062974710758010000006571087d71094b075805000000736576656e710a752e",
      "80049564000000000000007d94288c0161945d94284b014afeffffff4a701101008a060000000000018a06000000"
      "00"
      "00ff88894e473ff80000000000008c017894658c017494284b014b024b038694284b044b054b064b077494297494"
      "8c"
      "0165947d944b078c05736576656e94752e"};
  const Json expected =
      Json::parse(R"({"a":[1,-2,70000,1099511627776,-1099511627776,true,false,null,1.5,"x"],)"
                  R"("t":[1,[2,3],[4,5,6,7],[]],"e":{},"7":"seven"})");
  for (const std::string& hex : protocols) {
    CHECK(read_pickle(from_hex(hex), "f") == expected);
    // Cut off anywhere it is refused, and nothing else happens.
    for (std::size_t length = 0; length + 2 < hex.size(); length += 2)
      CHECK(refusal_of(from_hex(hex.substr(0, length))).starts_with("f: byte "));
  }
  CHECK(read_pickle(from_hex(protocols[2]), "f", "a").size() == 3);
}

// What Python would run: os.system("touch FILE"), by hand, in every way that pickles know.
TEST_CASE("pickle: what would call something is refused by name, and nothing is run") {
  const std::string mark = (std::filesystem::temp_directory_path() / "sgdsim_pickle_mark").string();
  std::filesystem::remove(mark);
  const std::string call = "S'touch " + mark + "'\n";
  struct Row {
    std::string name;
    std::string bytes;
  };
  const std::string proto = "\x80\x04";
  const std::vector<Row> rows = {
      {"GLOBAL", "cos\nsystem\n(" + call + "tR."},
      {"STACK_GLOBAL", proto + "\x8c\x02os\x8c\x06system\x93" + call + "\x85R."},
      {"INST", "(" + call + "ios\nsystem\n."},
      {"OBJ", "(" + call + "o."},
      {"REDUCE", call + call + "R."},
      {"BUILD", "}}b."},
      {"NEWOBJ", proto + "))\x81."},
      {"NEWOBJ_EX", proto + "))}\x92."},
      {"EXT1", proto + "\x82\x01."},
      {"EXT4", proto + std::string("\x84\1\0\0\0.", 6)},
      {"PERSID", "P1\n."},
      {"BINPERSID", "K\1Q."},
      {"EMPTY_SET", proto + "\x8f."},
      {"NEXT_BUFFER", "\x80\x05\x97."},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const std::string said = refusal_of(row.bytes);
    CHECK(said.find("refused: the instruction " + row.name + " may run") != std::string::npos);
    CHECK(said.find("nothing was run") != std::string::npos);
    CHECK_THROWS_AS(flight_recorder({row.bytes, "rank_0", {}, ""}), InputError);
  }
  CHECK_FALSE(std::filesystem::exists(mark));
}

TEST_CASE("pickle: lengths, memos and nesting that cannot be are refused") {
  const auto text = [](const char* bytes, std::size_t size) { return std::string(bytes, size); };
  struct Row {
    std::string reason;
    std::string bytes;
    std::string sentence;
  };
  std::string doubled = "\x80\x02]q";  // each list holds the one before twice: 2^60 values
  doubled += '\0';
  for (int i = 0; i < 60; ++i) {
    const char from = static_cast<char>(i);
    const char to = static_cast<char>(i + 1);
    doubled += std::string("](h") + from + "h" + from + "eq" + to;
  }
  const std::vector<Row> rows = {
      {"empty", "", "f: byte 0: the pickle ends too early"},
      {"2^63 bytes", text("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.", 12),
       "9223372036854775807 bytes are announced, 1 are left"},
      {"2^32 bytes", text("\x80\x02X\xff\xff\xff\xff.", 8), "are announced, 1 are left"},
      {"a long of 2^31 bytes", text("\x80\x02\x8b\xff\xff\xff\x7f.", 8),
       "a number of more than 64 bits"},
      {"no such memo", "h\x05.", "asks for memo 5, which it has not made"},
      {"nothing there", "\x80\x02.", "ends with other than one value"},
      {"nothing to take", "\x80\x02q\x01.", "takes a value that is not there"},
      {"no mark", "]e.", "takes a mark that is not there"},
      {"beyond a mark", "](a.", "takes a value that is not there"},
      {"no list", "K\1K\2a.", "adds to something that is no list"},
      {"odd dictionary", "}(K\1u.", "a key of a dictionary has no value"},
      {"key that is a list", "}]K\1s.", "no text and no whole number"},
      {"an older future", "\x80\x06.", "protocol 6 of pickles"},
      {"unknown", "\xff.", "refused: unknown instruction 255"},
      {"deep", std::string(100'000, ']') + std::string(99'999, 'a') + ".",
       "nested deeper than 64 levels"},
      {"a list in itself", text("]q\0h\0a.", 7), "nested deeper than 64 levels"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    CHECK(refusal_of(row.bytes).find(row.sentence) != std::string::npos);
  }
  CHECK(refusal_of(doubled + ".") != "read");
  // 2^24 leaves in 24 levels of pairs.
  std::string pairs = text("]q\0", 3);
  for (int i = 0; i < 24; ++i)
    pairs += std::string("h") + static_cast<char>(i) + "\x86q" + static_cast<char>(i + 1);
  CHECK(refusal_of(pairs + ".").find("values that name each other again and again: more than ") !=
        std::string::npos);
}

// ---- dumps

const std::string folder = std::string(SGDSIM_SOURCE_DIR) + "/tests/data/";

MeasuredText dump(int rank) {
  const std::string name = "nccl_trace_rank_" + std::to_string(rank);
  return {read_text(folder + name), name, {}, ""};
}

Measurement read(const std::vector<MeasuredText>& texts) {
  const auto all = read_measurements(texts);
  REQUIRE(all.size() == 1);
  return all.front().measurement;
}

TEST_CASE("flight recorder: the least time over the ranks, and who is missing") {
  // The JSON variant of rank 1 says the same.
  const std::string json = read_pickle(dump(1).text, "f").dump();
  for (const MeasuredText& second : {dump(1), MeasuredText{json, "rank_1.json", {}, ""}}) {
    const Measurement measurement = read({dump(0), second});
    REQUIRE(measurement.series.size() == 2);
    const Series& all = measurement.series[0];
    CHECK(all.operation == "allreduce");
    CHECK(all.type == "float");
    CHECK(all.ranks == 2);
    CHECK(all.group == "default_pg 0, ranks 0, 1");
    REQUIRE(all.points.size() == 4);
    for (const MeasuredPoint& point : all.points)
      CHECK(point.time == Duration::us(20 + point.size.count() / 10'000));
    const Series& gathered = measurement.series[1];
    CHECK(gathered.operation == "allgather");
    CHECK(gathered.points.at(0).size == Bytes(2'000'000));
    CHECK(gathered.points.at(0).time == Duration::us(220));
    CHECK(has_note(measurement,
                   "default_pg 0, ranks 0, 1: rank 1 has not entered collective 6 "
                   "(nccl:broadcast), which 1 rank has"));
    CHECK(has_note(measurement, "1 of 11 entries left out: not completed, or without duration_ms"));
    CHECK(has_note(measurement,
                   "of 2 ranks, rank 1 came last most often, in 5 of 5 collectives, in "
                   "the median 5 us after the first"));
  }
}

// One rank's dump in JSON, with some of its entries.
std::string dump_of(const std::vector<std::string>& entries, const std::string& ranks) {
  std::string text = R"({"version":"2.4","pg_config":{"0":{"name":"0","desc":"dp","ranks":")" +
                     ranks + R"("}},"entries":[)";
  for (const std::string& entry : entries) text += (&entry == &entries[0] ? "" : ",") + entry;
  return text + "]}";
}

std::string entry_of(int64_t number, const std::string& name, const std::string& in,
                     const std::string& out, const std::string& more = R"(,"duration_ms":1)",
                     const std::string& type = "Float") {
  return R"({"process_group":["0","dp"],"collective_seq_id":)" + std::to_string(number) +
         R"(,"p2p_seq_id":)" + std::to_string(number) + R"(,"profiling_name":"nccl:)" + name +
         R"(","input_sizes":)" + in + R"(,"input_dtypes":[")" + type + R"("],"output_sizes":)" +
         out + R"(,"output_dtypes":[")" + type + R"("],"state":"completed")" + more + "}";
}

Measurement read_entry(const std::string& entry) {
  return read({{dump_of({entry}, "[0, 1, 2, 3]"), "rank_0", {}, ""}});
}

TEST_CASE("flight recorder: bytes are products of sizes and types, in the words of nccl-tests") {
  struct Row {
    std::string reason;
    std::string entry;
    std::string operation;
    int64_t bytes;  // 0: left out
  };
  const std::vector<Row> rows = {
      {"two tensors", entry_of(1, "all_reduce", "[[3,4],[2]]", "[[3,4],[2]]"), "allreduce", 56},
      {"half", entry_of(1, "broadcast", "[[8]]", "[[8]]", R"(,"duration_ms":1)", "Half"),
       "broadcast", 16},
      {"all-gather: out", entry_of(1, "_all_gather_base", "[[8]]", "[[32]]"), "allgather", 128},
      {"all-gather into a list", entry_of(1, "all_gather", "[[8]]", "[[8],[8],[8],[8]]"),
       "allgather", 128},
      {"reduce-scatter: in", entry_of(1, "_reduce_scatter_base", "[[32]]", "[[8]]"),
       "reduce_scatter", 128},
      {"all-to-all: what one sends", entry_of(1, "all_to_all", "[[32]]", "[[32]]"), "alltoall",
       128},
      {"one message",
       entry_of(1, "send 0->3", "[[8]]", "[[8]]", R"(,"is_p2p":true,"duration_ms":1)"), "copy", 32},
      {"all-gather that does not fit", entry_of(1, "all_gather", "[[8]]", "[[31]]"), "", 0},
      {"overflow", entry_of(1, "all_reduce", "[[4294967296,4294967296]]", "[[1]]"), "", 0},
      {"beyond 64 bits", entry_of(1, "all_reduce", "[[18446744073709551615]]", "[[1]]"), "", 0},
      {"negative", entry_of(1, "all_reduce", "[[-4]]", "[[1]]"), "", 0},
      {"unknown type", entry_of(1, "all_reduce", "[[4]]", "[[4]]", R"(,"duration_ms":1)", "Blob"),
       "", 0},
      {"barrier", entry_of(1, "all_reduce_barrier", "[[1]]", "[[1]]"), "", 0},
      {"no time", entry_of(1, "all_reduce", "[[4]]", "[[4]]", R"(,"duration_ms":0)"), "", 0},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    if (row.bytes == 0) {
      CHECK_THROWS_WITH_AS(read_entry(row.entry), doctest::Contains("1 of 1 entry left out"),
                           InputError);
      continue;
    }
    const Measurement measurement = read_entry(row.entry);
    REQUIRE(measurement.series.size() == 1);
    CHECK(measurement.series[0].operation == row.operation);
    CHECK(measurement.series[0].points.at(0).size == Bytes(row.bytes));
    CHECK(measurement.series[0].points.at(0).time == Duration::ms(1));
  }
}

TEST_CASE(
    "flight recorder: without duration_ms the sentence says what to set, and who is missing") {
  const auto entry = [](int64_t number, const std::string& name) {
    return entry_of(number, name, "[[4]]", "[[4]]",
                    R"(,"time_discovered_started_ns":1,"time_discovered_completed_ns":9000)");
  };
  const std::string ranks = "[0, 1, 2, 3]";
  const std::vector<MeasuredText> texts = {
      {dump_of({entry(1, "all_reduce"), entry(2, "all_reduce")}, ranks), "rank_0", {}, ""},
      {dump_of({entry(1, "all_reduce")}, ranks), "rank_1", {}, ""},
      {dump_of({entry(1, "broadcast"), entry(2, "all_reduce")}, ranks), "rank_2", {}, ""}};
  std::string said;
  try {
    read(texts);
  } catch (const InputError& error) {
    said = error.what();
  }
  const std::string group = "\n  dp 0, ranks 0, 1, 2, 3: ";
  CHECK(said.find("set TORCH_NCCL_ENABLE_TIMING=1") != std::string::npos);
  CHECK(said.find(group + "rank 1 has not entered collective 2 (nccl:all_reduce), which 2 ranks "
                          "have") != std::string::npos);
  CHECK(said.find(group +
                  "ranks call different things as collective 1: nccl:all_reduce, and rank 2 "
                  "nccl:broadcast") != std::string::npos);
  CHECK(said.find(group + "there is no dump of rank 3") != std::string::npos);
}

// Rank 2 has twice as many elements as the others, as where a job hangs.
TEST_CASE("flight recorder: inputs that differ among ranks are named") {
  const std::string ranks = "[0, 1, 2]";
  const auto job = [&](const std::vector<std::vector<std::string>>& entries) {
    std::vector<MeasuredText> texts;
    for (std::size_t i = 0; i < entries.size(); ++i)
      texts.push_back({dump_of(entries[i], ranks), "rank_" + std::to_string(i), {}, ""});
    return read(texts);
  };
  const std::string first = entry_of(1, "all_reduce", "[[8]]", "[[8]]");
  const auto second = [](const std::string& name, const std::string& in, const std::string& type) {
    return entry_of(2, name, in, in, R"(,"duration_ms":1)", type);
  };
  const std::string same = second("all_reduce", "[[1000]]", "Float");
  const auto job_of = [&](const std::string& usual, const std::string& other) {
    return job({{first, usual}, {first, usual}, {first, other}});
  };
  CHECK(has_note(job_of(same, second("all_reduce", "[[2000]]", "Float")),
                 "dp 0, ranks 0, 1, 2: ranks call nccl:all_reduce with different inputs as "
                 "collective 2: [1000] Float, and rank 2 [2000] Float"));
  CHECK(has_note(job_of(same, second("all_reduce", "[[1000]]", "Half")),
                 "[1000] Float, and rank 2 [1000] Half"));
  // These may differ, and what is coalesced has several calls of one number.
  for (const std::string name : {"all_to_all", "scatter", "all_reduce_coalesced"}) {
    INFO(name);
    CHECK(!has_note(job_of(second(name, "[[1000]]", "Float"), second(name, "[[2000]]", "Float")),
                    "different inputs"));
  }
  const std::string large = second("all_reduce", "[[2000]]", "Float");
  CHECK(!has_note(job({{first, same, large}, {first, same, large}, {first, same, large}}),
                  "different inputs"));
}

// Each of two ranks comes last once: neither is the slow one.
TEST_CASE("flight recorder: of ranks that are late equally often none is named as the one") {
  const auto entry = [](int64_t number, const std::string& ms) {
    return entry_of(number, "all_reduce", "[[8]]", "[[8]]", R"(,"duration_ms":)" + ms);
  };
  const Measurement tied =
      read({{dump_of({entry(1, "1"), entry(2, "2")}, "[0, 1]"), "rank_0", {}, ""},
            {dump_of({entry(1, "2"), entry(2, "1")}, "[0, 1]"), "rank_1", {}, ""}});
  CHECK(has_note(tied,
                 "of 2 ranks, none came last most often: ranks 0 and 1 did in 1 of 2 collectives "
                 "each"));
  CHECK(!has_note(tied, "rank 0 came last"));
}

// ---- messages between two ranks: m MB take m ms, and who receives asks 9 ms early

std::string message_of(int64_t number, const std::string& name, int64_t MB, int64_t ms,
                       const std::string& more = "") {
  const std::string sizes = "[[" + std::to_string(250'000 * MB) + "]]";
  return entry_of(number, name, sizes, sizes,
                  R"(,"is_p2p":true,"duration_ms":)" + std::to_string(ms) + more);
}

Measurement read_pipeline(const std::vector<std::vector<std::string>>& dumps) {
  std::vector<MeasuredText> texts;
  for (std::size_t rank = 0; rank < dumps.size(); ++rank)
    texts.push_back({dump_of(dumps[rank], "[0, 1, 2]"), "rank_" + std::to_string(rank), {}, ""});
  return read(texts);
}

// In milliseconds, by size.
void check_messages(const Measurement& measurement, const std::vector<int64_t>& expected_ms) {
  REQUIRE(measurement.series.size() == 1);
  const std::vector<MeasuredPoint>& points = measurement.series[0].points;
  REQUIRE(points.size() == expected_ms.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i].size == Bytes(1'000'000 * static_cast<int64_t>(i + 1)));
    CHECK(points[i].time == Duration::ms(expected_ms[i]));
  }
}

// Numbers of calls count all of a rank: those of rank 1 in the middle are twice as large.
TEST_CASE("flight recorder: the n-th send belongs to the n-th receive") {
  std::vector<std::vector<std::string>> dumps(3);
  for (int64_t m = 1; m <= 4; ++m) {
    dumps[0].push_back(message_of(m, "send 0->1", m, m));
    dumps[1].push_back(message_of(2 * m - 1, "recv 1<-0", m, m + 9));
    dumps[1].push_back(message_of(2 * m, "send 1->2", m, m));
    dumps[2].push_back(message_of(m, "recv 2<-1", m, m + 9));
  }
  const Measurement measurement = read_pipeline(dumps);
  check_messages(measurement, {1, 2, 3, 4});
  CHECK(has_note(measurement, "8 messages between two ranks"));
  // A call that was not measured has its place in the order all the same.
  dumps[0][0] = entry_of(1, "send 0->1", "[[250000]]", "[[250000]]", R"(,"is_p2p":true)");
  dumps[1].resize(7);
  dumps[2].clear();
  CHECK(read_pipeline(dumps).series[0].points.at(3).time == Duration::ms(4));
  // Rank 1 sends what nobody's dump has, in 1 to 3 ms, and the first receive may have waited.
  CHECK(has_note(read_pipeline(dumps), "7 messages between two ranks"));
}

TEST_CASE("flight recorder: where the oldest entries are lost, the latest messages are paired") {
  std::vector<std::vector<std::string>> dumps(2);
  for (int64_t m = 1; m <= 4; ++m) {
    const std::string record = R"(,"record_id":)" + std::to_string(m);
    if (m > 1) dumps[0].push_back(message_of(m, "send 0->1", m, m, record));
    dumps[1].push_back(message_of(m, "recv 1<-0", m, m + 9));
  }
  const Measurement measurement = read_pipeline(dumps);
  check_messages(measurement, {10, 2, 3, 4});
  CHECK(has_note(measurement, "7 ends of messages are paired from the last completed one back"));
  // Coalesced calls share a number, so that others of number 1 may be lost, too.
  dumps[0][0] = message_of(1, "send 0->1", 2, 2, R"(,"record_id":7)");
  check_messages(read_pipeline(dumps), {10, 2, 3, 4});
}

// The dump of rank 1 was taken a message sooner: 2 MB would meet 1, 3 MB 2, 4 MB 3.
TEST_CASE("flight recorder: ends whose sizes do not meet stand for themselves") {
  std::vector<std::vector<std::string>> dumps(2);
  for (int64_t m = 1; m <= 4; ++m) {
    if (m > 1) dumps[0].push_back(message_of(m, "send 0->1", m, m));
    if (m < 4) dumps[1].push_back(message_of(m, "recv 1<-0", m, m + 9));
  }
  const Measurement measurement = read_pipeline(dumps);
  CHECK(has_note(measurement, "6 ends of messages stand for themselves"));
  CHECK(measurement.series.at(0).points.at(0).time == Duration::ms(10));
  CHECK(measurement.series.at(0).points.at(3).time == Duration::ms(4));
}

TEST_CASE("flight recorder: what is no dump, and names without a rank") {
  struct Row {
    std::string reason;
    std::vector<MeasuredText> texts;
    std::string sentence;
  };
  const std::string good = dump_of({entry_of(1, "all_reduce", "[[4]]", "[[4]]")}, "[0, 1]");
  const std::vector<Row> rows = {
      {"no entries", {{R"({"pg_config": {}})", "rank_0", {}, ""}}, "it has no list \"entries\""},
      {"a list", {{"(l.", "rank_0", {}, ""}}, "it has no list \"entries\""},
      {"empty", {{"", "rank_0", {}, ""}}, "the pickle ends too early"},
      {"no rank",
       {{good, "rank_0", {}, ""}, {good, "b", {}, ""}},
       "b: the name of a dump ends with"},
      {"one rank twice",
       {{good, "rank_0", {}, ""}, {good, "x/rank_0.json", {}, ""}},
       "x/rank_0.json: is of the same rank as rank_0"},
      {"one rank twice, by its ending",
       {{good, "dump.7", {}, ""}, {good, "rank7.json", {}, ""}},
       "rank7.json: is of the same rank as dump.7"},
      {"nothing in it", {{dump_of({}, "[0]"), "rank_0", {}, ""}}, "no measured time is left"},
      {"entries of another kind",
       {{R"({"entries": [1, "x", {}, {"process_group": 7}]})", "rank_0", {}, ""}},
       "4 of 4 entries left out: no group"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    CHECK_THROWS_WITH_AS(read_measurements(row.texts, "flight-recorder"),
                         doctest::Contains(row.sentence.c_str()), InputError);
  }
}

}  // namespace
}  // namespace sgdsim
