// Profiles of PyTorch (Kineto) whose figures are known because we invented them: steps, ranks,
// collectives, and the trace that they make.
#include <algorithm>
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/kineto_reading.h"
#include "traces/kineto/to_trace.h"
#include "traces/registry.h"

namespace sgdsim {
namespace {

using namespace profiler;

// ---- steps

TEST_CASE("kineto: times of steps, the first left out") {
  KinetoWriter writer;
  const Recording one = recording({writer});
  REQUIRE(one.profiles.front().steps.size() == 2);
  CHECK(one.profiles.front().steps[0].number == 5);
  CHECK(one.profiles.front().steps[0].has_next);
  CHECK(!one.profiles.front().steps[1].has_next);
  CHECK(one.steps_text() == "steps 5, 6 of rank 0");
  CHECK(one.ranks == 2);
  CHECK(one.warnings.empty());
  REQUIRE(one.ready.size() == 4);
  for (std::size_t g = 0; g < 4; ++g) CHECK(one.ready[g] == Duration::ns(writer.ready_ns(g)));
  CHECK(one.forward == Duration::ns(writer.forward_ns));
  CHECK(one.iteration == Duration::ns(writer.period_ns));
  const int64_t end = writer.exchange_ns(5, 1).second;
  CHECK(one.update == Duration::ns(writer.period_ns - end));
  CHECK(one.exposed == Duration::ns(end - writer.ready_ns(3)));
  REQUIRE(one.buckets.size() == 2);
  for (std::size_t b = 0; b < 2; ++b) {
    CHECK(one.buckets[b].elements == writer.bucket_elements(b));
    CHECK(one.buckets[b].size == Bytes(4 * writer.bucket_elements(b)));
    CHECK(one.buckets[b].transfer == Duration::ns(writer.transfer_ns[b]));
    CHECK(one.buckets[b].gradients == 2);
  }
}

TEST_CASE("kineto: events in another order, without blanks, are the same profile") {
  KinetoWriter writer;
  writer.facts = KinetoWriter::Facts::around_launch;
  writer.waiting_ns = [](int step, int bucket) { return 1000 * step + 100 * bucket; };
  const Trace trace = kineto({writer.text(), "f.json", {}});
  Json json = Json::parse(writer.text());
  std::reverse(json["traceEvents"].begin(), json["traceEvents"].end());
  CHECK(kineto({json.dump(), "f.json", {}}) == trace);
  Json last = {{"traceEvents", json["traceEvents"]}};
  last.update(json);
  CHECK(kineto({last.dump(), "f.json", {}}) == trace);
}

TEST_CASE("kineto: the first step is kept if it is the only one, or on demand") {
  KinetoWriter writer;
  ProfileOptions options;
  options.keep_first = true;
  CHECK(recording({writer}, options).steps_text() == "steps 4, 5, 6 of rank 0");
  writer.steps = 1;
  CHECK(recording({writer}).steps_text() == "step 4 of rank 0");
}

TEST_CASE("kineto: a transfer is the least over ranks and steps, the rest is waiting") {
  KinetoWriter first;
  KinetoWriter second;
  second.rank = 1;
  // Step 5: rank 1 comes last; step 6: rank 0 does. The middle of four values is their mean.
  first.waiting_ns = [](int step, int) { return step == 5 ? 400'000 : 0; };
  second.waiting_ns = [](int step, int) { return step == 6 ? 200'000 : 50'000; };
  const Recording both = recording({first, second});
  CHECK(both.steps_text() == "steps 5, 6 of rank 0; steps 5, 6 of rank 1");
  CHECK(both.buckets[0].transfer == Duration::ns(first.transfer_ns[0]));
  CHECK(both.buckets[0].recorded == Duration::ns(first.transfer_ns[0] + (50'000 + 200'000) / 2));
}

TEST_CASE("kineto: kernels of NCCL old and new and of RCCL, sizes wherever they stand") {
  using Facts = KinetoWriter::Facts;
  for (const char* name :
       {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclDevKernel_Generic_4(ncclDevComm*, unsigned long, ncclWork*)"})
    for (const Facts facts : {Facts::in_kernel, Facts::by_external_id, Facts::around_launch}) {
      INFO(name);
      KinetoWriter writer;
      writer.kernel_name = name;
      writer.facts = facts;
      const Recording one = recording({writer});
      REQUIRE(one.buckets.size() == 2);
      CHECK(one.buckets[0].elements == 2'001'000);
      CHECK(one.buckets[1].size == Bytes(1'202'000));
      CHECK(one.warnings.empty());
    }
}

TEST_CASE("kineto: bytes of elements by type, and types that nobody knows") {
  struct Row {
    const char* type;
    int64_t bytes;
  };
  for (const Row& row : std::vector<Row>{{"Float", 4},
                                         {"Half", 2},
                                         {"BFloat16", 2},
                                         {"Double", 8},
                                         {"Long", 8},
                                         {"Int", 4},
                                         {"Byte", 1},
                                         {"Char", 1},
                                         {"Bool", 1}}) {
    INFO(row.type);
    KinetoWriter writer;
    writer.type = row.type;
    CHECK(recording({writer}).buckets[1].size == Bytes(300'500 * row.bytes));
  }
  KinetoWriter writer;
  writer.type = "Quaternion";
  const Recording one = recording({writer});
  CHECK(one.buckets[1].elements == -1);
  CHECK(warns(one.warnings, "6 collectives of unknown kind or size"));
  CHECK(contains(refusal([&] { trace_of(one, std::nullopt, "x"); }),
                 "the sizes of gradients are not in it; give --parameters or --like"));
}

TEST_CASE("kineto: other kernels communicate if a regular expression says so") {
  KinetoWriter writer;
  writer.kernel_name = "void deep_ep::internode::combine<true>";
  CHECK(
      contains(refusal([&] { recording({writer}); }), "f.json: is of 2 ranks, but has no kernel"));
  const NamePattern pattern("internode::(dispatch|combine)", "--communication");
  const Recording one = recording_of({profile(writer.text(), false, &pattern)}, {});
  CHECK(one.buckets.size() == 2);
}

TEST_CASE("kineto: bad and slow regular expressions") {
  for (const char* bad : {"", "[", "(", "*", "a{2,1000}", "(a)\\1"}) {
    INFO(bad);
    CHECK(contains(refusal([&] { NamePattern(bad, "--communication"); }), "--communication: "));
  }
  CHECK(!refusal([] { NamePattern(std::string(201, 'a'), "x"); }).empty());
  // Exponential where alternatives are tried one after another.
  CHECK(!NamePattern("(a*)*b", "x").occurs_in(std::string(100'000, 'a')));
  CHECK(!NamePattern("(a|aa)+$", "x").occurs_in(std::string(500, 'a') + "!"));
  CHECK(NamePattern("^moe.*combine$", "x").occurs_in("moe_all_to_all_combine"));
}

// ---- the job

TEST_CASE("kineto: several ranks without communication are an error, never zero") {
  KinetoWriter writer;
  writer.kernel_name = "some_kernel";
  struct Row {
    int64_t ranks;
    std::optional<int64_t> option;
    const char* sentence;  // empty: fine
  };
  for (const Row& row : std::vector<Row>{
           {2, {}, "is of 2 ranks, but has no kernel of NCCL or RCCL in its steps; give "},
           {1, {}, ""},
           {0, {}, ""},
           {0, 4, "is of 4 ranks, but has no kernel of NCCL"},
           {0, 1, ""},
           {2, 1, "is of 2 ranks, --ranks says 1"}}) {
    CAPTURE(row.ranks);
    writer.ranks = row.ranks;
    ProfileOptions options;
    options.ranks = row.option;
    const std::string sentence = refusal([&] { recording({writer}, options); });
    CHECK(contains(sentence, row.sentence));
    CHECK(sentence.empty() == std::string(row.sentence).empty());
  }
}

TEST_CASE("kineto: files without distributedInfo, and files that contradict each other") {
  KinetoWriter first;
  first.ranks = 0;
  const Recording alone = recording({first});
  CHECK(alone.ranks == 2);
  CHECK(warns(alone.warnings, "the number of ranks is not in the file; the largest group has 2"));
  CHECK(contains(refusal([&] { recording({first, first}); }), "does not say of which rank it is"));
  ProfileOptions options;
  options.rank = {0, 1};
  CHECK(recording({first, first}, options).steps_text() ==
        "steps 5, 6 of rank 0; steps 5, 6 of rank 1");
  options.rank = {1};
  CHECK(contains(refusal([&] {
                   recording({first, first}, options);
                 }),
                 "--rank: expected one rank for each of the 2 files, got 1"));
  KinetoWriter second;
  CHECK(contains(refusal([&] { recording({second, second}); }), "is of rank 0, as a file before"));
  options.rank = {1};
  CHECK(contains(refusal([&] { recording({second}, options); }), "is of rank 0, --rank says 1"));
  KinetoWriter third;
  third.rank = 1;
  third.ranks = 4;
  CHECK(contains(refusal([&] { recording({second, third}); }), "is of 4 ranks, but f.json of 2"));
  third.rank = 7;
  CHECK(contains(refusal([&] { recording({third}); }), "is of rank 7 among 4 ranks"));
}

TEST_CASE("kineto: steps that differ from most are left out and named") {
  KinetoWriter first;
  first.steps = 4;
  KinetoWriter second = first;
  second.rank = 1;
  second.elements = {1000, 2'000'000, 300'000};
  second.buckets = {2, 1};
  second.steps = 3;
  const Recording both = recording({first, second});
  CHECK(both.ready.size() == 4);
  CHECK(both.steps_text() == "steps 5, 6, 7 of rank 0");
  CHECK(
      warns(both.warnings, "step 5 is left out: it has 3 gradients, most steps have 4 gradients"));
  second.elements = first.elements;
  second.buckets = {3, 1};
  const Recording buckets = recording({first, second});
  CHECK(warns(buckets.warnings,
              "it has 2 all-reduces of 2301000 500 elements, most steps have 2 "
              "all-reduces of 2001000 300500 elements"));
}

// ---- the trace

TEST_CASE("kineto: without sizes, the bytes of a bucket are divided, and a note says so") {
  const KinetoWriter writer;
  const Trace trace = kineto({writer.text(), "dir/run.json", {}});
  CHECK(trace.name == "run");
  CHECK(trace.framework == "PyTorch, NCCL 2.20.5");
  CHECK(trace.device == "Invented GPU");
  CHECK(trace.derived);
  CHECK(trace.notes == std::vector<std::string>{
                           "the sizes of gradients were not recorded: each bucket's bytes are "
                           "divided equally among its gradients"});
  REQUIRE(trace.layers.size() == 4);
  CHECK(trace.layers[3].name == "gradient 1");
  CHECK(trace.layers[3].parameters == 1'000'500);
  CHECK(trace.layers[0].parameters == 150'250);
  CHECK(trace.layers[3].ready == Duration::ns(writer.ready_ns(0)));
  CHECK(trace.layers[3].backward == Duration::ns(writer.kernel_ns));
  CHECK(trace.layers[2].backward == Duration::ns(writer.spacing_ns));
  CHECK(trace.forward() == Duration::ns(writer.forward_ns));
}

TEST_CASE("kineto: sizes from a table, in reverse order of registration") {
  const ParameterSizes sizes =
      parameter_table("idx,name,elements\n0,a,500\n1,b,300000\n\n2,c,2000000\n3,d,1000\n", "p.csv");
  const ImportedStep step = trace_of(recording({KinetoWriter{}}), sizes, "x");
  CHECK(step.no_buckets.empty());
  CHECK(step.trace.notes.empty());
  CHECK(!step.trace.derived);
  CHECK(step.trace.layers[0].name == "a");
  CHECK(step.trace.layers[3].name == "d");
  CHECK(step.trace.layers[3].gradient == Bytes(4000));
  Trace like;
  like.layers.resize(3);
  like.layers[0].name = "l";
  like.layers[0].parameters = 300'500;
  like.layers[0].tensors = {500, 300'000};
  like.layers[1].name = "no parameters";
  like.layers[2].name = "m";
  like.layers[2].parameters = 2'001'000;
  like.layers[2].tensors = {2'000'000, 1000};
  const ParameterSizes same = parameters_like(like, "t.json");
  CHECK(same.parameters == std::vector<std::pair<std::string, int64_t>>{
                               {"l.1", 500}, {"l.2", 300'000}, {"m.1", 2'000'000}, {"m.2", 1000}});
}

TEST_CASE("kineto: sizes that do not fit") {
  const Recording one = recording({KinetoWriter{}});
  const auto table = [](const std::string& rows) {
    return parameter_table("name,elements\n" + rows, "p.csv");
  };
  CHECK(refusal([&] { trace_of(one, table("a,1\nb,2\nc,3\n"), "x"); }) ==
        "p.csv: the profile has 4 gradients a step, p.csv has 3 parameters; parameters without a "
        "gradient (frozen or unused) must not be listed");
  CHECK(contains(refusal([&] { trace_of(one, table("a,1\nb,2\n"), "x"); }),
                 "the profile has 4 gradients a step, p.csv has 2 parameters; several backward"));
  // The order that was registered, not its reverse.
  const ImportedStep step = trace_of(one, table("a,1000\nb,2000000\nc,300000\nd,500\n"), "x");
  CHECK(step.no_buckets ==
        "bucket 1 was recorded with 2001000 elements, but the gradients in reverse order of "
        "registration add up to 2300500");
  CHECK(step.trace.notes == std::vector<std::string>{step.no_buckets});
  for (const char* bad : {"", "a,b\n1,2\n", "name,elements\n", "name,elements\na\n",
                          "name,elements\na,0\n", "name,elements\na,-1\n", "name,elements\na,1e3\n",
                          "name,elements\na,99999999999999999999\n"}) {
    INFO(bad);
    CHECK(contains(refusal([&] { parameter_table(bad, "p.csv"); }), "p.csv"));
  }
}

TEST_CASE("kineto: without all-reduces of gradients there is a trace, but nothing to replay") {
  KinetoWriter writer;
  writer.ranks = 1;
  writer.buckets = {};
  const Recording one = recording({writer});
  CHECK(contains(refusal([&] { trace_of(one, std::nullopt, "x"); }), "give --parameters"));
  const ImportedStep step =
      trace_of(one, parameter_table("name,elements\na,1\nb,1\nc,1\nd,1\n", "p"), "x");
  CHECK(step.no_buckets == "no all-reduce of gradients was recorded");
  CHECK(step.trace.update == Duration::ns(writer.period_ns - writer.ready_ns(3)));
}

}  // namespace
}  // namespace sgdsim
