// Stages of different lengths as training programs say them, by hand and by their own rules.
#include "study/layout/foreign_stages.h"

#include <doctest/doctest.h>

#include "models/training/stage_lengths.h"
#include "sim/core/error.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/run_program.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

ForeignLayout stages_read(const std::string& text, int64_t gpus, const std::string& model) {
  return foreign_layout(FlatSettings::read(text, "f"), {.given = gpus}, load_model(model));
}

}  // namespace

TEST_CASE("foreign stages: the text of Megatron-LM") {
  struct Row {
    std::string text;
    std::string chunks;
    int64_t predictions;
  };
  const std::vector<Row> rows = {
      {"Et*3|(tt|)*29,m|L", "3+2x29+0x2", 1},
      {"Et*3|(tt|)*29m|L", "3+2x29+0x2", 1},
      {"Et*6|t*6|t*6|t*5|t*5|t*5|t*5|t*5L", "6x3+5x5", 0},
      {"Ettt|(tt|tt|)*2t|tL", "3+2x4+1x2", 0},
      {"E|t*4|t*4|mL", "0+4x2+0", 1},
      {"E,t*2,|,t*2,L", "2x2", 0},
      {"E|(t|)*3L", "0+1x3+0", 0},
      {"Et*0|ttL", "0+2", 0},
      {"Et*10L", "10", 0},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const ForeignStages stages = stages_of_megatron(row.text);
    CHECK(stages.wrong == "");
    CHECK(stages_text(listed(stages.layers)) == row.chunks);
    CHECK(stages.predictions == row.predictions);
  }
  for (const std::string text : {"",
                                 "t",
                                 "E",
                                 "L",
                                 "tEL",
                                 "ELt",
                                 "EEtL",
                                 "EtLL",
                                 "Et|x|L",
                                 "E(tt|L",
                                 "Ett)|L",
                                 "E(tt|)L",
                                 "E()*3L",
                                 "E((t)*3)*3L",
                                 "Et*L",
                                 "Et*-3L",
                                 "Et*99999999999999999999L",
                                 "E(t*100000|)*100000L",
                                 "E t|L",
                                 "*3EtL",
                                 "Em|tL",
                                 "e|t|l",
                                 "Et||t*2*3L"}) {
    INFO(text);
    CHECK(stages_of_megatron(text).wrong != "");
  }
}

// Units are layers, and as many as the ends count for; the first stages have the units that remain.
TEST_CASE("foreign stages: the rule of torchtitan") {
  const auto text = [](int64_t layers, int64_t chunks, int64_t first, int64_t last) {
    const ForeignStages stages = stages_of_torchtitan(layers, chunks, first, last);
    return stages.wrong.empty() ? stages_text(listed(stages.layers)) : "wrong";
  };
  CHECK(text(32, 8, 1, 1) == "4+5+4x5+3");  // 34 = 5 + 5 + 6 x 4
  CHECK(text(32, 4, 1, 1) == "8+9+8+7");    // 34 = 9 + 9 + 8 + 8
  CHECK(text(32, 4, 0, 0) == "8x4");
  CHECK(text(61, 16, 0, 0) == "4x13+3x3");
  CHECK(text(3, 2, 2, 2) == "2+1");  // 7 = 4 + 3
  CHECK(text(6, 8, 1, 1) == "0+1x6+0");
  CHECK(text(8, 4, 3, 0) == "wrong");
  CHECK(text(8, 12, 1, 1) == "wrong");
}

TEST_CASE("foreign stages: settings of programs") {
  struct Row {
    std::string text;
    std::string model;
    std::string layout;
  };
  const std::string pp = "--pipeline-model-parallel-size 16 --overlap-grad-reduce ";
  const std::string two = "--pipeline-model-parallel-size 2 --overlap-grad-reduce ";
  const std::string nemo = "model:\n  micro_batch_size: 1\n  pipeline_model_parallel_size: 16\n  ";
  const std::string titan = "[parallelism]\npipeline_parallel_degree = 16\n";
  const std::vector<Row> rows = {
      {pp + "--decoder-first-pipeline-num-layers 1", "deepseek_v3", "pp16 zero0 first=1"},
      {pp + "--decoder-first-pipeline-num-layers 3 --decoder-last-pipeline-num-layers 2",
       "deepseek_v3", "pp16 zero0 first=3 last=2"},
      {two + "--decoder-last-pipeline-num-layers 14 --num-virtual-stages-per-pipeline-rank 2",
       "llama3.1_8b", "pp2 vp2 dp8 zero0 last=14"},
      {two + "--decoder-last-pipeline-num-layers none", "llama3.1_8b", "pp2 dp8 zero0"},
      {pp + "--pipeline-model-parallel-layout \"Et*3|(tt|)*29,m|L\"", "deepseek_v3",
       "pp16 vp2 zero0 stages=3+2x29+0x2 mtp=1"},
      {pp + "--pipeline-model-parallel-layout='Et*3|(tt|)*29,m|L'", "deepseek_v3",
       "pp16 vp2 zero0 stages=3+2x29+0x2 mtp=1"},
      {pp + "--pipeline-model-parallel-layout Et*3\\|\\(tt\\|\\)*29m\\|L", "deepseek_v3",
       "pp16 vp2 zero0 stages=3+2x29+0x2 mtp=1"},
      {"LAYOUT=\"Et*3|(tt|)*29,m|L\"\nARGS=(\n  " + pp +
           "\n  --pipeline-model-parallel-layout ${LAYOUT}\n)",
       "deepseek_v3", "pp16 vp2 zero0 stages=3+2x29+0x2 mtp=1"},
      {two + "--pipeline-model-parallel-layout Et*16|t*16L", "llama3.1_8b", "pp2 dp8 zero0"},
      {two + "--account-for-embedding-in-pipeline-split", "deepseek_v3",
       "pp2 dp8 zero0 stages=30+31"},
      {two + "--account-for-loss-in-pipeline-split", "deepseek_v3", "pp2 dp8 zero0 stages=31+30"},
      {two + "--account-for-loss-in-pipeline-split --num-layers-per-virtual-pipeline-stage 31",
       "deepseek_v3", "pp2 dp8 zero0 stages=31+30"},
      {nemo + "num_layers_in_first_pipeline_stage: 3\n  num_layers_in_last_pipeline_stage: 2\n",
       "deepseek_v3", "pp16 zero0 first=3 last=2"},
      {nemo + "num_layers_in_first_pipeline_stage: null\n  num_layers_in_last_pipeline_stage: 1\n",
       "deepseek_v3", "pp16 zero0 last=1"},
      {nemo + "pipeline_model_parallel_layout: \"Et*3|(tt|)*29,m|L\"\n", "deepseek_v3",
       "pp16 vp2 zero0 stages=3+2x29+0x2 mtp=1"},
      {"model:\n  micro_batch_size: 1\n  pipeline_model_parallel_size: 2\n"
       "  account_for_embedding_in_pipeline_split: true\n",
       "deepseek_v3", "pp2 dp8 zero0 stages=30+31"},
      {"model:\n  micro_batch_size: 1\n  pipeline_model_parallel_size: 8\n"
       "  account_for_embedding_in_pipeline_split: true\n"
       "  account_for_loss_in_pipeline_split: true\n",
       "llama3.1_405b", "pp8 dp2 zero0 ends=layers"},
      // 61 + 1 + 1 = 15 x 4 + 3.
      {titan, "deepseek_v3", "pp16 ga8 zero0 recompute=block:2 stages=3+4x14+2 kernels=compiled"},
      {titan + "pipeline_parallel_first_stage_less_layers = 0\n"
               "pipeline_parallel_last_stage_less_layers = 0\n",
       "deepseek_v3", "pp16 ga8 zero0 recompute=block:2 stages=4x13+3x3 kernels=compiled"},
      // 34 = 2 x 9 + 2 x 8, of 4 stages.
      {"[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_layers_per_stage = 9\n"
       "pipeline_parallel_schedule = \"Interleaved1F1B\"\n"
       "pipeline_parallel_first_stage_less_layers = 1\n[training]\nlocal_batch_size = 4",
       "llama3.1_8b",
       "pp2 vp2 dp8 ga4 zero3 recompute=block:4 reshard=off stages=8+9+8+7 kernels=eager"},
      // The first layers of all stages but one; of 32.
      {"[parallelism]\npipeline_parallel_degree = 4\n"
       "pipeline_parallel_split_points = \"layers.7,layers.16,layers.25\"",
       "llama3.1_8b",
       "pp4 dp4 ga8 zero3 recompute=block:4 reshard=off stages=7+9x2+7 kernels=eager"},
      {"[experimental]\npipeline_parallel_degree = 2\n"
       "pipeline_parallel_schedule = \"Interleaved1F1B\"\n"
       "pipeline_parallel_split_points = [\"layers.8\", \"layers.16\", \"layers.24\"]\n"
       "[training]\nbatch_size = 8",
       "llama3.1_8b", "pp2 vp2 dp8 mbs4 ga2 zero3 recompute=block:4 reshard=off kernels=eager"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const ForeignLayout found = stages_read(row.text, 16, row.model);
    CHECK(to_text(found.layout) == row.layout);
    Layout layout = found.layout;
    layout.micro_batches = 32;
    CHECK(misfit_of(load_model(row.model), layout, 4096) == "");
  }
  CHECK(has_note(stages_read(rows[4].text, 16, "deepseek_v3"), "predict further tokens"));
  CHECK(has_note(stages_read("[parallelism]\npipeline_parallel_degree = 2\n", 16, "llama3.1_8b"),
                 "layers are spread evenly, because nothing says otherwise"));
}

TEST_CASE("foreign stages: what is refused") {
  struct Row {
    std::string text;
    std::string sentence;
  };
  const std::string two = "--pipeline-model-parallel-size 2 ";
  const std::string text = "--pipeline-model-parallel-layout ";
  const std::string first = "--decoder-first-pipeline-num-layers ";
  const std::string nemo = "model:\n  micro_batch_size: 1\n  pipeline_model_parallel_size: 2\n  ";
  const std::string titan = "[parallelism]\npipeline_parallel_degree = 2\n";
  const std::vector<Row> rows = {
      {two + first + "0", "expected a whole number from 1 to"},
      {two + first + "-1", "expected a whole number from 1 to"},
      {two + first + "99999999", "expected a whole number from 1 to"},
      {two + first + "3 " + text + "Et*16|t*16L",
       "--pipeline-model-parallel-layout: contradicts decoder-first-pipeline-num-layers"},
      {two + first + "3 --account-for-loss-in-pipeline-split",
       "--account-for-loss-in-pipeline-split: contradicts decoder-first-pipeline-num-layers"},
      {two + first + "3 --num-layers-per-virtual-pipeline-stage 2",
       "goes with --num-virtual-stages-per-pipeline-rank"},
      {two + "--account-for-loss-in-pipeline-split", "the 33 do not divide by the 2 stages"},
      {two + text + "Et*16|t*8|t*8L", "has 3 stages, which do not divide by pp2"},
      {two + text + "Et*8|t*8|t*8|t*8L --num-virtual-stages-per-pipeline-rank 4",
       "has 2 stages a rank, but num-virtual-stages-per-pipeline-rank is 4"},
      {two + text + "Et*8|t*8|t*8|t*8L --num-layers-per-virtual-pipeline-stage 8", "contradicts"},
      {two + text + "Ex|L", "expected stages as in Et*3|(tt|)*29m|L"},
      {nemo + "pipeline_model_parallel_layout: [[embedding, decoder], [decoder, loss]]\n",
       "is a list; give it as text"},
      {nemo + "pipeline_model_parallel_layout:\n    - [embedding, decoder]\n    - [loss]\n",
       "f: line 5: model.pipeline_model_parallel_layout: is a list; give it as text"},
      {titan + "pipeline_parallel_first_stage_less_layers = -1\n", "from 0 to"},
      {titan + "pipeline_parallel_first_stage_less_layers = 40\n",
       "leave no layers for one of them"},
      {titan + "pipeline_parallel_layers_per_stage = 5\n"
               "pipeline_parallel_last_stage_less_layers = 1\n",
       "makes 7 stages of 34 layers"},
      {titan + "module_fqns_per_model_part = [[\"tok_embeddings\"], [\"layers.0\"]]\n",
       "module_fqns_per_model_part: is not modelled"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK_THROWS_WITH_AS(stages_read(row.text, 16, "llama3.1_8b"),
                         doctest::Contains(row.sentence.c_str()), InputError);
  }
  // What is read and does not fit the model is refused as any layout is.
  const ForeignLayout short_one = stages_read(two + text + "Et*2|t*2L", 16, "llama3.1_8b");
  CHECK(misfit_of(load_model("llama3.1_8b"), short_one.layout, 4096)
            .find("are 4 in all, but the model has 32") != std::string::npos);
}

}  // namespace sgdsim
