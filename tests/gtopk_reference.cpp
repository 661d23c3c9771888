// Selection, merging and the tree, step by step.
#include "tests/gtopk_reference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

namespace sgdsim {
namespace {

bool contains(const SparseVector& list, int index) {
  return std::any_of(list.begin(), list.end(), [&](const SparseEntry& entry) {
    return entry.index == index && entry.value != 0;
  });
}

// A list with, for each of its entries, which workers' selections are summed in it.
struct Traced {
  SparseVector list;
  std::map<int, std::vector<int>> parts;
};

Traced merged(const Traced& a, const Traced& b, int k) {
  Traced sum{merge(a.list, b.list, k), {}};
  for (const Traced* side : {&a, &b})
    for (const auto& [index, workers] : side->parts)
      if (contains(sum.list, index))
        sum.parts[index].insert(sum.parts[index].end(), workers.begin(), workers.end());
  return sum;
}

}  // namespace

SparseVector top_k(SparseVector candidates, int k) {
  std::sort(candidates.begin(), candidates.end(), [](const SparseEntry& a, const SparseEntry& b) {
    if (std::abs(a.value) != std::abs(b.value)) return std::abs(a.value) > std::abs(b.value);
    return a.index < b.index;
  });
  candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(k)));
  return candidates;
}

SparseVector top_k(const DenseVector& vector, int k) {
  SparseVector all;
  for (std::size_t i = 0; i < vector.size(); ++i) all.push_back({static_cast<int>(i), vector[i]});
  return top_k(std::move(all), k);
}

SparseVector merge(const SparseVector& a, const SparseVector& b, int k) {
  SparseVector candidates = a;
  for (SparseEntry entry : b) {
    for (SparseEntry& mine : candidates)
      if (mine.index == entry.index && entry.value != 0) {
        mine.value += entry.value;
        entry.value = 0;
      }
    candidates.push_back(entry);
  }
  return top_k(std::move(candidates), k);
}

GtopkOutcome gtopk(const std::vector<DenseVector>& gradients, int k, PutBack put_back) {
  GtopkOutcome outcome;
  const auto workers = static_cast<int>(gradients.size());
  std::vector<Traced> lists;
  std::vector<SparseVector> selected;
  for (int w = 0; w < workers; ++w) {
    selected.push_back(top_k(gradients[static_cast<std::size_t>(w)], k));
    lists.push_back({selected.back(), {}});
    for (const SparseEntry& entry : selected.back()) lists.back().parts[entry.index] = {w};
  }
  // Participants halve: odd-numbered ones send to the one before them and drop out; one without a
  // partner idles.
  std::vector<int> participants;
  for (int w = 0; w < workers; ++w) participants.push_back(w);
  std::vector<SentList> up;
  int round = 0;
  for (; participants.size() > 1; ++round) {
    std::vector<int> stay;
    for (std::size_t i = 0; i < participants.size(); ++i) {
      const int me = participants[i];
      if (i % 2 == 0) {
        stay.push_back(me);
        continue;
      }
      const int to = stay.back();
      Traced& mine = lists[static_cast<std::size_t>(me)];
      Traced& theirs = lists[static_cast<std::size_t>(to)];
      up.push_back({round, me, to, static_cast<int>(mine.list.size())});
      theirs = merged(theirs, mine, k);
    }
    participants = stay;
  }
  outcome.global = lists.front().list;
  outcome.sent = up;
  // The broadcast runs the same tree backwards.
  for (auto edge = up.rbegin(); edge != up.rend(); ++edge)
    outcome.sent.push_back({2 * round - 1 - edge->round, edge->to, edge->from,
                            static_cast<int>(outcome.global.size())});
  std::stable_sort(outcome.sent.begin(), outcome.sent.end(),
                   [](const SentList& a, const SentList& b) { return a.round < b.round; });
  double magnitude = 0;
  double lost = 0;
  for (int w = 0; w < workers; ++w) {
    DenseVector residual = gradients[static_cast<std::size_t>(w)];
    for (const SparseEntry& entry : selected[static_cast<std::size_t>(w)]) {
      const auto& parts = lists.front().parts;
      const auto survivors = parts.find(entry.index);
      const bool summed = survivors != parts.end() &&
                          std::find(survivors->second.begin(), survivors->second.end(), w) !=
                              survivors->second.end();
      const bool kept =
          put_back == PutBack::survival ? !summed : !contains(outcome.global, entry.index);
      magnitude += std::abs(entry.value);
      if (!kept) residual[static_cast<std::size_t>(entry.index)] = 0;
      if (!kept && !summed) lost += std::abs(entry.value);
    }
    outcome.residuals.push_back(residual);
  }
  outcome.leak = magnitude > 0 ? lost / magnitude : 0;
  return outcome;
}

SparseVector gtopk_butterfly(const std::vector<DenseVector>& gradients, int k) {
  std::vector<SparseVector> lists;
  for (const DenseVector& gradient : gradients) lists.push_back(top_k(gradient, k));
  for (std::size_t distance = 1; distance < lists.size(); distance *= 2) {
    std::vector<SparseVector> next;
    for (std::size_t w = 0; w < lists.size(); ++w)
      next.push_back(merge(lists[w & ~distance], lists[w | distance], k));
    lists = next;
  }
  return lists.front();
}

DenseVector sum_of_selections(const std::vector<DenseVector>& gradients, int k) {
  DenseVector sum(gradients.front().size());
  for (const DenseVector& gradient : gradients)
    for (const SparseEntry& entry : top_k(gradient, k))
      sum[static_cast<std::size_t>(entry.index)] += entry.value;
  return sum;
}

}  // namespace sgdsim
