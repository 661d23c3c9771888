// Layouts of training programs with counts of every size: refused by name, or within what is
// modelled.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/run_program.h"

namespace sgdsim {

// Every count of every program, by itself and in pairs, at sizes whose products leave 64 bits:
// refused by name, or a layout that is within what is modelled.
TEST_CASE("foreign layouts: counts of every size, and their products") {
  struct Program {
    std::string before;   // of the counts
    std::string between;  // a name and its value
    std::string behind;   // each value
    std::vector<std::string> names;
  };
  const std::vector<Program> programs = {
      {"",
       " ",
       " ",
       {"--nnodes", "--nproc-per-node", "--tensor-model-parallel-size",
        "--pipeline-model-parallel-size", "--context-parallel-size", "--expert-model-parallel-size",
        "--micro-batch-size", "--global-batch-size", "--num-distributed-optimizer-instances",
        "--num-virtual-stages-per-pipeline-rank"}},
      {"",
       ": ",
       "\n",
       {"num_nodes", "devices", "tensor_model_parallel_size", "pipeline_model_parallel_size",
        "context_parallel_size", "micro_batch_size", "global_batch_size",
        "virtual_pipeline_model_parallel_size"}},
      {"{\"zero_optimization\": {\"stage\": 1}",
       ": ",
       "",
       {", \"train_batch_size\"", ", \"train_micro_batch_size_per_gpu\"",
        ", \"gradient_accumulation_steps\"", ", \"tensor_parallel\": {\"autotp_size\""}},
      {"[parallelism]\n",
       " = ",
       "\n",
       {"data_parallel_shard_degree", "data_parallel_replicate_degree", "tensor_parallel_degree",
        "pipeline_parallel_degree", "context_parallel_degree", "pipeline_parallel_microbatch_size",
        "[training]\nlocal_batch_size", "[training]\nglobal_batch_size"}}};
  const std::vector<std::string> counts = {
      "1", "8", "65536", "1048576", "67108864", "100000000", "4294967296", "9223372036854775807"};
  const Transformer model = load_model("llama3.1_8b");
  int64_t taken = 0;
  int64_t refused = 0;
  const auto try_one = [&](const std::string& text, int64_t gpus) {
    INFO(text);
    try {
      const Layout layout =
          foreign_layout(FlatSettings::read(text, "f"), {.given = gpus}, model).layout;
      CHECK_NOTHROW(check_sizes(layout, "f"));
      CHECK(layout.gpus() >= 1);
      CHECK(layout.gpus() <= most_gpus);
      CHECK(layout.batch() >= 1);
      CHECK(layout.batch() <= most_global_batch);
      ++taken;
    } catch (const InputError& error) {
      CHECK(std::string(error.what()).starts_with("f: "));
      ++refused;
    }
  };
  for (const Program& program : programs)
    for (std::size_t a = 0; a < program.names.size(); ++a)
      for (std::size_t b = a + 1; b < program.names.size(); ++b)
        for (const std::string& first : counts)
          for (const std::string& second : counts)
            for (const int64_t gpus : {int64_t{0}, int64_t{8}, most_gpus}) {
              const auto set = [&](std::size_t name, const std::string& count) {
                const bool opens = program.names[name].ends_with("{\"autotp_size\"");
                return program.names[name] + program.between + count + (opens ? "}" : "") +
                       program.behind;
              };
              std::string text = program.before + set(a, first) + set(b, second);
              if (program.before.starts_with("{")) text += "}";
              if (program.behind == " ") text += "--tensor-model-parallel-size 1";
              try_one(text, gpus);
            }
  CHECK(taken > 1000);
  CHECK(refused > 1000);
  // The one that divided by nothing: replicas times the micro-batch is 2^40 x 2^26.
  const Ran ran =
      run_sgdsim({"model", "show", "llama3.1_8b", "--layout",
                  "--nnodes 1048576 --nproc-per-node 1048576 --micro-batch-size 67108864 "
                  "--global-batch-size 8 --tensor-model-parallel-size 1"});
  CHECK(ran.exit_code == 2);
  CHECK(ran.log.find(
            "1048576 nodes of 1048576 GPUs are more than the 1048576 GPUs that are modelled") !=
        std::string::npos);
}

}  // namespace sgdsim
