// Refusals of names say which one is meant.
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/json.h"
#include "tests/run_program.h"

using namespace sgdsim;

TEST_CASE("names: a beginning of some, and a field by the word that people try, are understood") {
  const std::vector<std::string> known = {"bert_base", "bert_large", "vgg16", "v1"};
  CHECK(unknown_name("trace", "BERT", known)
            .starts_with(
                "unknown trace \"BERT\" (did you mean \"bert_base\" or \"bert_large\"?); known: "));
  CHECK(unknown_name("trace", "be", known).starts_with("unknown trace \"be\"; known: "));
  CHECK(unknown_name("trace", "", known).starts_with("unknown trace \"\"; known: "));
  CHECK(unknown_name("x", "aaa", {"aaabcde1", "aaabcde2", "aaabcde3", "aaabcde4", "aaabcde5"})
            .starts_with("unknown x \"aaa\"; known: "));  // too many to mean one
  CHECK(unknown_name("option", "--seq", {"--set", "--sequence"})
            .starts_with("unknown option \"--seq\" (did you mean \"--sequence\"?); known: "));
  const auto refusal = [](std::vector<std::string> more) {
    std::vector<std::string> words = {more[0], "resnet50_v100", "-c", "10gbe_16"};
    words.insert(words.end(), more.begin() + 1, more.end());
    const Ran ran = run_sgdsim(words);
    CHECK(ran.exit_code == 2);
    return ran.log;
  };
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows = {
      {{"run", "--set", "nodes=64"}, "unknown field \"nodes\" (did you mean cluster.nodes?)"},
      {{"run", "--set", "batch=64"}, "unknown field \"batch\" (did you mean trace.batch?)"},
      {{"run", "--set", "cluster.bandwidth=5Gbps"},
       "unknown field \"bandwidth\" (did you mean cluster.nic.bandwidth?)"},
      {{"plan", "--nics-per-node", "2"}, "write --set cluster.nics_per_node=2"},
      {{"tune", "--axis", "nodes=2,4"}, "unknown field \"nodes\" (did you mean cluster.nodes?)"},
      {{"run", "--set", "strategy=horovod", "--set", "strategy.preset=2018"},
       R"(got the number 2018; write 'strategy.preset="2018"')"}};
  const Ran layout = run_sgdsim({"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--zero", "3"});
  CHECK(layout.log.find("write --layout \"zero3 ...\", or --with zero3 for a search") !=
        std::string::npos);
  const Ran nodes = run_sgdsim({"collective", "-c", "10gbe_16", "-n", "1MB", "--nodes=4"});
  CHECK(nodes.log.find("there is no option --nodes: write --set nodes=4") != std::string::npos);
  for (const auto& row : rows) {
    const std::string log = refusal(row.first);
    CAPTURE(log);
    CHECK(log.find(row.second) != std::string::npos);
  }
}
