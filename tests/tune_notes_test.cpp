// What must be known of tuned values: that they alter learning, that they stand at an end of what
// was tried, and that steps with different numbers of samples are not compared by their times.
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "app/schema_check.h"
#include "tests/json_of_run.h"
#include "tests/run_program.h"

namespace sgdsim::tune_notes {
namespace {

using Words = std::vector<std::string>;

const std::string samples_warning = "different numbers of samples in a step";

Words on_v100(const std::string& command, const Words& more) {
  Words words = {command, "resnet50_v100", "-c", "25gbe_16"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Json tuned(Words words) {
  words.insert(words.end(), {"--format", "json"});
  Json json = json_of_run(words);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/tune/1", json).empty());
  return json;
}

bool warns_of_samples(const Words& words) {
  return call_sgdsim(words).log.find(samples_warning) != std::string::npos;
}

}  // namespace

// Less is sent at a lower density, so that the lowest one is the fastest wherever exchanges show.
TEST_CASE("tune: what alters learning is said, and that the best stands at an end") {
  const Words words = {"tune", "app/experiments/alexnet_gtopk_1gbe.json"};
  const Json json = tuned(words);
  CHECK(json["alters_learning"] == Json::array({"compression.density"}));
  CHECK(json["at_end"] == Json::array({{{"field", "compression.density"}, {"end", "least"}}}));
  const std::string text = call_sgdsim(words).out;
  CHECK(text.find("Alters learning (compression.density): it may need more iterations to the same "
                  "loss") != std::string::npos);
  CHECK(text.find("`sgdsim learn`") != std::string::npos);
  CHECK(text.find("compression.density: the best value is the least that was tried") !=
        std::string::npos);
}

TEST_CASE("tune: settings alter no learning, and a best value in the middle is at no end") {
  const Json strategy = tuned(on_v100("tune", {"--axis", "strategy=naive,mg_wfbp"}));
  CHECK_FALSE(strategy.contains("alters_learning"));
  CHECK_FALSE(strategy.contains("at_end"));  // names have no ends
  // Steps of a trace whose scale grows take longer: the least, in whatever order it is written.
  const Json scale = tuned(on_v100("tune", {"--axis", "trace.compute_scale=3,0.5,2"}));
  CHECK(scale["best"]["trace.compute_scale"] == 0.5);
  CHECK(scale["at_end"][0]["end"] == "least");
  // More bandwidth is better, and the largest tried is at the other end.
  const Json nic = tuned(on_v100("tune", {"--axis", "cluster.nic.bandwidth=1Gbps,10Gbps,100Gbps"}));
  CHECK(nic["at_end"][0]["end"] == "largest");
  CHECK_FALSE(nic.contains("is_by_samples"));
  // The same as it stands, by an axis and by the method that is chosen: sending nothing less.
  const Json same = tuned(on_v100("tune", {"--axis", "compression=none"}));
  CHECK_FALSE(same.contains("alters_learning"));
  const Words methods = {"--method", "ddp", "--method", "sparse: compression=gtopk, density=0.001"};
  const auto chosen = [&](const Words& more) {
    Words words = on_v100("tune", methods);
    words.insert(words.end(), more.begin(), more.end());
    return tuned(words);
  };
  // Over 1 Gbit/s 100 MB of gradients take most of a second, and a thousandth of them nearly none;
  // a selection of a microsecond a byte is never worth it.
  const Json slow = chosen({"--set", "cluster.nic.bandwidth=1Gbps"});
  CHECK(slow["best"]["method"] == "sparse");
  CHECK(slow["alters_learning"] == Json::array({"compression", "compression.density"}));
  const Json ddp = tuned(
      on_v100("tune", {"--method", "ddp", "--method",
                       R"(late: compression={"name":"gtopk","selection":{"per_byte":"1 us/B"}})"}));
  CHECK_FALSE(ddp.contains("alters_learning"));
}

// Sixteen nodes take a little longer for a step than two, and train eight times as many samples.
TEST_CASE("tune: steps with different numbers of samples are compared by samples a second") {
  const Json nodes = tuned(on_v100("tune", {"--axis", "cluster.nodes=2,4,16"}));
  CHECK(nodes["best"]["cluster.nodes"] == 16);
  CHECK(nodes["objective"] == "metrics.throughput_samples_per_s");
  CHECK(nodes["is_by_samples"] == true);
  CHECK_FALSE(nodes.contains("alters_learning"));  // as `advise` says of more nodes
  // Exchanges are paid once for all micro-batches: the more of them, the more samples a second.
  const Json passes = tuned(on_v100("tune", {"--axis", "accumulation=1,2,4,8"}));
  CHECK(passes["best"]["accumulation"] == 8);
  CHECK(passes["is_by_samples"] == true);
  CHECK(passes["alters_learning"] == Json::array({"accumulation"}));
  const std::string text = call_sgdsim(on_v100("tune", {"--axis", "accumulation=1,2"})).out;
  CHECK(text.find("By samples a second, because steps have different numbers of samples.") !=
        std::string::npos);
}

TEST_CASE("tune and sweep: step times of different numbers of samples are warned of") {
  const Words axis = {"--axis", "accumulation=1,2,4"};
  const auto with = [&](const std::string& command, const Words& more) {
    Words words = on_v100(command, axis);
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Json json = tuned(with("tune", {"--minimize", "metrics.iteration_us"}));
  CHECK(json["best"]["accumulation"] == 1);
  CHECK(json["warnings"].dump().find(samples_warning) != std::string::npos);
  CHECK(json["warnings"].dump().find("--maximize metrics.throughput_samples_per_s") !=
        std::string::npos);
  CHECK(warns_of_samples(
      with("sweep", {"--minimize", "metrics.iteration_us", "--over", "accumulation"})));
  CHECK_FALSE(warns_of_samples(
      with("sweep", {"--maximize", "metrics.throughput_samples_per_s", "--over", "accumulation"})));
  // Within each number of samples nothing is compared with others.
  CHECK_FALSE(warns_of_samples(with("sweep", {"--axis", "strategy=naive,wfbp", "--minimize",
                                              "metrics.iteration_us", "--over", "strategy"})));
}

TEST_CASE("advise: more micro-batches alter learning, and a step has more samples") {
  const Json advice =
      json_of_run(on_v100("advise", {"--try", "accumulation=4", "--format", "json"}));
  int found = 0;
  for (const Json& line : advice["lines"]) {
    if (line["change"] != "accumulation=4") continue;
    ++found;
    CHECK(line["alters_learning"] == true);
    CHECK(line["needs_hardware"] == false);
    CHECK(line["kinds"] == Json::array({"batch"}));
    CHECK(line.dump().find("each worker has 4 times the samples, so that a step has more") !=
          std::string::npos);
  }
  CHECK(found == 1);
}

}  // namespace sgdsim::tune_notes
