// Choosing counts of ranks, and the sentence about them.
#include "study/fit/fit_held_out.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "study/collective/ranges.h"
#include "study/table.h"

namespace sgdsim {
namespace {

using Counts = std::vector<int64_t>;

// "2, 4, 8".
std::string listed(const Counts& counts) {
  std::string text;
  for (const int64_t count : counts) text += (text.empty() ? "" : ", ") + std::to_string(count);
  return text;
}

// "16", "8 and 16", "32 to 128".
std::string span_text(const Counts& counts) {
  if (counts.size() == 1) return std::to_string(counts.front());
  return std::to_string(counts.front()) + (counts.size() == 2 ? " and " : " to ") +
         std::to_string(counts.back());
}

// "16 ranks (2 nodes)".
std::string count_text(const std::vector<RanksOf>& all) {
  Counts ranks;
  Counts nodes;
  for (const RanksOf& one : all) {
    ranks.push_back(one.ranks);
    if (one.nodes > 0 && (nodes.empty() || nodes.back() != one.nodes)) nodes.push_back(one.nodes);
  }
  std::string text = span_text(ranks) + " ranks";
  if (!nodes.empty()) text += " (" + span_text(nodes) + (nodes == Counts{1} ? " node)" : " nodes)");
  return text;
}

std::vector<RanksOf> each_once(std::vector<RanksOf> all) {
  const auto less = [](const RanksOf& a, const RanksOf& b) { return a.ranks < b.ranks; };
  const auto same = [](const RanksOf& a, const RanksOf& b) { return a.ranks == b.ranks; };
  std::sort(all.begin(), all.end(), less);
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

Counts counts_of(const std::vector<RanksOf>& all) {
  Counts counts;
  for (const RanksOf& one : all) counts.push_back(one.ranks);
  return counts;
}

void hold_larger_half(HeldRanks& answer, std::vector<std::string>& notes) {
  const Counts counts = counts_of(answer.measured);
  if (counts.size() == 1)
    notes.push_back("--holdout ranks: only " + std::to_string(counts.front()) +
                    " ranks were measured, so that none can be held out and nothing was learned "
                    "about more nodes");
  for (std::size_t i = (counts.size() + 1) / 2; i < counts.size(); ++i)
    answer.held.insert(static_cast<int>(counts[i]));
}

// Counts that nobody measured cannot be held out, and something must be left.
void hold_named(const std::string& text, HeldRanks& answer, std::vector<std::string>& notes) {
  const Counts there = counts_of(answer.measured);
  const Counts asked = parse_counts(text, "--holdout");
  Counts missing;
  for (const int64_t ranks : std::set<int64_t>(asked.begin(), asked.end()))
    if (std::find(there.begin(), there.end(), ranks) == there.end())
      missing.push_back(ranks);
    else
      answer.held.insert(static_cast<int>(ranks));
  const std::string none =
      "no series among " + listed(missing) + " ranks was measured; there are: " + listed(there);
  if (answer.held.empty()) throw InputError("--holdout", none);
  if (answer.held.size() == there.size())
    throw InputError("--holdout", "nothing is left to fit; there are: " + listed(there) + " ranks");
  if (!missing.empty()) notes.push_back("--holdout: " + none);
}

}  // namespace

HeldRanks held_ranks(const std::string& holdout, std::vector<RanksOf> measured,
                     std::vector<std::string>& notes) {
  HeldRanks answer{{}, each_once(std::move(measured))};
  if (holdout == "ranks") hold_larger_half(answer, notes);
  if (holdout.starts_with("ranks=")) hold_named(holdout.substr(6), answer, notes);
  return answer;
}

std::string HeldRanks::sentence(const PredictionError& errors) const {
  std::vector<RanksOf> kept;
  std::vector<RanksOf> left_out;
  for (const RanksOf& one : measured) (holds(one.ranks) ? left_out : kept).push_back(one);
  if (kept.empty() || left_out.empty()) return "";
  const bool is_more = left_out.front().ranks > kept.back().ranks;
  const bool has_nodes = kept.back().nodes > 0 && left_out.back().nodes > kept.back().nodes;
  const auto percent = [](double part) { return rounded(part < 1e-9 ? 0 : 100 * part, 3) + " %"; };
  return std::string("about ") + (is_more ? "more " : "other ") + (has_nodes ? "nodes" : "ranks") +
         ": from " + count_text(kept) + ", " + count_text(left_out) + " are predicted within " +
         percent(errors.median) + " in the median, " + percent(errors.p90) +
         " in nine rows of ten and " + percent(errors.max) + " at the most";
}

}  // namespace sgdsim
