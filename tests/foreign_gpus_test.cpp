// On how many GPUs files of other programs say that they run: lists of them, what cannot be read,
// and what a refusal says where nobody says it.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

ForeignLayout on_gpus(const std::string& text, int64_t gpus = 0) {
  return foreign_layout(FlatSettings::read(text, "f"), {.given = gpus, .usual = 32, .of_node = 8},
                        load_model("llama3.1_70b"));
}

std::string nemo_on(const std::string& nodes, const std::string& devices) {
  return "trainer:\n  num_nodes: " + nodes + "\n  devices: " + devices +
         "\nmodel:\n  tensor_model_parallel_size: 8\n  micro_batch_size: 1\n";
}

std::string torchrun_on(const std::string& counts) {
  return "torchrun " + counts + " pretrain_gpt.py --tensor-model-parallel-size 8 --bf16\n";
}

}  // namespace

TEST_CASE("foreign GPUs: a list of devices has as many as it names") {
  // Lightning takes a number, a list, or a text of a list.
  for (const std::string devices : {"8", "[0, 1, 2, 3, 4, 5, 6, 7]", "\"0,1,2,3,4,5,6,7\"",
                                    "\n  - 0\n  - 1\n  - 2\n  - 3\n  - 4\n  - 5\n  - 6\n  - 7"}) {
    INFO(devices);
    CHECK(on_gpus(nemo_on("2", devices)).layout.gpus() == 16);
  }
  CHECK(on_gpus(torchrun_on("--nnodes=4:4 --nproc-per-node 8")).layout.gpus() == 32);
}

TEST_CASE("foreign GPUs: what cannot be read is refused, unless --gpus says it") {
  using Rows = std::vector<std::pair<std::string, std::string>>;
  for (const auto& [text, where] :
       Rows{{nemo_on("2", "-1"), "f: line 3: trainer.devices: is -1"},
            {nemo_on("2", "auto"), "f: line 3: trainer.devices: is auto"},
            {nemo_on("2", "${oc.env:GPUS}"), "f: line 3: trainer.devices: is ${oc.env:GPUS}"},
            {nemo_on("${oc.env:NODES}", "8"), "f: line 2: trainer.num_nodes: is ${oc.env:NODES}"},
            {torchrun_on("--nnodes=1:4 --nproc-per-node 8"), "f: line 1: --nnodes: is 1:4"},
            {torchrun_on("--nnodes=2 --nproc-per-node gpu"),
             "f: line 1: --nproc-per-node: is gpu"}}) {
    const std::string file = text;
    INFO(file);
    CHECK(refusal_of([&file] { on_gpus(file); }) ==
          where + ", so that the number of GPUs is not known; give --gpus");
    CHECK(on_gpus(file, 64).layout.gpus() == 64);
  }
}

TEST_CASE("foreign GPUs: a refusal says whose number it is") {
  const std::string pipeline = " --pipeline-model-parallel-size 6\n";
  const std::string whose = "those of the cluster, because the ";
  CHECK(refusal_of([&] { on_gpus("--tensor-model-parallel-size 8" + pipeline); }) ==
        "f: tp x pp x cp is 48, by which 32 GPUs do not divide; they are " + whose +
            "script names none: --gpus N says how many there are");
  CHECK(holds(refusal_of([&] { on_gpus("model:\n  tensor_model_parallel_size: 3\n"); }),
              "32 GPUs do not divide; they are " + whose + "file names none: --gpus N says"));
  // 32 / 8 = 4 replicas.
  CHECK(holds(refusal_of([&] { on_gpus("--tensor-model-parallel-size 8 --global-batch-size 6"); }),
              "--global-batch-size: is 6, which does not divide by 4, dp x mbs on 32 GPUs; they "
              "are " +
                  whose));
  // What the user or the script says needs no such words.
  CHECK(refusal_of([&] { on_gpus("--tensor-model-parallel-size 8" + pipeline, 64); }) ==
        "f: tp x pp x cp is 48, by which 64 GPUs do not divide");
}

}  // namespace sgdsim
