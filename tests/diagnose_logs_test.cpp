// Folders with a log of NCCL's Inspector, or a trace of Chakra, for each rank.
//
// The job: a forward pass of 10 ms and two buckets of gradients, ready 5 and 9 ms later, whose
// exchanges take 3 and 1 ms once all ranks are there:
//   step 20 ms: bucket 1 at 15-18, bucket 2 at 19-20; the next step begins at once
// The forward pass of rank 2 takes 15 ms:
//   step 25 ms: bucket 1 at 20-23, bucket 2 at 24-25
// so that it costs 5 ms. Kernels of the others begin when they are ready and nothing is before them
// (bucket 1 at 15, bucket 2, ready at 19, at 23), and wait.
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

#include "study/diagnose/diagnose_answer.h"
#include "study/diagnose/record_folder.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "traces/chakra.h"

namespace sgdsim {
namespace {

constexpr int slow_of_four = 2;
constexpr int64_t step_us = 25'000;

struct LoggedProcess {
  std::string id = "0x51a7";
  int rank = 0;
  int ranks = 4;
  int steps = 6;
  int64_t clock_us = 1'000'000'000;
  int64_t second_B = 2000;  // of the second bucket
  int first_number = 40;    // of the communicator's all-reduces
  bool is_verbose = true;
  int missing = -1;  // step whose second bucket was not kept

  void line(std::string& text, const std::string& comm, int number, int64_t size_B,
            int64_t start_us, int64_t stop_us) const {
    text +=
        R"({"header":{"id":")" + comm + R"(","comm_name":"dp","rank":)" + std::to_string(rank) +
        R"(,"n_ranks":)" + std::to_string(ranks) +
        R"(,"nnodes":1},"metadata":{"hostname":"node","pid":7},"coll_perf":{"coll":"AllReduce",)"
        R"("coll_sn":)" +
        std::to_string(number) + R"(,"coll_msg_size_bytes":)" + std::to_string(size_B) +
        R"(,"coll_exec_time_us":)" + std::to_string(stop_us - start_us);
    if (is_verbose)
      text += R"(,"event_trace_ts":{"coll_start_ts":1,"coll_stop_ts":2,"kernel_events":[)"
              R"({"channel_id":0,"kernel_start_ts":)" +
              std::to_string(clock_us + start_us + 1) + R"(,"kernel_stop_ts":)" +
              std::to_string(clock_us + stop_us) + R"(},{"channel_id":1,"kernel_start_ts":)" +
              std::to_string(clock_us + start_us) + R"(,"kernel_stop_ts":)" +
              std::to_string(clock_us + stop_us - 1) + "}]}";
    text += "}}\n";
  }
  std::string text() const {
    std::string all;
    const bool is_slow = rank == slow_of_four;
    for (int step = 0; step < steps; ++step) {
      const int64_t from_us = step * step_us;
      line(all, id, first_number + 2 * step, 1000, from_us + (is_slow ? 20'000 : 15'000),
           from_us + 23'000);
      if (step != missing)
        line(all, id, first_number + 2 * step + 1, second_B, from_us + (is_slow ? 24'000 : 23'000),
             from_us + 25'000);
    }
    return all;
  }
};

void write(const Temporary& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder.name() + "/" + name) << text;
}

RecordWords divided(const std::string& layout, int stage = -1) {
  RecordWords words;
  words.layout = layout;
  words.stage = stage;
  return words;
}
RecordWords repeating(int exchanges) {
  RecordWords words;
  words.exchanges = exchanges;
  return words;
}

DiagnoseAnswer answer_of_logs(const Temporary& folder, const RecordWords& words = {}) {
  return answer_diagnose(read_record(folder.name(), words), diagnose::ClockRule::by_record, {});
}

void check_slow_rank(const DiagnoseAnswer& answer, double step_s) {
  CHECK(answer.diagnosis.played_s == doctest::Approx(step_s).epsilon(1e-9));
  REQUIRE(!answer.diagnosis.parts.empty());
  CHECK(answer.diagnosis.parts[0].kind == diagnose::PartKind::worker);
  CHECK(holds(part_words(answer, answer.diagnosis.parts[0]), "rank 2, rank2"));
  CHECK(answer.diagnosis.parts[0].saved_s == doctest::Approx(0.005).epsilon(1e-9));
}

TEST_CASE("diagnose logs: the slow rank, by clocks that are apart") {
  const Temporary folder(Temporary::Kind::folder);
  for (int rank = 0; rank < 4; ++rank) {
    LoggedProcess process{.rank = rank};
    process.clock_us += rank * 37 % 21 * 1000 - 10'000;
    write(folder, "rank" + std::to_string(rank) + ".log", process.text());
  }
  const DiagnoseAnswer answer = answer_of_logs(folder);
  CHECK(answer.work.replicas == 4);
  CHECK(answer.work.steps == std::vector<int64_t>{21, 22, 23, 24, 25});  // 20 has no step before
  check_slow_rank(answer, 0.025);
  CHECK(has_note(answer, "exchanges repeat after 2"));
  CHECK(has_note(answer, "the first step of a log is left out"));
  CHECK(has_note(answer, "clocks of workers were aligned"));
  CHECK(answer.format == "logs of NCCL's Inspector");
}

TEST_CASE("diagnose logs: what is missing costs its step or its rank, and is said") {
  const Temporary folder(Temporary::Kind::folder);
  for (int rank = 0; rank < 4; ++rank) {
    LoggedProcess process{.rank = rank};
    if (rank == 1) process.missing = 3;
    std::string text = process.text();
    if (rank == 3) text.resize(text.size() - 20);  // within the last line
    write(folder, "rank" + std::to_string(rank) + ".log", text);
  }
  write(folder, "broken.log", R"({"header":{"id":"0x51a7"},"coll_perf":[}])");
  write(folder, "quiet.log", LoggedProcess{.rank = 0, .is_verbose = false}.text());
  write(folder, "readme.txt", "nothing");
  const DiagnoseAnswer answer = answer_of_logs(folder);
  // Step 23 of rank 1 has one bucket, and the step after it does not say when it began.
  CHECK(answer.work.steps == std::vector<int64_t>{21, 22});
  check_slow_rank(answer, 0.025);
  CHECK(has_note(answer, "rank3.log is cut off"));
  CHECK(has_note(answer, "left out: " + folder.name() + "/broken.log"));
  CHECK(has_note(answer, "quiet.log: says of none of its 12 collectives when their kernels ran"));
  CHECK(has_note(answer, "not all ranks have them"));
  CHECK(has_note(answer, "1 step behind a gap in a log is left out"));
}

TEST_CASE("diagnose logs: tensor groups, and one stage of several") {
  const Temporary folder(Temporary::Kind::folder);
  // Two stages of four replicas of two ranks; stage 0 comes first by name, and is never slow.
  for (int stage = 0; stage < 2; ++stage)
    for (int replica = 0; replica < 4; ++replica)
      for (int tensor = 0; tensor < 2; ++tensor) {
        LoggedProcess process{.id = "0xd" + std::to_string(stage) + std::to_string(tensor),
                              .rank = stage == 0 ? 0 : replica};
        std::string text = process.text();
        if (stage == 0) {  // the same times, and its own number
          const std::string from = "\"rank\":0";
          for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + 1))
            text.replace(at, from.size(), "\"rank\":" + std::to_string(replica));
        }
        LoggedProcess inside{.id = "0xe" + std::to_string(stage) + std::to_string(replica),
                             .rank = tensor,
                             .ranks = 2};
        inside.line(text, inside.id, 1, 500, 1000, 2000);
        write(folder,
              (stage == 0 ? "a" : "rank") + std::to_string(replica) + "_" + std::to_string(tensor),
              text);
      }
  check_slow_rank(answer_of_logs(folder, divided("tp2 pp2", 1)), 0.025);
  const DiagnoseAnswer first = answer_of_logs(folder, divided("tp2 pp2 dp4", 0));
  CHECK(first.work.replicas == 4);
  CHECK(first.diagnosis.parts.empty());
  CHECK(has_note(first, "stage 0 alone"));
  CHECK(has_note(first, "the first rank counts"));
  CHECK(holds(refusal_of([&] { answer_of_logs(folder); }),
              "no communicator that could be that of all"));
  CHECK(holds(refusal_of([&] { answer_of_logs(folder, divided("tp2")); }),
              "no communicator that could be that of the replicas"));
}

TEST_CASE("diagnose logs: buckets that are all alike need the number of a step") {
  const Temporary folder(Temporary::Kind::folder);
  for (int rank = 0; rank < 4; ++rank) {
    std::string text = LoggedProcess{.rank = rank, .second_B = 1000}.text();
    if (rank == 3) text.erase(0, text.find('\n') + 1);  // its log begins within a step
    write(folder, "rank" + std::to_string(rank) + ".log", text);
  }
  check_slow_rank(answer_of_logs(folder, repeating(2)), 0.025);
  CHECK(has_note(answer_of_logs(folder), "say --exchanges N"));
  CHECK(holds(refusal_of([&] { answer_of_logs(folder, repeating(7)); }), "do not repeat after 7"));
}

// Beside itself a record differs by nothing, whatever must be said of how it is divided.
TEST_CASE("diagnose logs: another folder of logs is divided by the same words") {
  const Temporary folder(Temporary::Kind::folder);
  for (int rank = 0; rank < 4; ++rank)
    write(folder, "rank" + std::to_string(rank) + ".log",
          LoggedProcess{.rank = rank, .second_B = 1000}.text());
  const Ran ran = call_sgdsim(
      {"compare", folder.name(), folder.name(), "--exchanges", "2", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(json["measured_s"].get<double>() == doctest::Approx(0.025).epsilon(1e-9));
  CHECK(json["predicted_s"].get<double>() == doctest::Approx(0.025).epsilon(1e-9));
}

// Twelve stages of two replicas: rank 2 stage + replica; stage 2 is that of ranks 4 and 5, though
// rank12 comes before rank4 letter by letter.
TEST_CASE("diagnose logs: files are counted as their names count") {
  const Temporary folder(Temporary::Kind::folder);
  for (int stage = 0; stage < 12; ++stage)
    for (int replica = 0; replica < 2; ++replica)
      write(folder, "rank" + std::to_string(2 * stage + replica) + ".log",
            LoggedProcess{.id = "0xd" + std::to_string(stage), .rank = replica, .ranks = 2}.text());
  for (const int stage : {0, 2, 5, 11}) {
    CAPTURE(stage);
    const DiagnoseAnswer answer = answer_of_logs(folder, divided("pp12 dp2", stage));
    REQUIRE(answer.worker_names.size() == 2);
    CHECK(holds(answer.worker_names[0], "rank" + std::to_string(2 * stage) + ".log"));
    CHECK(holds(answer.worker_names[1], "rank" + std::to_string(2 * stage + 1) + ".log"));
  }
}

// Ranks 0, 1 and 3 wait for rank 2 in the first bucket, for 5 of 25 ms.
TEST_CASE("diagnose logs: waiting within a step is said to be seen as beside computing") {
  const Temporary folder(Temporary::Kind::folder);
  const Temporary quiet(Temporary::Kind::folder);
  for (int rank = 0; rank < 4; ++rank) {
    const std::string name = "rank" + std::to_string(rank) + ".log";
    write(folder, name, LoggedProcess{.rank = rank}.text());
    std::string same = LoggedProcess{.rank = 0}.text();  // nobody is late
    const std::string from = "\"rank\":0";
    for (std::size_t at = same.find(from); at != same.npos; at = same.find(from, at + 1))
      same.replace(at, from.size(), "\"rank\":" + std::to_string(rank));
    write(quiet, name, same);
  }
  CHECK(has_note(answer_of_logs(folder), "is seen with --exchanges 1"));
  CHECK(!has_note(answer_of_logs(quiet), "is seen with --exchanges 1"));
}

TEST_CASE("diagnose logs: refusals") {
  const Temporary folder(Temporary::Kind::folder);
  CHECK(holds(refusal_of([&] { answer_of_logs(folder); }), "no log of NCCL's Inspector"));
  write(folder, "rank0.log", LoggedProcess{}.text());
  CHECK(holds(refusal_of([&] { answer_of_logs(folder); }), "fewer than two files"));
  CHECK(holds(refusal_of([&] { read_record(folder.name() + "/rank0.log"); }),
              "the log of one process"));
  write(folder, "rank1.log", LoggedProcess{.rank = 1, .steps = 1}.text());
  CHECK(
      holds(refusal_of([&] { answer_of_logs(folder); }), "rank1.log is left out: it has no step"));
  const Temporary short_logs(Temporary::Kind::folder);
  for (int rank = 0; rank < 4; ++rank)
    write(short_logs, "rank" + std::to_string(rank) + ".log",
          LoggedProcess{.rank = rank, .steps = 1}.text());
  CHECK(holds(refusal_of([&] { answer_of_logs(short_logs); }), "do not repeat"));
  CHECK(holds(refusal_of([] { log_layout(divided("pp4")); }), "as --stage 0"));
  CHECK(holds(refusal_of([] { log_layout(divided("pp4", 4)); }), "--stage: 4 is none of"));
  CHECK(holds(refusal_of([] { log_layout(divided("", 1)); }), "needs --layout"));
  CHECK(holds(refusal_of([] { log_layout(divided("tq8")); }), "--layout: "));
  CHECK(holds(refusal_of([] { log_layout(divided("tp2dp2")); }),
              "words have blanks between them: \"tp2 dp2\""));
  CHECK(log_layout(divided("tp4 cp2 dp3")).tensor == 8);
  const Ran ran = run_sgdsim({"diagnose", "tests/data/slow_host.json.gz", "--layout", "tp2"});
  CHECK(ran.exit_code == 2);
  CHECK(holds(ran.log, "--layout"));
}

// ---- Chakra: steps in which nodes say what they wait for, and an optimizer of 2 ms

ChakraNode node(uint64_t id, ChakraType type, uint64_t start_us, uint64_t end_us,
                std::vector<uint64_t> waits) {
  ChakraNode one;
  one.id = id;
  one.name = "node " + std::to_string(id);
  one.type = type;
  one.start_us = start_us;
  one.duration_us = end_us - start_us;
  one.data_waits = std::move(waits);
  one.is_cpu_op = false;
  if (type == ChakraType::collective) {
    one.collective = 0;
    one.size_B = 1000;
    one.group = "dp";
  }
  return one;
}

constexpr uint64_t chakra_step_us = 27'000;

// A step, whose nodes have these numbers and more.
void write_chakra_step(std::string& text, int rank, bool has_times, uint64_t at_us, uint64_t id) {
  using enum ChakraType;
  const uint64_t forward_us = rank == slow_of_four ? 15'000 : 10'000;
  for (ChakraNode one :
       {node(id + 1, compute, at_us, at_us + forward_us, {}),
        node(id + 2, compute, at_us + forward_us, at_us + forward_us + 5000, {id + 1}),
        node(id + 3, collective, at_us + forward_us + 5000, at_us + 23'000, {id + 2}),
        node(id + 4, compute, at_us + forward_us + 5000, at_us + forward_us + 9000, {id + 2}),
        node(id + 5, collective, at_us + (rank == slow_of_four ? 24'000 : 23'000), at_us + 25'000,
             {id + 3, id + 4}),
        node(id + 6, compute, at_us + 25'000, at_us + chakra_step_us, {id + 5})}) {
    if (!has_times) one.start_us = one.duration_us = 0;
    write_chakra_node(text, one);
  }
}

std::string chakra_text(int rank, bool has_times, int steps = 1) {
  std::string text;
  // Both buckets are of one size: a trace is one step, if not told otherwise.
  write_chakra_head(text, "0.0.4");
  for (int step = 0; step < steps; ++step)
    write_chakra_step(text, rank, has_times,
                      5'000'000 + static_cast<uint64_t>(step) * chakra_step_us,
                      static_cast<uint64_t>(step) * 10);
  return text;
}

TEST_CASE("diagnose logs: traces of Chakra with times") {
  const Temporary folder(Temporary::Kind::folder);
  for (int rank = 0; rank < 4; ++rank)
    write(folder, "rank" + std::to_string(rank) + "." + std::to_string(rank) + ".et",
          chakra_text(rank, true));
  const DiagnoseAnswer answer = answer_of_logs(folder);
  CHECK(answer.format == "traces of Chakra");
  CHECK(answer.work.replicas == 4);
  CHECK(answer.work.steps.size() == 1);
  check_slow_rank(answer, 0.027);
}

// Of four steps three are whole: each has the optimizer of the one before it at its front.
TEST_CASE("diagnose logs: steps of a trace of Chakra are cut alike") {
  const Temporary folder(Temporary::Kind::folder);
  for (int rank = 0; rank < 4; ++rank)
    write(folder, "rank" + std::to_string(rank) + "." + std::to_string(rank) + ".et",
          chakra_text(rank, true, 4));
  const DiagnoseAnswer answer = answer_of_logs(folder, repeating(2));
  CHECK(answer.work.steps.size() == 3);
  check_slow_rank(answer, 0.027);
  CHECK(has_note(answer, "the first step of a log is left out"));
}

TEST_CASE("diagnose logs: traces of Chakra without times are for replay") {
  const Temporary folder(Temporary::Kind::folder);
  for (int rank = 0; rank < 2; ++rank)
    write(folder, "step." + std::to_string(rank) + ".et", chakra_text(rank, false));
  CHECK(holds(refusal_of([&] { answer_of_logs(folder); }), "sgdsim replay"));
}

}  // namespace
}  // namespace sgdsim
