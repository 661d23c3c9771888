// `sgdsim import kineto` as people use it: files in, a trace and a case out, and the case replayed.
#include <chrono>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

#include "sim/core/json.h"
#include "tests/kineto_reading.h"
#include "tests/run_program.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

using profiler::contains;

// A folder with profiles in it.
class Folder {
 public:
  std::string file(const std::string& name) const { return folder_.name() + "/" + name; }
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
  }

 private:
  Temporary folder_{Temporary::Kind::folder};
};

Ran import(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"import", "kineto"});
  return run_sgdsim(arguments);
}

TEST_CASE("kineto import: the sample that ships is what the writer writes") {
  const std::string file = std::string(SGDSIM_SOURCE_DIR) + "/tests/data/kineto.json";
  CHECK((read_text(file) == KinetoWriter{}.text()));
}

TEST_CASE("kineto import: two ranks, plain and packed, to a trace and a case that validates") {
  const Folder folder;
  KinetoWriter first;
  KinetoWriter second;
  second.rank = 1;
  second.waiting_ns = [](int, int) { return 100'000; };
  const std::string plain = folder.put("run.pt.trace.json", first.text());
  const std::string packed = folder.put("b.json.gz", packed_as_gzip(second.text()));
  const std::string table =
      folder.put("p.csv", "name,elements\na,500\nb,300000\nc,2000000\nd,1000\n");
  const std::string out = folder.file("t.json");
  const std::string one = folder.file("c.json");
  const Ran ran = import({plain, packed, "--out", out, "--case", one, "--parameters", table,
                          "--batch", "32", "--model", "m", "--device", "d"});
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  CHECK(ran.out.empty());
  CHECK(contains(ran.log, "94 events, rank 1 of 2 ranks, Invented GPU"));
  CHECK(contains(ran.log, "device 0, stream 7 (computes)"));
  const Trace trace = read_trace_file(out);
  CHECK(trace.name == "run");
  CHECK(trace.model == "m");
  CHECK(trace.device == "d");
  CHECK(trace.batch == 32);
  CHECK(trace.layers.front().name == "a");

  // A message starts when its gradients are ready and takes the least of what was recorded. After
  // the last one comes the update: the middle of 34.7 ms (rank 0) and 34.5 ms (rank 1).
  const int64_t end_ns = first.exchange_ns(5, 1).second;
  const int64_t update_ns = first.period_ns - end_ns - 100'000;
  const Ran validated = run_sgdsim({"validate", one, "--rows", "--format", "json"});
  INFO(validated.log);
  CHECK(validated.exit_code == 0);
  const Json rows = Json::parse(validated.out)["suites"][0]["cases"][0]["rows"];
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["predicted_ps"] == 1000 * (end_ns + update_ns));
  CHECK(rows[0]["measured_us"] == first.period_ns / 1000);
  CHECK(!rows[0].contains("wrong"));
  CHECK(rows[1]["of"] == "backward");
  CHECK(rows[1]["predicted_ps"] == 1000 * (first.ready_ns(3) - first.forward_ns));
  CHECK(rows[2]["of"] == "exposed");
  CHECK(rows[2]["predicted_ps"] == 1000 * (end_ns - first.ready_ns(3)));
}

TEST_CASE("kineto import: standard input and output, and a cluster for the case") {
  const Folder folder;
  const std::string profile = folder.put("run.json", KinetoWriter{}.text());
  const Ran ran = run_sgdsim({"import", "kineto", "-"}, {.input_file = profile, .output_file = {}});
  REQUIRE(ran.exit_code == 0);
  CHECK(read_trace(Document::parse(ran.out, "out").root()).name == "trace");
  const std::string cluster =
      folder.put("cluster.json",
                 R"({"schema": "sgdsim/cluster/1", "shape": "single_switch", "nodes": 2,
          "nic": {"latency": "0 us", "bandwidth": "1 GBps"}})");
  const std::string one = folder.file("c.json");
  REQUIRE(import({profile, "--case", one, "--cluster", cluster, "--out", folder.file("t.json")})
              .exit_code == 0);
  CHECK(Json::parse(read_text(one))["experiment"]["cluster"] == "cluster.json");
  const Ran validated = run_sgdsim({"validate", one, "--rows", "--format", "json"});
  const Json row = Json::parse(validated.out)["suites"][0]["cases"][0]["rows"][0];
  // A ring of two takes a message's bytes once over 1 GB/s: 8.004 ms from 11.6 ms on, then 1.202
  // ms; the update is 34.7 ms.
  CHECK(row["predicted_us"].get<double>() == doctest::Approx(11'600 + 8'004 + 1'202 + 34'700));
}

TEST_CASE("kineto import: a cluster of other ranks than the recording's makes no case") {
  const Folder folder;
  const std::string profile = folder.put("run.json", KinetoWriter{}.text());
  const std::string cluster = folder.put(
      "cluster.json", R"({"schema": "sgdsim/cluster/1", "shape": "single_switch", "nodes": 16,
          "nic": {"latency": "0 us", "bandwidth": "1 GBps"}})");
  const std::string one = folder.file("c.json");
  const Ran ran =
      import({profile, "--case", one, "--cluster", cluster, "--out", folder.file("t.json")});
  CHECK(ran.exit_code == 2);
  CHECK(contains(ran.log, cluster +
                              " has 16 workers, and the recording is of 2 ranks that exchange "
                              "gradients; give a cluster of 2 (nodes times workers per "
                              "node); no case was written"));
  CHECK(!std::filesystem::exists(one));
}

TEST_CASE("kineto import: a cluster that ships is named, and one that is JSON stays JSON") {
  const Folder folder;
  const std::string profile = folder.put("run.json", KinetoWriter{}.text());
  const std::string inline_cluster =
      R"({"schema":"sgdsim/cluster/1","shape":"single_switch","nodes":2,)"
      R"("nic":{"latency":"0 us","bandwidth":"1 GBps"}})";
  const std::string one = folder.file("c.json");
  const auto with = [&](const std::string& cluster) {
    return import({profile, "--case", one, "--cluster", cluster, "--out", folder.file("t.json")});
  };
  CHECK(contains(with("10gbe_16").log, "10gbe_16 has 16 workers"));  // known by its name
  const Ran ran = with(inline_cluster);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  CHECK(Json::parse(read_text(one))["experiment"]["cluster"] == Json::parse(inline_cluster));
  // A ring of two takes a message's bytes once over 1 GB/s, as in the case before.
  const Ran validated =
      run_sgdsim({"validate", folder.file("c.json"), "--rows", "--format", "json"});
  const Json row = Json::parse(validated.out)["suites"][0]["cases"][0]["rows"][0];
  CHECK(row["predicted_us"].get<double>() == doctest::Approx(11'600 + 8'004 + 1'202 + 34'700));
}

TEST_CASE("kineto import: what is refused, with nothing written") {
  const Folder folder;
  const std::string profile = folder.put("run.json", KinetoWriter{}.text());
  KinetoWriter silent;
  silent.kernel_name = "some_kernel";
  const std::string quiet = folder.put("quiet.json", silent.text());
  const std::string wrong = folder.put("wrong.csv", "name,elements\na,1\nb,1\nc,1\nd,1\n");
  const Temporary empty(Temporary::Kind::folder);
  struct Row {
    const char* reason;
    std::vector<std::string> arguments;
    const char* sentence;
  };
  for (const Row& row : std::vector<Row>{
           {"no file", {folder.file("none.json")}, "none.json: cannot be read: No such file"},
           {"a folder with one of them",
            {folder.file("")},
            "quiet.json: is of 2 ranks, but has no"},
           {"a folder without profiles", {empty.name()}, "holds no profile of PyTorch"},
           {"no communication", {quiet}, "is of 2 ranks, but has no kernel of NCCL or RCCL"},
           {"twice the same", {profile, profile}, "is of rank 0, as a file before it"},
           {"bad pattern", {profile, "--communication", "("}, "is no regular expression"},
           {"bad rank", {profile, "--rank", "x"}, "--rank: expected a rank, a whole number"},
           {"no such trace", {profile, "--like", "resnet5"}, "resnet50"},
           {"cluster without case", {profile, "--cluster", "x"}, "--case"},
           {"no such cluster",
            {profile, "--case", "-", "--out", folder.file("t"), "--cluster", "x"},
            "unknown cluster \"x\""},
           {"a cluster from standard input",
            {profile, "--case", "-", "--out", folder.file("t"), "--cluster", "-"},
            "--cluster: the case names this file"},
           {"two outputs, one stream", {profile, "--case", "-"}, "standard output already takes"},
           {"output over input", {profile, "--out", profile}, profile.c_str()},
           {"no profile", {wrong}, "byte 1: expected \"{\", found \"n\""}}) {
    INFO(row.reason);
    const Ran ran = import(row.arguments);
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(contains(ran.log, row.sentence));
    CHECK(!std::filesystem::exists(folder.file("t")));
    CHECK(!std::filesystem::exists(folder.file("c")));
  }
}

TEST_CASE("kineto import: a case that cannot be made does not lose the trace") {
  const Folder folder;
  const std::string profile = folder.put("run.json", KinetoWriter{}.text());
  const std::string wrong = folder.put("wrong.csv", "name,elements\na,1\nb,1\nc,1\nd,1\n");
  const std::string out = folder.file("t.json");
  const Ran ran =
      import({profile, "--parameters", wrong, "--out", out, "--case", folder.file("c.json")});
  CHECK(ran.exit_code == 2);
  CHECK(contains(ran.log, "--case: bucket 1 was recorded with 2001000 elements"));
  CHECK(contains(ran.log, "no case was written, but " + out + " was"));
  CHECK(read_trace_file(out).layers.size() == 4);
  CHECK(!std::filesystem::exists(folder.file("c.json")));
}

TEST_CASE("kineto import: without the name of the format, its options hold") {
  const Folder folder;
  const std::string profile = folder.put("run.json", KinetoWriter{}.text());
  const std::string table =
      folder.put("p.csv", "name,elements\na,500\nb,300000\nc,2000000\nd,1000\n");
  const std::string out = folder.file("t.json");
  const Ran ran = run_sgdsim({"import", "--parameters", table, profile, "--batch", "8", "--out",
                              out, "--keep-first", "--case", folder.file("c.json")});
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  CHECK(contains(ran.log, "read as kineto"));
  const Trace trace = read_trace_file(out);
  CHECK(trace.batch == 8);
  CHECK(trace.layers.front().name == "a");
  CHECK(contains(trace.source, "steps 4, 5, 6"));
  CHECK(run_sgdsim({"validate", folder.file("c.json")}).exit_code == 0);
  const Ran other = run_sgdsim({"import", "tests/data/layers.csv", "--keep-first"});
  CHECK(other.exit_code == 2);
  CHECK(contains(other.log, "--keep-first: has no effect on layers-csv"));
}

TEST_CASE("kineto import: the profiles of a folder are its ranks") {
  const Folder folder;
  KinetoWriter first;
  KinetoWriter second;
  second.rank = 1;
  folder.put("a.pt.trace.json", first.text());
  folder.put("b.pt.trace.json.gz", packed_as_gzip(second.text()));
  folder.put("notes.json", "{\"a\": 1}");
  folder.put("notes.txt", "no profile");
  const Ran ran = run_sgdsim({"import", folder.file("")});
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  CHECK(contains(ran.log, "rank 1 of 2 ranks"));
  CHECK(contains(Json::parse(ran.out)["source"].get<std::string>(),
                 "steps 5, 6 of rank 0; steps 5, 6 of rank 1 of 2 ranks"));
}

TEST_CASE("kineto import: the buckets of a case are recorded ones, and must be whole gradients") {
  const Folder folder;
  const std::string profile = folder.put("run.json", KinetoWriter{}.text());
  const std::string one = folder.file("c.json");
  REQUIRE(import({profile, "--case", one, "--out", folder.file("t.json")}).exit_code == 0);
  Json json = Json::parse(read_text(one));
  CHECK(json["experiment"]["strategy"]["sizes"] == Json::array({"8004 KB", "1202 KB"}));
  struct Row {
    Json sizes;
    const char* sentence;
  };
  for (const Row& row : std::vector<Row>{
           {{"8.004 MB", "1.201 MB"}, "sizes/1: expected a bucket of whole gradients"},
           {{"8.004 MB"}, "sizes: hold 2 of 4 gradients"},
           {{"8004 KB", "1202 KB", "4 B"}, "sizes/2: expected a bucket of whole gradients"},
           {{"0 B"}, "expected a bucket of more than 0 B"}}) {
    INFO(row.sentence);
    json["experiment"]["strategy"]["sizes"] = row.sizes;
    const Ran ran = run_sgdsim({"validate", folder.put("bad.json", json.dump())});
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(contains(ran.log, row.sentence));
  }
}

// 1 GB plain and packed, at most 60 s and 300 MB each: run by hand, with --no-skip.
TEST_CASE("kineto import: one gigabyte" * doctest::skip()) {
  const Folder folder;
  KinetoWriter writer;
  writer.steps = 10;
  writer.fillers = 42'000;
  for (const bool as_gzip : {false, true}) {
    const std::string file = folder.file(as_gzip ? "big.json.gz" : "big.json");
    write_kineto_file(writer, file, as_gzip);
    const auto begin = std::chrono::steady_clock::now();
    const Ran ran = import({file, "--out", folder.file("t.json"), "--force"});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    MESSAGE(std::filesystem::file_size(file), " bytes: ", seconds.count(), " s, ",
            ran.most_memory_B, " bytes of memory");
    REQUIRE(ran.exit_code == 0);
    CHECK(seconds.count() < 60);
    CHECK(ran.most_memory_B < 300'000'000);
    const Trace trace = read_trace_file(folder.file("t.json"));
    for (std::size_t g = 0; g < 4; ++g)
      CHECK(trace.layers[3 - g].ready == Duration::ns(writer.ready_ns(g)));
  }
}

// A file of four steps, with `count` events among them that cannot be used, five sorts in turn; it
// ends within the last step.
void write_damaged(const std::string& file, int64_t count) {
  KinetoWriter writer;
  writer.steps = 4;
  const std::string whole = writer.text();
  const std::size_t events = whole.find('[', whole.find("traceEvents")) + 1;
  const std::size_t end = whole.rfind("AccumulateGrad");
  std::ofstream out(file, std::ios::binary);
  out << whole.substr(0, events);
  for (int64_t i = 0; i < count / 5; ++i) {
    const std::string kernel = R"({"ph":"X","cat":"kernel","name":"k","args":{"stream":7},)";
    out << kernel << R"("ts":)" << i << R"(,"dur":-1},)" << kernel << R"("ts":)" << i << "},"
        << kernel << R"("dur":)" << i << R"(},{"ph":"?"},{"ph":"i","name":"a)"
        << "\x01\x1b[2J"
        << R"("},)";
  }
  out << whole.substr(events, end - events);
}

void check_damaged(int64_t count) {
  const Folder folder;
  const std::string file = folder.file("bad.json");
  write_damaged(file, count);
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = import({file, "--out", folder.file("t.json")});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  MESSAGE(std::filesystem::file_size(file), " bytes: ", seconds.count(), " s, ", ran.most_memory_B,
          " bytes of memory");  // of this program, too, if other tests came before
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  const std::string each = std::to_string(count / 5);
  for (const char* what : {"events that end before they begin", "events without a duration",
                           "events without a time", "events of an unknown phase"})
    CHECK(contains(ran.log, "bad.json: " + each + " " + what));
  CHECK(contains(ran.log, std::to_string(2 * count / 5) + " control characters"));
  CHECK(contains(ran.log, "ends too early"));
  const Trace trace = read_trace_file(folder.file("t.json"));
  for (std::size_t g = 0; g < 4; ++g)
    CHECK(trace.layers[3 - g].ready == Duration::ns(KinetoWriter{}.ready_ns(g)));
}

TEST_CASE("kineto import: many events that cannot be used, and no end") { check_damaged(100'000); }

// Run by hand, with --no-skip.
TEST_CASE("kineto import: ten million of them" * doctest::skip()) { check_damaged(10'000'000); }

}  // namespace
}  // namespace sgdsim
