// `sgdsim import FILE` without a format: the content tells, and what it does not tell is refused.
#include <doctest/doctest.h>
#include <fstream>

#include "sim/core/json.h"
#include "tests/run_program.h"
#include "traces/chakra.h"
#include "traces/measurement/registry.h"
#include "traces/registry.h"
#include "traces/steps/registry.h"

namespace sgdsim {
namespace {

std::string in_source(std::string_view file) {
  return std::string(SGDSIM_SOURCE_DIR) + "/" + std::string(file);
}

// With its format named, and without, an example gives the same.
void check_same(std::string_view name, std::string_view example) {
  INFO(std::string(name));
  const std::string file = in_source(example);
  const Ran named = call_sgdsim({"import", std::string(name), file});
  const Ran plain = call_sgdsim({"import", file});
  INFO(plain.log);
  CHECK(named.exit_code == plain.exit_code);
  CHECK(named.out == plain.out);
  if (plain.exit_code == 0)
    CHECK(plain.log.starts_with("sgdsim: note: read as " + std::string(name)));
}

TEST_CASE("import: the example of every format is known by its content") {
  for (const TraceFormat& format : trace_formats) check_same(format.name, format.example);
  for (const StepsFormat& format : steps_formats) check_same(format.name, format.example);
  for (const MeasurementFormat& format : measurement_formats)
    if (format.name != "sgdsim-json") check_same(format.name, format.example);
  check_same("nccl-topology", "tests/data/nccl_regular.xml");
}

TEST_CASE("import: what has no format, or several, is refused with the list of them") {
  struct Row {
    std::string reason;
    std::string content;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {"empty", "", "its content is of no known format; known: layers-csv, b-caffe-log, "},
      {"words", "hello world\n", "its content is of no known format"},
      {"bytes", std::string("\0\xff\x01", 3), "its content is of no known format"},
      {"two", "distributed.cpp:112] [0, 8, 1, 0]\nlayerwise backward times: [1]\n",
       "its content may be b-caffe-log, mgwfbp-log; name the format"},
      {"NCCL's own words",
       "node0:4121:4121 [0] NCCL INFO AllReduce: opCount 3 count 1048576 datatype 7 op 0\n",
       "is what NCCL prints with NCCL_DEBUG, which holds no times; record NCCL's Inspector"},
      {"a database", "SQLite format 3 StringIds CUPTI_ACTIVITY_KIND_KERNEL",
       "is a recording of Nsight Systems (nsys) or another database, which no command reads; "
       "record the steps with torch.profiler"},
      {"a table of a database", "Start (ns),Duration (ns),CorrId,Name\n100,200,1,ncclKernel\n",
       "is a table of Nsight Systems (nsys stats), which no command reads; record the steps with "
       "torch.profiler"},
      {"a schedule", "// two ranks\nnum_ranks 2\nrank 0 {\nl1: calc 100\n}\n",
       "is a schedule in GOAL; `sgdsim replay FILE` simulates it"},
      {"a matrix of htsim", "Nodes 8\nConnections 1\n0->1 id 1 start 0 size 1000\n",
       "is a connection matrix of htsim; `sgdsim traffic FILE -c CLUSTER` simulates it"},
      {"flows", "start_us,from,to,size_B\n0,0,1,1000\n",
       "is a table of flows; `sgdsim traffic FILE -c CLUSTER` simulates it"},
      {"flows of another country", "from;to;size_B;start_ms\n0;1;1000;0,5\n",
       "is a table of flows; `sgdsim traffic"},
      {"failures", "time,unit,cause\n2026-01-01,node3,gpu\n",
       "is a log of failures or of jobs; `sgdsim fit FILE` makes rates of failures of it"},
      {"jobs", R"([{"jobid": "a", "attempts": [], "status": "Pass"}])",
       "is a log of failures or of jobs; `sgdsim fit FILE`"},
      {"llm.c", "step    1/19560 | loss 11.009 (+nanz)| lr 4.29e-07 | 1500.00 ms | 349000 tok/s\n",
       "is a log of training, with no line that is read; those of Megatron-LM, Megatron-DeepSpeed, "
       "NeMo, DeepSpeed, torchtitan, nanoGPT, build-nanogpt, Hugging Face are, and `sgdsim "
       "import training-log FILE` shows them"},
      {"its other log", "s:0 tel:11.0090\ns:1 trl:11.0090 lr:0.000001 norm:15.36\n",
       "is a log of training, with no line that is read"},
      {"modded-nanogpt", "step:1/1390 train_time:123ms step_avg:123.45ms\n",
       "is a log of training, with no line that is read"},
      {"a log that begins as a list", "[2026-01-01 10:00:00] epoch 3, loss 2.5\n",
       "is a log of training, with no line that is read"},
      {"a list that is none", "[{\"step\": 1, \"loss\": 2.5}]\n",
       "its content is of no known format"},
      {"ours", R"({"schema": "sgdsim/measurement/1", "series": []})",
       "is a file of sgdsim already"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    const Temporary file(Temporary::Kind::file, row.content);
    const Ran answer = call_sgdsim({"import", file.name()});
    CHECK(answer.exit_code == 2);
    CHECK(answer.out.empty());
    CHECK(answer.log.find(file.name() + ": " + row.sentence) != std::string::npos);
  }
}

TEST_CASE("import, diagnose: what another command reads is said with that command") {
  const Temporary folder(Temporary::Kind::folder);
  std::string trace;
  write_chakra_head(trace, "0.0.4");
  const std::string one = folder.name() + "/step.0.et";
  const std::string schedule = folder.name() + "/two.goal";
  std::ofstream(one, std::ios::binary) << trace;
  std::ofstream(schedule) << "num_ranks 1\nrank 0 {\nl1: calc 100\n}\n";
  const std::string of_traces =
      "is the trace of one rank by Chakra; `sgdsim replay FILE...` simulates those of all ranks, "
      "and `sgdsim diagnose FOLDER` compares the ranks";
  using Words = std::vector<std::string>;
  for (const Words& command : {Words{"import"}, Words{"import", "kineto"}, Words{"diagnose"},
                               Words{"run", "-c", "10gbe_16"}, Words{"advise", "-c", "10gbe_16"}})
    for (const auto& [file, sentence] :
         {std::pair(one, of_traces),
          std::pair(schedule, std::string("is a schedule in GOAL; `sgdsim replay FILE`"))}) {
      Words words = command;
      words.push_back(file);
      const Ran answer = call_sgdsim(words);
      INFO(answer.log);
      CHECK(answer.exit_code == 2);
      CHECK(answer.log.find(file + ": " + sentence) != std::string::npos);
    }
  CHECK(call_sgdsim({"import", folder.name()}).log.find("`sgdsim diagnose FOLDER`") !=
        std::string::npos);
}

TEST_CASE("import: files and words that do not go together") {
  const std::string table = in_source("tests/data/layers.csv");
  const std::string log = in_source("tests/data/mllog.txt");
  struct Row {
    std::vector<std::string> arguments;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {{"import"}, "import: expected FILE, or a format and FILE; known formats: layers-csv, "},
      {{"import", "layers-csw", table},
       "import: unknown format, and no file, \"layers-csw\" (did you mean \"layers-csv\"?)"},
      {{"import", table, log}, log + ": is mllog, and " + table + " is layers-csv"},
      {{"import", table, table}, "import: layers-csv takes one file, got 2"},
      {{"import", "-"}, "import: standard input is read once; name its format"},
      {{"import", log, "--name", "x"}, "--name: has no effect on mllog"},
      {{"import", table, "--bogus"},
       "unknown option \"--bogus\"; known: --help, --out, -o, --force, --name\n"},
      {{"import", "no/such.file"}, "no/such.file: cannot be read: No such file or directory"},
  };
  for (const Row& row : rows) {
    const Ran answer = call_sgdsim(row.arguments);
    INFO(answer.log);
    CHECK(answer.exit_code == 2);
    CHECK(answer.log.find("sgdsim: " + row.sentence) != std::string::npos);
  }
}

}  // namespace
}  // namespace sgdsim
