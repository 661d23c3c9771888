// The program as people and scripts meet it: exit codes, what goes to which stream, and the exact
// sentence for every kind of bad input.
#include <doctest/doctest.h>
#include <filesystem>

#include "sim/core/json.h"
#include "tests/command_words.h"
#include "tests/rounds.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

using Words = std::vector<std::string>;

const std::string durations = "(ps, ns, us, ms, s, min, h)";
const std::string sizes = "(B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)";

// A correct question, to which each row adds what is wrong. Later words win over earlier ones only
// where an option may be repeated, so rows leave out what they replace.
const Words cost = {"--alpha", "1 us", "--beta", "1 ns/B"};
const Words ring = with({"collective", "-p", "4", "-n", "1 KB"}, cost);
const Words box = {"collective", "-n", "1 KB", "-c", "topologies/data/dgx_h100_4.json"};
const Words ethernet = {"collective", "-n", "1 KB", "-c",
                        "topologies/data/mgwfbp_paper_10gbe.json"};

struct Refused {
  std::string reason;
  Words words;
  std::string sentence;  // after "sgdsim: "
};

void check_refused(const std::vector<Refused>& rows) {
  for (const Refused& row : rows) {
    INFO(row.reason);
    const Ran ran = run_sgdsim(row.words);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(ran.log == "sgdsim: " + row.sentence + "\n");
  }
}

std::string algorithms_list() {
  return "mst, be, lp, ring, recursive_doubling, halving_doubling, double_binary_tree, "
         "hierarchical, torus_ring, direct, linear";
}

TEST_CASE("command line: a wrong word is refused, with the nearest known one") {
  check_refused({
      {"command of a command",
       {"export", "dott", "a.json"},
       "unknown command \"dott\" (did you mean \"dot\"?); known: goal, chakra, htsim, layers-csv, "
       "astra-text, "
       "dot, "
       "graphml\nsee: sgdsim "
       "export "
       "--help"},
      {"option of the program",
       {"--versio"},
       "unknown option \"--versio\" (did you mean \"--version\"?); known: --help, --version\nsee: "
       "sgdsim --help"},
      {"option of a command",
       {"list", "--formt", "json"},
       "unknown option \"--formt\" (did you mean \"--format\"?); known: --help, --format\nsee: "
       "sgdsim list --help"},
      {"option with a value that looks like one",
       {"list", "--format", "json", "-x", "--format"},
       "unknown option \"-x\"; known: --help, --format\nsee: sgdsim list --help"},
      {"superfluous word",
       {"list", "algorithms", "options"},
       "nothing takes \"options\"\nsee: sgdsim list --help"},
      {"value out of a list",
       {"list", "--format", "xml"},
       "--format: unknown format \"xml\"; known: table, json\nsee: sgdsim list --help"},
      {"missing option",
       {"collective", "-p", "4"},
       "--bytes is required\nsee: sgdsim collective --help"},
      {"empty value",
       {"collective", "-n", ""},
       "--bytes: expected a value, got an empty one\nsee: sgdsim collective --help"},
      {"an option of one value, twice",
       {"collective", "-n", "1KB", "-c", "10gbe_16", "-c", "25gbe_16"},
       "--cluster is given 2 times; give it once\nsee: sgdsim collective --help"},
      {"kind",
       {"list", "algoritms"},
       "list: unknown kind \"algoritms\" (did you mean \"algorithms\"?); known: algorithms, "
       "operations, options, shapes, trace_formats, measurement_formats, steps_formats, "
       "strategies, compressions, synchronizations, tasks, traffic, transports, clusters, traces, "
       "models, gpus, failures, fidelities, schemas"},
      {"algorithm", with(ring, {"-a", "rign"}),
       "--algorithm: unknown algorithm \"rign\" (did you mean \"ring\"?); known: " +
           algorithms_list() + ", auto, nccl"},
      {"operation", with(ring, {"--op", "all_reduce"}),
       "--op: unknown operation \"all_reduce\" (did you mean \"allreduce\"?); known: broadcast, "
       "reduce, allreduce, reduce_scatter, allgather, alltoall"},
      {"fidelity", with(ring, {"--fidelity", "mesage"}),
       "--fidelity: unknown fidelity \"mesage\" (did you mean \"message\"?); known: closed_form, "
       "message, flow, packet"},
      {"path", with(ring, {"--path", "event"}),
       "--path: unknown path \"event\" (did you mean \"events\"?); known: fastest, rounds, events"},
      {"option of a model", with(ring, {"--option", "chunk=whole"}),
       "--option: unknown option \"chunk\" (did you mean \"chunks\"?); known: alpha, ports, "
       "send_buffer, routing, chunks, mst_reduce, be_allgather, be_barrier, duplex, gamma, "
       "lp_steps, lp_allreduce, lp_arbitration, lp_root, "
       "lp_drain, "
       "inner, outer, hierarchical, group, dims, direct"},
      {"value of an option", with(ring, {"--option", "chunks=halves"}),
       "--option chunks: unknown value \"halves\"; known: whole, fractional"},
      {"option without a value", with(ring, {"--option", "chunks"}),
       "--option: expected key=value, got \"chunks\""},
      {"option of NCCL's machine", with(box, {"-a", "nccl", "--option", "generation=hoper"}),
       "--option generation: unknown value \"hoper\" (did you mean \"hopper\"?); known: volta, "
       "ampere, hopper, blackwell"},
  });
  // Lists that grow with every command and schema.
  const std::vector<std::pair<Words, std::string>> beginnings = {
      {{}, "expected a command: "},
      {{"colective"}, "unknown command \"colective\" (did you mean \"collective\"?); known: "},
      {{"schema", "clster"},
       "schema: unknown schema \"clster\" (did you mean \"cluster\"?); known: "},
  };
  for (const auto& row : beginnings) {
    const std::string& beginning = row.second;
    INFO(beginning);
    const Ran ran = run_sgdsim(row.first);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(ran.log.starts_with("sgdsim: " + beginning));
  }
}

TEST_CASE("command line: the micro sign and the Greek letter are u") {
  const Words words = {"collective", "-p", "4", "-n", "1 KB", "--alpha"};
  const Ran ran = run_sgdsim(with(words, {"10 us", "--beta", "1e-3 us/B"}));
  CHECK(ran.exit_code == 0);
  for (const char* micro : {"\u00b5", "\u03bc"})
    CHECK(run_sgdsim(with(words, {std::string("10 ") + micro + "s", "--beta",
                                  std::string("1e-3") + micro + "s/B"}))
              .out == ran.out);
}

TEST_CASE("command line: a quantity that is none is refused") {
  const Words no_alpha = {"collective", "-p", "4", "-n", "1 KB", "--beta", "1 ns/B", "--alpha"};
  const Words no_size = with({"collective", "-p", "4"}, with(cost, {"-n"}));
  const std::string time = "--alpha: expected a time with a unit " + durations + ", got ";
  const std::string size = "--bytes: expected a size with a unit " + sizes + ", got ";
  check_refused({
      {"bare number", with(no_alpha, {"10"}), time + "\"10\", which has no unit"},
      {"wrong unit", with(no_alpha, {"10 sec"}), time + "\"10 sec\"; did you mean s?"},
      {"unit of another kind", with(no_alpha, {"10 MB"}), time + "\"10 MB\""},
      {"wrong case", with(no_alpha, {"10 US"}), time + "\"10 US\"; did you mean us?"},
      {"a size in small letters", with(no_size, {"10 kb"}), size + "\"10 kb\"; did you mean KB?"},
      {"no number", with(no_alpha, {"us"}), time + "\"us\""},
      {"negative", with(no_alpha, {"-1 us"}), time + "\"-1 us\", which is negative"},
      {"minus zero", with(no_alpha, {"-0 us"}), time + "\"-0 us\", which is negative"},
      {"NaN", with(no_alpha, {"nan us"}), time + "\"nan us\", which is not a finite number"},
      {"infinite", with(no_alpha, {"inf us"}), time + "\"inf us\", which is not a finite number"},
      {"too large", with(no_alpha, {"2000 h"}), time + "\"2000 h\", which is too large"},
      {"too large for a number", with(no_alpha, {"1e999 s"}),
       time + "\"1e999 s\", which is out of range"},
      {"bare size", with(no_size, {"1000"}), size + "\"1000\", which has no unit"},
      {"too many bytes", with(no_size, {"1e300 GB"}), size + "\"1e300 GB\", which is too large"},
      {"half a byte", with(no_size, {"0.5 B"}),
       "--bytes: expected a whole number of bytes, got \"0.5 B\""},
      {"sizes that are too large together", with(no_size, {"3000000 TiB", "-n", "3000000 TiB"}),
       "--bytes: all messages together are larger than 4 EiB"},
      {"bits for bytes",
       {"collective", "-p", "4", "-n", "1 KB", "--alpha", "1 us", "--beta", "10 Gb"},
       "--beta: expected a time per byte with a unit (ps/B, ns/B, us/B, ms/B, s/B), got \"10 Gb\""},
      {"NaN where a plain number stands", with(ring, {"--jitter", "nan"}),
       "--jitter: expected a number from 0 to 2, got \"nan\""},
      {"too much of a plain number", with(ring, {"--jitter", "2.1"}),
       "--jitter: expected a number from 0 to 2, got \"2.1\""},
      {"negative seed", with(ring, {"--jitter", "1", "--seed", "-1"}),
       "--seed: expected a whole number from 0 to 9223372036854775807, got \"-1\""},
  });
}

TEST_CASE("command line: a question without an answer is refused") {
  const Words six = with({"collective", "-p", "6", "-n", "1 KB"}, cost);
  const Words none = with({"collective", "-n", "1 KB"}, cost);
  const Words no_size = with({"collective", "-p", "4"}, cost);
  check_refused({
      {"no ranks", with(none, {"-p", "0"}), "--ranks: expected from 1 to 16777216 ranks, got 0"},
      {"negative ranks", with(none, {"-p", "-4"}),
       "--ranks: expected from 1 to 16777216 ranks, got -4"},
      {"too many ranks", with(none, {"-p", "16777217"}),
       "--ranks: expected from 1 to 16777216 ranks, got 16777217"},
      {"ranks that overflow", with(none, {"-p", "99999999999999999999"}),
       "--ranks: expected a whole number, a list as 2,4,8 or a range as 2..64, got "
       "\"99999999999999999999\""},
      {"ranks not given", none, "--ranks: expected how many ranks take part, or a --cluster"},
      {"a list without --sweep", with(none, {"-p", "2,4"}), "--ranks: a list needs --sweep"},
      {"a falling range", with(none, {"--sweep", "-p", "8..4"}),
       "--ranks: expected a growing range from 1 on, got \"8..4\""},
      {"more ranks than workers", with(ethernet, {"-p", "17"}),
       "--ranks: 17 ranks do not fit on topologies/data/mgwfbp_paper_10gbe.json, which has 16 "
       "workers; "
       "--set nodes=N makes it larger"},
      {"neither cluster nor cost",
       {"collective", "-p", "4", "-n", "1 KB"},
       "--cluster: expected a cluster file, or --alpha and --beta"},
      {"both cluster and cost", with(ethernet, {"--alpha", "1 us"}),
       "--alpha: a cluster has its own costs; give --cluster or --alpha, not both"},
      {"block of nothing", with(ring, {"-a", "lp", "--block", "0 B"}),
       "collective: a block of 0 bytes never ends; expected at least 1 B"},
      {"block where none is", with(ring, {"-a", "ring", "--block", "100 B"}),
       "collective: ring does not cut messages into blocks"},
      {"root out of range", with(ring, {"-a", "mst", "--op", "broadcast", "--root", "4"}),
       "collective: root 4 is out of range: there are 4 ranks, 0 to 3"},
      {"negative root", with(ring, {"-a", "mst", "--op", "broadcast", "--root", "-1"}),
       "--root: expected a whole number from 0 to 16777215, got \"-1\""},
      {"root of what has none", with(ring, {"-a", "ring", "--op", "allgather", "--root", "0"}),
       "collective: allgather has no root; broadcast, reduce and allreduce have"},
      {"root of rings", with(ring, {"-a", "ring", "--op", "allreduce", "--root", "3"}),
       "--root: has no effect on ring for allreduce"},
      {"root of rings in levels",
       with(ring, {"-a", "hierarchical", "--op", "allreduce", "--root", "3"}),
       "--root: has no effect on hierarchical for allreduce"},
      {"root of rings of a sweep",
       with(ring, {"-a", "ring,hierarchical", "--op", "allreduce", "--root", "3", "--sweep"}),
       "--root: has no effect on any of the algorithms of this sweep"},
      {"operation that it has not", with(ring, {"-a", "ring", "--op", "broadcast"}),
       "collective: ring has no broadcast; those that have: mst, be, lp, double_binary_tree, "
       "hierarchical, linear"},
      {"recursive doubling among six",
       with(six, {"-a", "be", "--op", "broadcast", "--option", "be_allgather=recursive-doubling"}),
       "collective: be_allgather=recursive-doubling needs a power of two of ranks, got 6"},
      {"halving among six", with(six, {"-a", "halving_doubling", "--op", "reduce_scatter"}),
       "collective: halving_doubling reduce_scatter needs a power of two of ranks, got 6"},
      {"groups that do not divide", with(six, {"-a", "hierarchical", "--option", "group=4"}),
       "collective: hierarchical needs ranks in whole groups: 6 ranks do not divide into groups of "
       "4"},
      {"torus of other size", with(six, {"-a", "torus_ring", "--option", "dims=2x2"}),
       "collective: torus_ring: dims 2x2 hold 4 ranks, not 6"},
      {"start times", with(ring, {"--start", "0 us,1 us"}),
       "collective: expected 4 start times, one per rank, got 2"},
      {"formula with start times",
       with(ring, {"--fidelity", "closed_form", "--start", "0 us,1 us,0 us,0 us"}),
       "collective: no closed form is known for start times and jitter; use fidelity message"},
      {"formula that nobody has",
       with(ring, {"-a", "lp", "--gamma", "1 ns/B", "--fidelity", "closed_form", "--option",
                   "lp_arbitration=broadcast-first", "--block", "100 B"}),
       "collective: no closed form is known for lp allreduce with these options and this count of "
       "ranks; use fidelity message"},
      {"schedule that nobody has", with(ring, {"-a", "lp", "--option", "lp_steps=paper"}),
       "collective: lp_steps=paper is a formula, not a schedule; use --fidelity closed_form"},
      {"beyond the clock",
       {"collective", "-p", "4", "-n", "100 GB", "--alpha", "1 us", "--beta", "1 s/B"},
       "collective: a time beyond 106 days, the longest that a clock of 64-bit picoseconds can "
       "hold: "
       "use fewer iterations, faster links or smaller messages"},
      {"start beyond the clock",
       with(no_size, {"-n", "4000 TB", "--start", "1281 h,0 us,0 us,0 us"}),
       "collective: a time beyond 106 days, the longest that a clock of 64-bit picoseconds can "
       "hold: "
       "use fewer iterations, faster links or smaller messages"},
      {"nothing in the sweep has an answer", with(six, {"--sweep", "-a", "torus_ring"}),
       "collective: no point has an answer: torus_ring needs the option dims=AxB[xC], or a torus "
       "cluster"},
      {"NCCL alone", with(ring, {"-a", "nccl", "--op", "alltoall"}),
       "NCCL model: expected an operation that NCCL tunes, got alltoall"},
      {"NCCL of nothing", with(no_size, {"-a", "nccl", "-n", "0 B"}),
       "--bytes: NCCL's model needs a message of 1 B or more"},
  });
}

TEST_CASE("command line: an option without effect is refused") {
  check_refused({
      {"on another algorithm", with(ring, {"-a", "mst", "--option", "duplex=link"}),
       "--option: option duplex has no effect on mst; its options: alpha, ports, send_buffer, "
       "routing, chunks, mst_reduce"},
      {"on no algorithm of a sweep",
       with(ring, {"--sweep", "-a", "all", "--option", "be_allgather=ring", "--op", "alltoall"}),
       "--option: option be_allgather has no effect on any of the algorithms of this sweep"},
      {"on no algorithm at all",
       with(ring, {"-a", "auto", "--op", "alltoall", "--option", "duplex=link"}),
       "--option: option duplex has no effect on any algorithm for alltoall"},
      {"in another operation", with(ring, {"-a", "be", "--option", "be_allgather=ring"}),
       "--option: option be_allgather has no effect on be for allreduce"},
      {"in another operation of auto",
       with(ring, {"-a", "auto", "--op", "broadcast", "--option", "mst_reduce=eager"}),
       "--option: option mst_reduce has no effect on any algorithm for broadcast"},
      {"block in a sweep", with(ring, {"--sweep", "-a", "ring,mst", "--block", "10 B"}),
       "--block: none of the algorithms of this sweep cuts messages into blocks"},
      {"given twice", with(ring, {"--option", "chunks=whole", "--option", "chunks=fractional"}),
       "--option: chunks is given twice"},
      {"seed of nothing", with(ring, {"--seed", "1"}),
       "--seed: has no effect without --jitter, --fidelity packet or --option routing=hashed"},
      {"path of a formula", with(ring, {"--fidelity", "closed_form", "--path", "events"}),
       "--path: has no effect at closed_form fidelity"},
      {"field of no cluster", with(ring, {"--set", "nodes=4"}),
       "--set: changes a field of the cluster, but there is no --cluster"},
      {"jitter of NCCL's formula", with(box, {"-a", "nccl", "--jitter", "1"}),
       "--jitter: has no effect on NCCL's model, a formula; say --fidelity message, flow or "
       "packet"},
      {"another model's option for NCCL", with(box, {"-a", "nccl", "--option", "duplex=link"}),
       "--option: unknown option \"duplex\"; known: generation, gpu_link, nvls, collnet, nics, "
       "cpu"},
  });
}

TEST_CASE("command line: --set changes known fields only") {
  const std::string file = "topologies/data/mgwfbp_paper_10gbe.json: ";
  check_refused({
      {"unknown field", with(ethernet, {"--set", "nodez=4"}),
       file + "/: unknown field \"nodez\" (did you mean \"nodes\"?); known: schema, name, "
              "description, source, network, sharing, window, acknowledgements, start, gpu, "
              "gpu_memory, nccl, shape, nodes, gpus_per_node, nics_per_node, nic, gpu_link, pcie, "
              "switch_latency, ports"},
      {"unknown field of a field", with(ethernet, {"--set", "nic.latncy=1us"}),
       file + "/nic: unknown field \"latncy\" (did you mean \"latency\"?); known: latency, "
              "bandwidth, per_byte, efficiency, reduce, staged, rendezvous, segments, valid"},
      {"wrong unit", with(ethernet, {"--set", "nic.latency=1"}),
       file + "/nic/latency: expected a time with a unit " + durations +
           ", got \"1\", which has no unit"},
      {"wrong type", with(ethernet, {"--set", "nodes=many"}),
       file + "/nodes: expected a whole number from 1 to 16777216, got a string"},
      {"below a value", with(ethernet, {"--set", "nodes.x=1"}),
       "--set nodes.x=1: there is nothing below the value 16"},
      {"no value", with(ethernet, {"--set", "nodes"}),
       "--set nodes: expected path=value, as in nodes=64"},
      {"empty step", with(ethernet, {"--set", "nic..latency=1us"}),
       "--set nic..latency=1us: an empty step in the path"},
  });
}

TEST_CASE("command line: a file that is no cluster is refused") {
  const auto refused = [](const std::string& reason, const std::string& content,
                          const std::string& sentence) {
    INFO(reason);
    const Temporary file(Temporary::Kind::file, content);
    const Ran ran = run_sgdsim({"collective", "-n", "1 KB", "-c", file.name()});
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(ran.log == "sgdsim: " + file.name() + ": " + sentence + "\n");
  };
  refused("empty", "", "not JSON: line 1, column 1 (the text ends too early)");
  refused("not JSON", "{\n  \"shape\": ring\n}\n", "not JSON: line 2, column 12");
  refused("cut off", "{\n  \"shape\": \"ring\",\n",
          "not JSON: line 3, column 1 (the text ends too early)");
  refused("no UTF-8", "{\"shape\": \"\xff\"}", "not JSON: line 1, column 12");
  refused("as PowerShell writes it", {"\xff\xfe{\0}\0", 6}, "not JSON: UTF-16; save it as UTF-8");
  refused("another type", "[1, 2]", "/: expected an object, got an array");
  refused("a key twice", R"({"shape": "ring", "shape": "chain"})",
          "the key \"shape\" occurs twice in one object");
  refused("a number without end", R"({"shape": "ring", "nodes": 1e999})",
          "not JSON: a number is out of range");
  refused("nesting of 100,000", std::string(100'000, '['), "nested deeper than 64 levels");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  refused("nesting of 100,000 objects", objects, "nested deeper than 64 levels");
  check_refused({
      {"not there",
       {"collective", "-n", "1 KB", "-c", "no/such.json"},
       "no/such.json: cannot be read: No such file or directory"},
      {"a folder",
       {"collective", "-n", "1 KB", "-c", "topologies/data"},
       "topologies/data: expected a file, found a folder"},
      {"NCCL topology not there",
       {"import", "nccl-topology", "no/such.xml"},
       "no/such.xml: cannot be read: No such file or directory"},
  });
}

TEST_CASE("command line: 100 MB of garbage are refused, and no more is kept than the text") {
  std::string garbage(static_cast<std::size_t>(rounds(100'000'000)), 'x');
  uint64_t state = 1;
  for (char& byte : garbage) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<char>(state >> 56U);
  }
  struct Row {
    std::string reason;
    std::string head;
    std::string sentence;
  };
  for (const Row& row : std::vector<Row>{
           {"bytes", "!", "not JSON: line 1, column 1"},
           {"a list that never closes", "[" + std::string(99, '['), "nested deeper than 64 levels"},
           {"a long string", "\"" + std::string(50'000'000, 'a'), "not JSON: line 1, column "},
       }) {
    INFO(row.reason);
    const Temporary file(Temporary::Kind::file, row.head + garbage);
    const Ran ran = run_sgdsim({"collective", "-n", "1 KB", "-c", file.name()});
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.starts_with("sgdsim: " + file.name() + ": " + row.sentence));
    CHECK(ran.log.size() < 300);
#ifndef SGDSIM_SANITIZED
    CHECK(ran.most_memory_B < 700'000'000);
#endif
  }
}

TEST_CASE("command line: what cannot be written is said") {
  check_refused({
      {"a folder that is not there",
       {"export", "dot", "topologies/data/mgwfbp_paper_10gbe.json", "--out", "/no/such/box.dot"},
       "/no/such/box.dot: cannot be written: No such file or directory"},
      {"import",
       {"import", "mllog", "tests/data/mllog.txt", "--out", "/no/such/c"},
       "/no/such/c: cannot be written: No such file or directory"},
  });
  for (const Words& words : {Words{"list"}, ring, Words{"schema", "cluster"}, Words{"--help"},
                             Words{"export", "dot", "topologies/data/mgwfbp_paper_10gbe.json"}}) {
    INFO(words.front());
    const Ran ran = run_sgdsim(words, {.input_file = "/dev/null", .output_file = "/dev/full"});
    CHECK(ran.exit_code == 1);
    CHECK(ran.log == "sgdsim: the output could not be written\n");
  }
}

TEST_CASE("command line: a cluster may come from standard input") {
  const Ran ran =
      run_sgdsim({"collective", "-n", "1 KB", "-c", "-", "--format", "json"},
                 {.input_file = SGDSIM_SOURCE_DIR "/topologies/data/mgwfbp_paper_10gbe.json",
                  .output_file = {}});
  CHECK(ran.exit_code == 0);
  CHECK(Json::parse(ran.out)["ranks"] == 16);
}

TEST_CASE("command line: version and help") {
  const Ran version = run_sgdsim({"--version"});
  CHECK(version.exit_code == 0);
  CHECK(version.log.empty());
  CHECK(version.out.starts_with("sgdsim 0."));
  for (const char* part : {" (commit ", ", CUDA "})
    CHECK(version.out.find(part) != std::string::npos);
  CHECK(version.out.ends_with(")\n"));
  CHECK(std::count(version.out.begin(), version.out.end(), '\n') == 1);
}

TEST_CASE("command line: a warning goes to the log and leaves one JSON object on stdout") {
  const Ran ran = run_sgdsim(
      {"collective", "-c", "topologies/data/torus_4x4x4.json", "-n", "1 MB", "--format", "json"});
  CHECK(ran.exit_code == 0);
  CHECK(
      ran.log ==
      "sgdsim: warning: contention on links inside the torus network is not modelled: each message "
      "has its route to itself\n");
  CHECK(Json::parse(ran.out)["warnings"].size() == 1);
}

}  // namespace
}  // namespace sgdsim
