// gTop-k's data movement on real vectors, and that the simulator plays the same messages.
#include "tests/gtopk_reference.h"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <set>
#include <string>
#include <tuple>

#include "models/collective/registry.h"
#include "sim/core/random.h"

using namespace sgdsim;

namespace {

// Gradients with a common part; `correlation` of their variance is shared.
std::vector<DenseVector> gradients_of(Random& random, int workers, int elements,
                                      double correlation) {
  DenseVector common;
  for (int i = 0; i < elements; ++i) common.push_back(random.normal(0, 1));
  std::vector<DenseVector> gradients(static_cast<std::size_t>(workers));
  for (DenseVector& gradient : gradients)
    for (int i = 0; i < elements; ++i)
      gradient.push_back(std::sqrt(correlation) * common[static_cast<std::size_t>(i)] +
                         std::sqrt(1 - correlation) * random.normal(0, 1));
  return gradients;
}

std::set<int> indices_of(const SparseVector& list) {
  std::set<int> indices;
  for (const SparseEntry& entry : list)
    if (entry.value != 0) indices.insert(entry.index);
  return indices;
}

std::string text_of(const std::vector<SentList>& sent, int rounds) {
  std::string text;
  int round = 0;
  for (const SentList& one : sent) {
    if (one.round >= rounds) break;
    text += one.round == round ? text.empty() ? "" : " " : "; ";
    round = one.round;
    text += std::to_string(one.to) + "<" + std::to_string(one.from);
  }
  return text;
}

}  // namespace

TEST_CASE("gTop-k: who sends to whom among eight") {
  Random random(1);
  const GtopkOutcome outcome = gtopk(gradients_of(random, 8, 50, 0), 3, PutBack::global_absence);
  CHECK(text_of(outcome.sent, 3) == "0<1 2<3 4<5 6<7; 0<2 4<6; 0<4");
}

TEST_CASE("gTop-k: the simulated messages are those of the algorithm, for any number of workers") {
  Random random(2);
  constexpr int k = 4;
  constexpr int entry_B = 8;
  const Algorithm& tree = algorithm_named("mst", "");
  for (int workers = 2; workers <= 33; ++workers) {
    CAPTURE(workers);
    const GtopkOutcome outcome =
        gtopk(gradients_of(random, workers, 60, 0.3), k, PutBack::global_absence);
    CollectiveJob job;
    job.team = {.size = workers, .stride = 1};
    job.share = {.total = Bytes(k * entry_B), .fractional = false, .split = {}};
    std::vector<SentList> played;
    int before = 0;
    for (const Stage& stage : schedule_of(tree, job).stages) {
      const auto& phase = std::get<Phase>(stage);
      for (int round = 0; round < phase.rounds; ++round)
        phase.for_each_one_way(round, [&](int from, int to) {
          const double size_B = phase.sent_B(round, from, 0);
          played.push_back({before + round, from, to, static_cast<int>(size_B / entry_B)});
        });
      before += phase.rounds;
    }
    REQUIRE(played.size() == outcome.sent.size());
    CHECK(static_cast<int>(played.size()) == 2 * (workers - 1));
    auto order = [](const SentList& a, const SentList& b) {
      return std::tie(a.round, a.from, a.to) < std::tie(b.round, b.from, b.to);
    };
    std::vector<SentList> expected = outcome.sent;
    std::sort(played.begin(), played.end(), order);
    std::sort(expected.begin(), expected.end(), order);
    for (std::size_t i = 0; i < played.size(); ++i) {
      CHECK(played[i].round == expected[i].round);
      CHECK(played[i].from == expected[i].from);
      CHECK(played[i].to == expected[i].to);
      CHECK(played[i].entries == expected[i].entries);
    }
  }
}

// Two workers merge once; selections of the same indices never compete below the root; and lists
// that together have no more than k indices lose nothing.
TEST_CASE("gTop-k equals the exact top-k of the sum where nothing is dropped below the root") {
  Random random(3);
  constexpr int k = 5;
  auto check_exact = [&](const std::vector<DenseVector>& gradients) {
    const GtopkOutcome outcome = gtopk(gradients, k, PutBack::global_absence);
    const SparseVector exact = top_k(sum_of_selections(gradients, k), k);
    CHECK(indices_of(outcome.global) == indices_of(exact));
    CHECK(outcome.leak == 0);
  };
  for (int i = 0; i < 100; ++i) check_exact(gradients_of(random, 2, 40, random.uniform()));
  for (int workers = 2; workers <= 17; ++workers) {
    std::vector<DenseVector> alike = gradients_of(random, workers, 40, 0);
    for (DenseVector& gradient : alike)
      for (int i = 0; i < k; ++i) gradient[static_cast<std::size_t>(3 * i)] = 10 + i;
    check_exact(alike);
    std::vector<DenseVector> few(static_cast<std::size_t>(workers), DenseVector(40));
    for (DenseVector& gradient : few)
      for (int i = 0; i < k; ++i)
        if (random.below(2) == 0) gradient[static_cast<std::size_t>(7 * i)] = random.normal(0, 1);
    check_exact(few);
  }
}

TEST_CASE(
    "gTop-k: survival puts everything back, global absence leaks, and more so if correlated") {
  Random random(4);
  constexpr int k = 20;
  constexpr int elements = 1000;
  for (const int workers : {3, 4, 8, 13, 32}) {
    CAPTURE(workers);
    double leak[2] = {0, 0};
    for (int i = 0; i < 20; ++i)
      for (const int correlated : {0, 1}) {
        const auto gradients = gradients_of(random, workers, elements, correlated == 1 ? 0.5 : 0);
        const GtopkOutcome kept = gtopk(gradients, k, PutBack::survival);
        CHECK(kept.leak == 0);
        for (int e = 0; e < elements; ++e) {
          const auto at = static_cast<std::size_t>(e);
          double before = 0;
          double after = 0;
          for (const DenseVector& gradient : gradients) before += gradient[at];
          for (const DenseVector& residual : kept.residuals) after += residual[at];
          for (const SparseEntry& entry : kept.global)
            if (entry.index == e) after += entry.value;
          CHECK(std::abs(before - after) < 1e-9);
        }
        const GtopkOutcome published = gtopk(gradients, k, PutBack::global_absence);
        CHECK(published.leak >= 0);
        leak[correlated] += published.leak / 20;
      }
    MESSAGE("P = ", workers, ": delivered by mistake ", 100 * leak[0], " % uncorrelated, ",
            100 * leak[1], " % at correlation 0.5");
    CHECK(leak[1] > leak[0]);
    CHECK(leak[1] > 0);
  }
}

TEST_CASE("gTop-k: the butterfly gives what the tree gives, and density 1 is the dense sum") {
  Random random(5);
  for (const int workers : {2, 4, 8, 16}) {
    const auto gradients = gradients_of(random, workers, 60, 0.4);
    CHECK(indices_of(gtopk_butterfly(gradients, 6)) ==
          indices_of(gtopk(gradients, 6, PutBack::survival).global));
    const GtopkOutcome everything = gtopk(gradients, 60, PutBack::global_absence);
    const DenseVector sums = sum_of_selections(gradients, 60);
    REQUIRE(everything.global.size() == 60);
    for (const SparseEntry& entry : everything.global) {
      double dense = 0;
      for (const DenseVector& gradient : gradients)
        dense += gradient[static_cast<std::size_t>(entry.index)];
      CHECK(std::abs(entry.value - dense) < 1e-9);
      CHECK(std::abs(sums[static_cast<std::size_t>(entry.index)] - dense) < 1e-9);
    }
    for (const DenseVector& residual : everything.residuals)
      for (const double value : residual) CHECK(value == 0);
  }
}
