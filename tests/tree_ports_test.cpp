// Blocks along trees in boxes: links inside nodes are ports apart from cards, and an edge is as
// slow as its own way is shared. A worker sends and gets no more than the whole, so that is what
// its card takes, as at fidelity flow.
#include <doctest/doctest.h>

#include "tests/json_of_run.h"

namespace sgdsim {
namespace {

double ms_of(const std::vector<std::string>& more, const char* fidelity) {
  std::vector<std::string> words = {"collective", "-a",    "double_binary_tree", "--format", "json",
                                    "--fidelity", fidelity};
  words.insert(words.end(), more.begin(), more.end());
  return json_of_run(words)["time_us"].get<double>() / 1000;
}

TEST_CASE("trees in boxes: the whole over one card, at fidelity message as at flow") {
  // 100 MB at 50 GB/s, and some 5 % for start-ups and the first blocks.
  const double whole_ms = 2;
  for (const std::vector<std::string>& one :
       {std::vector<std::string>{"-c", "dgx_h100_4", "--op", "reduce", "-n", "100MB"},
        {"-c", "dgx_h100_4", "--op", "broadcast", "-n", "100MB"},
        {"-c", "rails_h100_16", "--set", "pxn=false", "-p", "33", "--op", "reduce", "-n", "100MB"},
        {"-c", "rails_h100_16", "--set", "pxn=false", "-p", "32", "--op", "reduce", "-n",
         "100MB"}}) {
    CAPTURE(one);
    for (const char* fidelity : {"message", "flow"}) {
      CHECK(ms_of(one, fidelity) > whole_ms);
      CHECK(ms_of(one, fidelity) < 1.06 * whole_ms);
    }
  }
  // Both ways, one after the other for the worker with the most to do.
  const std::vector<std::string> all = {"-c", "dgx_h100_4", "-n", "100MB"};
  CHECK(ms_of(all, "message") == doctest::Approx(ms_of(all, "flow")).epsilon(0.01));
}

// Where GPUs relay, some cards carry one and a half times as much as a worker sends.
TEST_CASE("trees in boxes: what is relayed slows down those who share its way, not all") {
  for (const char* ranks : {"32", "33"}) {
    const std::vector<std::string> one = {"-c",   "rails_h100_16", "-p", ranks,
                                          "--op", "reduce",        "-n", "100MB"};
    const double flow_ms = ms_of(one, "flow");
    CHECK(ms_of(one, "message") > flow_ms);
    CHECK(ms_of(one, "message") < 1.5 * flow_ms);
  }
}

// Where a card is shared, three edges of half of the message leave by it; GPUs reach it by their
// links inside the node, which carry what stays there meanwhile.
TEST_CASE("trees in boxes: a shared card takes all edges one after the other") {
  const double three_halves_ms = 1.5 * 10 / 12.5;
  for (const char* fidelity : {"message", "flow"}) {
    const double ms = ms_of({"-c", "pcie4_box_2", "--op", "reduce", "-n", "10MB"}, fidelity);
    CHECK(ms > three_halves_ms);
    CHECK(ms < 1.1 * three_halves_ms);
  }
}

// A chain goes up and down at once; which of two blocks is first at a port moves some start-ups.
TEST_CASE("trees in boxes: lp is as fast at fidelity message as at flow") {
  for (const char* cluster : {"dgx_h100_4", "100gbe_2x8", "aws_p3_2"}) {
    const auto ms = [&](const char* fidelity) {
      return json_of_run({"collective", "-a", "lp", "-c", cluster, "-n", "10MB", "--fidelity",
                          fidelity, "--format", "json"})["time_us"]
          .get<double>();
    };
    CHECK(ms("message") == doctest::Approx(ms("flow")).epsilon(0.03));
  }
}

}  // namespace
}  // namespace sgdsim
