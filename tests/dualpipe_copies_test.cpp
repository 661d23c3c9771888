// With DualPipe every stage is held twice: what both copies exchange, by hand.
#include <doctest/doctest.h>

#include "models/training/hybrid_step.h"
#include "models/training/memory.h"
#include "models/training/step_on_wires.h"
#include "study/layout/layout_files.h"
#include "tests/cluster_cases.h"
#include "tests/training_cases.h"

using namespace sgdsim;

// Two ranks of the pipeline, which have all parameters each, and as many replicas; 1 ns a byte. A
// reduce-scatter among R sends (R - 1) / R of the gradients, an all-reduce of shards between two
// copies 1 / R of them, and a gather (R - 1) / R: of gradients, or with zero1 of weights of 2 B.
TEST_CASE("dualpipe: copies of a stage exchange shards") {
  constexpr int64_t sequence = 256;
  Transformer model = small_model();
  model.layers = 4;
  model.vocabulary = 1;
  struct Row {
    const char* text;
    double of_parameter_B;
  };
  for (const Row& row :
       {Row{"pp2 dp4 ga4 overlap=off schedule=dualpipe", 4 * (3 / 4. + 1 / 4. + 3 / 4.)},
        Row{"pp2 dp2 ga4 overlap=off schedule=dualpipe", 4 * (1 / 2. + 1 / 2. + 1 / 2.)},
        Row{"pp2 ga4 overlap=off schedule=dualpipe", 4.},
        Row{"pp2 dp4 ga4 overlap=off schedule=dualpipe gradients=bf16",
            2 * (3 / 4. + 1 / 4. + 3 / 4.)},
        Row{"pp2 dp4 ga4 overlap=off schedule=dualpipe zero1",
            4 * (3 / 4. + 1 / 4.) + 2 * 3 / 4.}}) {
    CAPTURE(row.text);
    const Layout layout = parse_layout(row.text, "");
    REQUIRE(misfit_of(model, layout, sequence).empty());
    const Cluster cluster = one_switch(layout.gpus(), "8 Gbps", "1 ns");
    const Gpu gpu = undisturbed("h100");
    const TrainingStep step{model, layout, sequence, gpu, Precision::bf16};
    const double parameters = rank_parameters(model, layout, 0).outside_experts();
    const double expected_s = 1e-9 * row.of_parameter_B * parameters;
    GroupTimes groups(cluster, layout.gpus());
    const double data_s = hybrid_step(step, groups).parts.data;
    CHECK(data_s == doctest::Approx(expected_s).epsilon(1e-3));
    // On wires sends between the stages come on top.
    const Duration all = play_on_wires(step, cluster, groups, {}).step.time;
    const Cluster fast = one_switch(layout.gpus(), "1000 Tbps", "1 ns");
    GroupTimes fast_groups(fast, layout.gpus());
    const Duration computed = play_on_wires(step, fast, fast_groups, {}).step.time;
    CHECK((all - computed).s() >= expected_s * (1 - 1e-3));
    CHECK((all - computed).s() <=
          expected_s + 2e-9 * boundary_B(step) * static_cast<double>(layout.micro_batches + 2));
  }
}
