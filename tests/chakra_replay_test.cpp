// Chakra traces that are replayed: by hand, against the closed forms of the algorithms, what cannot
// go on, and what is refused.
#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>

#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/play/replay.h"
#include "study/replay/chakra_schedule.h"
#include "tests/chakra_cases.h"
#include "tests/run_program.h"
#include "tests/texts.h"

namespace sgdsim {

using namespace chakra_cases;

// L = 2 us, G = 1 ns/B; messages of s bytes take L + (s - 1) G.
TEST_CASE("chakra replay: four ranks by hand") {
  const std::string folder = "tests/data/chakra/";
  const std::vector<std::string> command = {"replay",
                                            folder + "four.2.et",
                                            folder + "four.0.et",
                                            folder + "four.3.et",
                                            folder + "four.1.et",
                                            "--groups",
                                            folder + "four.groups.json",
                                            "--L",
                                            "2 us",
                                            "--G",
                                            "1 ns/B",
                                            "--format",
                                            "json"};
  const Ran ran = run_sgdsim(command);
  REQUIRE(ran.exit_code == 0);
  CHECK(ran.log.empty());
  const Json json = Json::parse(ran.out);
  // 10 us of computation; a ring of 4 with chunks of 1000 B: 6 rounds of 2,999 ns.
  const int64_t reduced_ps = 10'000'000 + 6 * 2'999'000;
  // Rank 1 takes 5,001 B (7 us) and computes 5 us. Ranks 2 and 3 exchange 101 B: 2.1 us.
  CHECK(json["end_ps"] == Json({reduced_ps, reduced_ps + 7'000'000 + 5'000'000,
                                reduced_ps + 2'100'000, reduced_ps + 2'100'000}));
  CHECK(json["messages"] == 4 * 6 + 1 + 2);
}

TEST_CASE("chakra replay: one processor for computing, another one for the CPU, ids in any order") {
  // 3 + 4 us on the GPU, one after the other; 5 us of the CPU beside it; then 1 us after all.
  ChakraNode host = computing(7, 5);
  host.is_cpu_op = true;
  ChakraNode last = computing(2, 1, {900});
  last.control_waits = {7, UINT64_MAX};
  const TraceFiles files({{last, computing(UINT64_MAX, 3), host, computing(900, 4)}});
  const Ran ran = files.run();
  REQUIRE(ran.exit_code == 0);
  CHECK(Json::parse(ran.out)["makespan_ps"] == 8'000'000);

  // Operations a second, where there is no duration; metadata takes no time.
  ChakraNode counted = computing(1, 0);
  counted.operations = 3'000'000;
  const TraceFiles flops({{node_of(0, ChakraType::metadata), counted}});
  CHECK(Json::parse(flops.run({"--L", "1", "--G", "1", "--flops", "1e12"}).out)["makespan_ps"] ==
        3'000'000);
  const Ran without = flops.run();
  CHECK(without.exit_code == 2);
  CHECK(holds(without.log, "node 1 \"n1\" has num_ops and no duration: --flops says"));
}

TEST_CASE("chakra replay: collectives of a group follow each other, other groups do not wait") {
  // Two independent all-reduces of 2 B on two ranks: a round takes 2 us, an all-reduce 4 us.
  const auto end = [](const std::string& first, const std::string& second) {
    const Nodes rank = {exchanging(0, all_reduce, 2, {}, first),
                        exchanging(1, all_reduce, 2, {}, second)};
    const Ran ran = TraceFiles({rank, rank}).run();
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out)["makespan_ps"].get<int64_t>();
  };
  CHECK(end("a", "a") == 8'000'000);
  CHECK(end("a", "b") == 4'000'000);
  // A barrier: ceil(log2 5) rounds of empty messages.
  ChakraNode barrier = node_of(0, ChakraType::collective);
  barrier.collective = static_cast<int64_t>(ChakraCollective::barrier);
  const Ran five = TraceFiles(std::vector<Nodes>(5, {barrier})).run();
  CHECK(Json::parse(five.out)["makespan_ps"] == 3 * 2'000'000);
  // The call on the CPU and the kernel on the GPU are both nodes; only the kernel has a size.
  ChakraNode call = node_of(0, ChakraType::collective);
  call.is_cpu_op = true;
  call.duration_us = 3;
  const Nodes both = {call, exchanging(1, all_reduce, 2, {0})};
  const Ran ran = TraceFiles({both, both}).run();
  CHECK(ran.log.empty());
  CHECK(Json::parse(ran.out)["makespan_ps"] == 7'000'000);
}

TEST_CASE("chakra replay: collectives take what the closed form of their algorithm says") {
  struct Row {
    ChakraCollective collective;
    Operation operation;
    const char* algorithm;
  };
  const Network network = Network::uniform(
      8, {.latency = Duration::us(3), .per_byte = PerByte::ps(80), .reduce = PerByte::ps(25)});
  for (const Row& row :
       std::vector<Row>{{ChakraCollective::all_reduce, Operation::allreduce, "ring"},
                        {ChakraCollective::all_reduce, Operation::allreduce, "recursive_doubling"},
                        {ChakraCollective::all_gather, Operation::allgather, "ring"},
                        {ChakraCollective::reduce_scatter, Operation::reduce_scatter, "ring"},
                        {ChakraCollective::reduce_scatter_block, Operation::reduce_scatter, "ring"},
                        {ChakraCollective::all_to_all, Operation::alltoall, "direct"},
                        {ChakraCollective::broadcast, Operation::broadcast, "mst"},
                        {ChakraCollective::reduce, Operation::reduce, "mst"}})
    for (const int ranks : {2, 4, 8}) {
      CAPTURE(row.algorithm);
      CAPTURE(ranks);
      const int64_t size_B = 80'000;
      const TraceFiles files(std::vector<Nodes>(static_cast<std::size_t>(ranks),
                                                Nodes{exchanging(0, row.collective, size_B)}));
      ChakraQuestion question;
      question.files = files.names();
      question.network = &network;
      question.pays_folds = true;
      question.algorithms.add(std::string(name_of(row.operation)) + "=" + row.algorithm,
                              "--algorithm");
      const ChakraSchedule schedule(question);
      CHECK(schedule.problems().empty());
      Replay replay;
      replay.schedule = &schedule.schedule();
      replay.network = &network;
      const Replayed played = play(replay);
      const Time last = *std::max_element(played.ends.begin(), played.ends.end());
      // The size is what a rank puts in: of an all-gather its part.
      CollectiveJob job;
      job.operation = row.operation;
      job.team = {ranks, 1};
      job.share.total = Bytes(row.operation == Operation::allgather ? size_B * ranks : size_B);
      job.cost = network.worst();
      CHECK(last - Time() == *closed_form_of(algorithm_named(row.algorithm, ""), job));
    }
}

TEST_CASE("chakra replay: what cannot go on is named, with exit code 4") {
  const std::string folder = "tests/data/chakra/deadlock.";
  const Ran crossed = run_sgdsim({"replay", folder + "0.et", folder + "1.et", "-c",
                                  "topologies/data/mgwfbp_paper_10gbe.json", "--format", "json"});
  CHECK(crossed.exit_code == 4);
  for (const char* part :
       {"rank 0, node 1 \"reduce rows\" (all-reduce of 1000 B, group \"rows\"), message of rank 1: "
        "still waiting",
        "rank 1, node 1 \"reduce columns\" (all-reduce of 1000 B, group \"columns\"), message of "
        "rank 0: still waiting"})
    CHECK(holds(crossed.log, part));
  CHECK_FALSE(Json::parse(crossed.out)["complete"].get<bool>());

  struct Row {
    const char* reason;
    std::vector<Nodes> ranks;
    std::vector<std::string> parts;
  };
  for (const Row& row : std::vector<Row>{
           {"a circle",
            {{computing(1, 1, {3}), computing(2, 1, {1}), computing(3, 1, {2}),
              computing(4, 1, {3})}},
            {"3 nodes of rank 0 in a circle", "node 1 \"n1\"", "node 2 \"n2\"", "node 3 \"n3\""}},
           {"a node that waits for itself",
            {{computing(1, 1, {1})}},
            {"1 node of rank 0 in a circle"}},
           {"nobody sends",
            {{message(5, false, 8, 1, 7)}, {}},
            {"rank 0, node 5 \"n5\" (receive of 8 B from rank 1, tag 7): still waiting"}},
           {"nobody receives",
            {{message(5, true, 8, 1, -7)}, {message(6, false, 8, 0, 7)}},
            {"node 5 \"n5\" (send of 8 B to rank 1, tag -7): nobody receives it",
             "node 6 \"n6\" (receive of 8 B from rank 0, tag 7): still waiting"}},
           {"both receive first",
            {{message(0, false, 8, 1, 0), message(1, true, 8, 1, 0, {0})},
             {message(0, false, 8, 0, 0), message(1, true, 8, 0, 0, {0})}},
            {"2 operations waiting, 0 messages not received, 2 operations behind them"}},
           {"sizes",
            {{exchanging(0, all_reduce, 8)}, {exchanging(0, all_reduce, 16)}},
            {"ranks do not agree on their collectives",
             "collective 1 of all ranks is rank 0, node 0 \"n0\" (all-reduce of 8 B) on one, and "
             "rank 1, node 0 \"n0\" (all-reduce of 16 B) on another"}},
           {"types",
            {{exchanging(0, all_reduce, 8, {}, "x")},
             {exchanging(0, ChakraCollective::all_gather, 8, {}, "x")}},
            {"collective 1 of group \"x\" is rank 0", "all-gather of 8 B, group \"x\""}},
           {"a rank without one",
            {{exchanging(0, all_reduce, 8), exchanging(1, all_reduce, 9)},
             {exchanging(0, all_reduce, 8)}},
            {"rank 1 has no collective 2 of all ranks, which is rank 0, node 1"}}}) {
    CAPTURE(row.reason);
    const Ran ran = TraceFiles(row.ranks).run();
    CHECK(ran.exit_code == 4);
    CAPTURE(ran.log);
    for (const std::string& part : row.parts) CHECK(holds(ran.log, part));
  }
}

TEST_CASE("chakra replay: an algorithm that no collective can have is refused") {
  const TraceFiles files(
      std::vector<Nodes>(4, Nodes{exchanging(0, ChakraCollective::all_gather, 80'000)}));
  const auto replayed = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"replay", "--L", "10 us", "--G", "1 ns/B"};
    words.insert(words.end(), files.names().begin(), files.names().end());
    words.insert(words.end(), more.begin(), more.end());
    return call_sgdsim(words);
  };
  CHECK(replayed({"-a", "ring"}).exit_code == 0);
  CHECK(replayed({"-a", "auto"}).exit_code == 0);
  CHECK(replayed({"-a", "allreduce=mst"}).exit_code == 0);  // of one operation, whatever there is
  const Ran ran = replayed({"-a", "mst"});
  CHECK(ran.exit_code == 2);
  CHECK(ran.log.find("mst has none of the operations of these collectives (allgather)") !=
        std::string::npos);
}

TEST_CASE("chakra replay: traces and options that are wrong are refused") {
  struct Row {
    const char* reason;
    std::vector<Nodes> ranks;
    std::string sentence;
  };
  ChakraNode no_type = node_of(1, ChakraType::collective);
  no_type.size_B = 8;
  ChakraNode no_size = message(1, true, 8, 1, 0);
  no_size.size_B.reset();
  ChakraNode no_peer = message(1, true, 8, 1, 0);
  no_peer.receiver.reset();
  ChakraNode other = message(1, true, 8, 1, 0);
  other.sender = 1;
  ChakraNode part = exchanging(1, all_reduce, 8);
  part.dimensions = {true, false};
  const ChakraNode gather = exchanging(1, ChakraCollective::gather, 8);
  for (const Row& row : std::vector<Row>{
           {"ids", {{computing(1, 1), computing(1, 2)}}, "t.0.et: node 1 \"n1\" has the id of"},
           {"waits", {{computing(1, 1, {2})}}, "waits for node 2, which is not there"},
           {"type", {{no_type}, {}}, "is a collective without a comm_type"},
           {"size", {{no_size}, {}}, "communicates, but has no comm_size"},
           {"peer", {{no_peer}, {}}, "has no comm_dst"},
           {"rank", {{message(1, true, 8, 2, 0)}, {}}, "has comm_dst 2, but there are 2 ranks"},
           {"sender", {{other}, {}}, "has comm_src 1, but is in the file of rank 0"},
           {"dimensions", {{part}, {part}}, "leaves out dimensions (involved_dim)"},
           {"gather", {{gather}, {gather}}, "is a gather or a scatter, which are not replayed"},
           {"long", {{computing(1, uint64_t{1} << 50U)}}, "takes 1125899906842624 us"},
           {"huge",
            {{exchanging(0, ChakraCollective::all_gather, INT64_MAX)},
             {exchanging(0, ChakraCollective::all_gather, INT64_MAX)}},
            "a size beyond 8 EiB"}}) {
    CAPTURE(row.reason);
    const TraceFiles files(row.ranks);
    const Ran ran = files.run();
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CAPTURE(ran.log);
    CHECK(holds(files.place(ran.log), row.sentence));
  }
  const TraceFiles two({{exchanging(0, all_reduce, 8, {}, "x")}, {}});
  const std::vector<std::pair<std::vector<std::string>, std::string>> options = {
      {{"--algorithm", "lp"}, "--algorithm: lp has blocks of pipelines or barriers"},
      {{"--algorithm", "allgather=mst"}, "--algorithm: mst has no allgather"},
      {{"--algorithm", "rong"}, "--algorithm: unknown algorithm \"rong\" (did you mean \"ring\"?)"},
      {{"--algorithm", "gather=ring"}, "--algorithm: unknown operation \"gather\""},
      {{"--flops", "0"}, "--flops: expected operations a second"},
      {{"--flops", "1 TFLOPS"}, "--flops: expected operations a second"}};
  for (const auto& [words, expected] : options) {
    const std::string& sentence = expected;
    CAPTURE(sentence);
    std::vector<std::string> more = {"--L", "1", "--G", "1"};
    more.insert(more.end(), words.begin(), words.end());
    const Ran ran = two.run(more);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.starts_with("sgdsim: " + sentence));
  }
  for (const auto& [content, sentence] : std::vector<std::pair<std::string, std::string>>{
           {R"({"y":[0]})", "--groups: unknown group \"x\""},
           {R"({"x":[1]})", "is of the group \"x\", which rank 0 does not belong to"},
           {R"({"x":[0,0]})", "rank 0 occurs twice"},
           {R"({"x":[0,2]})", "expected a whole number from 0 to 1"},
           {R"({"x":[]})", "a group without ranks"},
           {R"([0])", "expected an object"}}) {
    const std::string& groups = content;
    CAPTURE(groups);
    const Temporary file(Temporary::Kind::file, groups);
    const Ran ran = two.run({"--L", "1", "--G", "1", "--groups", file.name()});
    CHECK(ran.exit_code == 2);
    CHECK(holds(ran.log, sentence));
  }
  const Ran goal = run_sgdsim(
      {"replay", "app/schedules/ring_4.goal", "--L", "1", "--G", "1", "--algorithm", "ring"});
  CHECK(goal.log == "sgdsim: --algorithm: has no effect on a GOAL schedule\n");
}

TEST_CASE("chakra replay: what is odd is counted in notes, also in the JSON") {
  ChakraNode unsized = node_of(0, ChakraType::collective);
  unsized.collective = 0;
  ChakraNode marked = exchanging(1, all_reduce, 8);
  marked.is_cpu_op = true;
  ChakraNode memory = node_of(2, ChakraType::memory_load);
  memory.tensor_size_B = 8;
  const Nodes rank = {unsized,
                      marked,
                      memory,
                      node_of(3, ChakraType::invalid),
                      exchanging(4, all_reduce, 0),
                      exchanging(5, all_reduce, 2, {}, "dp")};
  const Ran ran = TraceFiles({rank, rank}).run();
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(json["warnings"] ==
        Json({"2 nodes communicate and are marked is_cpu_op: they are computation of the CPU here",
              "2 nodes are collectives without comm_size: they take their duration only",
              "2 nodes are collectives of no bytes: they take no time",
              "2 nodes load or store memory without a duration: they take no time",
              "2 nodes are of no type: they take no time",
              "without --groups, the groups \"dp\" are all ranks"}));
  for (const Json& warning : json["warnings"])
    CHECK(holds(ran.log, "sgdsim: note: " + warning.get<std::string>() + "\n"));
  CHECK(json["makespan_ps"] == 4'000'000);  // two rounds of the last all-reduce
  // 10 us of the CPU, and 15 us of nothing: of the span of 25 us.
  ChakraNode early = computing(0, 4);
  early.is_cpu_op = true;
  early.start_us = 1'000;
  ChakraNode late = computing(1, 6, {0});
  late.is_cpu_op = true;
  late.start_us = 1'019;
  const Ran pauses = TraceFiles({{early, late}}).run();
  CHECK(pauses.log ==
        "sgdsim: note: by start_time_micros the CPU of rank 0 does nothing in 15 of 25 us; the "
        "replay has pauses only where nodes wait for each other\n");
  late.start_us = 1'004;
  CHECK(TraceFiles({{early, late}}).run().log.empty());
  const Ran alone = TraceFiles({{exchanging(0, all_reduce, 1 << 20)}}).run();
  CHECK(alone.log ==
        "sgdsim: note: this is the file of one rank, whose collectives take no time\n");
}

TEST_CASE("chakra replay: the older variant in JSON, and shared wires") {
  const Temporary folder(Temporary::Kind::folder);
  std::vector<std::string> command = {"replay"};
  for (int rank = 0; rank < 2; ++rank) {
    command.push_back(folder.name() + "/t." + std::to_string(rank) + ".json");
    std::ofstream(command.back())
        << R"({"workload_graph":[{"Id":1,"Name":"c","NodeType":4,"is_cpu_op":false,"runtime":5,)"
        << R"("data_deps":[],"comm_size":0},{"Id":0,"Name":"r","NodeType":7,"is_cpu_op":false,)"
        << R"("runtime":0,"ctrlDeps":[1],"comm_type":0,"comm_size":2002}]})";
  }
  command.insert(command.end(), {"--L", "2 us", "--G", "1 ns/B", "--format", "json"});
  const Ran ran = run_sgdsim(command);
  REQUIRE(ran.exit_code == 0);
  CHECK(Json::parse(ran.out)["makespan_ps"] == 5'000'000 + 2 * 3'000'000);
  // A trace of which every message has its ports for itself is the same at both fidelities.
  const std::string trace = "tests/data/chakra/pair.";
  const auto on_cluster = [&](const char* fidelity) {
    const Ran played = run_sgdsim({"replay", trace + "0.et.gz", trace + "1.et", "-c",
                                   "topologies/data/mgwfbp_paper_10gbe.json", "--fidelity",
                                   fidelity, "--format", "json"});
    REQUIRE(played.exit_code == 0);
    return Json::parse(played.out)["makespan_ps"].get<int64_t>();
  };
  CHECK(on_cluster("flow") == on_cluster("message"));
}

TEST_CASE("chakra replay: files are ranks by their names") {
  using Names = std::vector<std::string>;
  CHECK(files_by_rank({"a/s.1.et", "a/s.0.et"}) == Names{"a/s.0.et", "a/s.1.et"});
  CHECK(files_by_rank({"s.1.et.gz", "s.0.json"}) == Names{"s.0.json", "s.1.et.gz"});
  // As a shell sorts them, whatever stands before the number.
  for (const std::string name : {"a/tr_", "rank", "", "s.0.r"}) {
    INFO(name);
    const auto file = [&](int rank) { return name + std::to_string(rank) + ".et"; };
    Names sorted;
    Names shell;
    for (int rank = 0; rank < 12; ++rank) sorted.push_back(file(rank));
    for (const int rank : {0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9}) shell.push_back(file(rank));
    CHECK(files_by_rank(shell) == sorted);
  }
  CHECK(files_by_rank({"b/tr1.et", "a/tr0.et"}) == Names{"a/tr0.et", "b/tr1.et"});
  CHECK(files_by_rank({"/dev/fd/63", "/dev/fd/62"}) == Names{"/dev/fd/63", "/dev/fd/62"});
  CHECK(files_by_rank({"resnet50.et"}) == Names{"resnet50.et"});
  CHECK_THROWS_WITH_AS(files_by_rank({"tr_0.et", "tr_00.et"}),
                       "tr_00.et: is rank 0 by its name, as is tr_0.et", InputError);
  CHECK_THROWS_WITH_AS(files_by_rank({"tr_1.et", "tr_2.et"}),
                       doctest::Contains("every rank from 0 on needs one"), InputError);
  CHECK_THROWS_WITH_AS(files_by_rank({"a0.et", "b1.et"}),
                       "a*: is one trace, and b* another one; give the files of one", InputError);
  CHECK_THROWS_WITH_AS(files_by_rank({"tr.et", "tr_1.et"}),
                       doctest::Contains("some names say their rank"), InputError);
  CHECK(files_by_rank({"b.et", "a.et"}) == Names{"b.et", "a.et"});
  CHECK_THROWS_WITH_AS(files_by_rank({"s.1.et", "s.2.et"}),
                       "s.2.et: is rank 2 by its name, but there are 2 files: every rank from 0 on "
                       "needs one",
                       InputError);
  CHECK_THROWS_WITH_AS(files_by_rank({"s.0.et", "s.00.et"}),
                       "s.00.et: is rank 0 by its name, as is s.0.et", InputError);
  CHECK_THROWS_WITH_AS(files_by_rank({"s.0.et", "t.1.et"}),
                       "s.*: is one trace, and t.* another one; give the files of one", InputError);
  CHECK_THROWS_WITH_AS(files_by_rank({"s.0.et", "t.et"}),
                       "s.0.et: some names say their rank, as step.3.et, and some do not",
                       InputError);
}

}  // namespace sgdsim
