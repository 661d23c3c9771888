// Sorting entries so that those of one collective stand together, and reading each such span.
#include "traces/measurement/joined_ranks.h"

#include <algorithm>

#include "sim/core/nearest_rank.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

auto place_of(const RankEntry& entry) {
  return std::tuple(entry.kind, entry.number, entry.part, entry.copied);
}

constexpr std::size_t most_late_notes = 20;

// How often each rank of a group came last, and how long after the first.
struct Lateness {
  bool has_stamps = true;  // in all of its collectives
  int64_t collectives = 0;
  std::map<int32_t, std::vector<double>> offsets_us;  // of a rank's clock, by collective
  std::map<int32_t, std::vector<double>> lags_us;     // when the rank was last
};

// When the ranks came, on one clock. The stop stamps of a collective nearly coincide, so that they
// tell how far clocks are apart. Without stamps who comes last has the shortest time.
double arrival_us(const RankEntry& entry, const Lateness& of) {
  if (!of.has_stamps) return -entry.time.us();
  return static_cast<double>(entry.start_us) - median_of(of.offsets_us.at(entry.rank));
}

// Where several came last equally often, none of them is named as the one.
std::string tied_note(const std::vector<int32_t>& tied, std::size_t times, const Lateness& of) {
  constexpr std::size_t most = 4;
  std::string text = "none came last most often: ";
  if (tied.size() > most) text += std::to_string(tied.size()) + " ranks";
  for (std::size_t i = 0; i < tied.size() && tied.size() <= most; ++i)
    text += (i == 0 ? "ranks " : i + 1 == tied.size() ? " and " : ", ") + std::to_string(tied[i]);
  return text + " did in " + std::to_string(times) + " of " +
         counted(of.collectives, "collective") + " each";
}

std::string late_note(const std::string& group, int ranks, const Lateness& of) {
  std::vector<int32_t> last;  // most often
  std::size_t times = 0;
  for (const auto& [rank, lags_us] : of.lags_us) {
    if (lags_us.size() > times) last.clear();
    times = std::max(times, lags_us.size());
    if (lags_us.size() == times) last.push_back(rank);
  }
  if (last.empty()) return "";
  const std::string who =
      (group.empty() ? std::string() : group + ": ") + "of " + std::to_string(ranks) + " ranks, ";
  if (last.size() > 1) return who + tied_note(last, times, of);
  return who + "rank " + std::to_string(last[0]) + " came last most often, in " +
         std::to_string(times) + " of " + counted(of.collectives, "collective") +
         ", in the median " +
         to_text(Duration::nearest_ps(median_of(of.lags_us.at(last[0])) * 1e6)) +
         " after the first (" +
         (of.has_stamps ? "start stamps, clocks aligned by the stop stamps"
                        : "whoever comes last has the shortest time") +
         ")";
}

}  // namespace

std::string counted(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

uint32_t RankJoin::kind_of(const JoinedKind& kind) {
  const auto [place, is_new] = numbers_.try_emplace(kind, static_cast<uint32_t>(kinds_.size()));
  if (is_new) kinds_.push_back(kind);
  return place->second;
}

// Of a rank that appears twice in a collective the first entry stays.
void RankJoin::drop_repeated(Counts& counts) {
  std::stable_sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
    return std::tuple(place_of(a), a.rank) < std::tuple(place_of(b), b.rank);
  });
  const auto end = std::unique(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
    return place_of(a) == place_of(b) && a.rank == b.rank;
  });
  counts.repeated = entries_.end() - end;
  entries_.erase(end, entries_.end());
}

std::vector<RankJoin::Span> RankJoin::spans() const {
  std::vector<Span> all;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (i == 0 || place_of(entries_[i]) != place_of(entries_[i - 1])) all.push_back({i, i});
    all.back().to = i + 1;
  }
  return all;
}

void RankJoin::add_series(const std::vector<Span>& spans, Counts& counts,
                          Measurement& measurement) const {
  std::vector<Series> series(kinds_.size());
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    series[i].operation = kinds_[i].operation;
    series[i].algorithm = kinds_[i].algorithm;
    series[i].type = kinds_[i].type;
    series[i].ranks = kinds_[i].ranks;
    series[i].group = kinds_[i].group;
  }
  for (const Span& span : spans) {
    const RankEntry& first = entries_[span.from];
    MeasuredPoint point{first.size, first.time};
    bool agrees = true;
    for (std::size_t i = span.from; i < span.to; ++i) {
      agrees = agrees && entries_[i].size == first.size;
      point.time = std::min(point.time, entries_[i].time);
    }
    const bool is_whole = span.to - span.from == static_cast<std::size_t>(kinds_[first.kind].ranks);
    if (!agrees) {
      ++counts.contradicting;
      continue;
    }
    const bool is_copy = kinds_[first.kind].operation == "copy";
    ++(is_copy ? counts.copies : counts.all);
    if (!is_copy && !is_whole) ++counts.incomplete;
    series[first.kind].points.push_back(point);
  }
  for (Series& one : series) measurement.series.push_back(std::move(one));
}

void RankJoin::add_late_notes(const std::vector<Span>& spans, Measurement& measurement) const {
  using Group = std::pair<std::string, int>;
  std::map<Group, Lateness> all;
  const auto of_span = [&](const Span& span) -> Lateness* {
    const JoinedKind& kind = kinds_[entries_[span.from].kind];
    const bool counts = kind.operation != "copy" && span.to - span.from > 1;
    return counts ? &all[{kind.group, kind.ranks}] : nullptr;
  };
  for (const Span& span : spans) {
    Lateness* const of = of_span(span);
    if (of == nullptr) continue;
    ++of->collectives;
    std::vector<double> stops_us;
    for (std::size_t i = span.from; i < span.to; ++i) {
      of->has_stamps = of->has_stamps && entries_[i].start_us > 0 && entries_[i].stop_us > 0;
      stops_us.push_back(static_cast<double>(entries_[i].stop_us));
    }
    const double middle_us = median_of(stops_us);
    for (std::size_t i = span.from; i < span.to; ++i)
      of->offsets_us[entries_[i].rank].push_back(static_cast<double>(entries_[i].stop_us) -
                                                 middle_us);
  }
  for (auto& [group, of] : all)
    for (auto& [rank, offsets_us] : of.offsets_us) offsets_us = {median_of(offsets_us)};
  for (const Span& span : spans) {
    Lateness* const of = of_span(span);
    if (of == nullptr) continue;
    std::vector<std::pair<double, int32_t>> arrivals;
    for (std::size_t i = span.from; i < span.to; ++i)
      arrivals.emplace_back(arrival_us(entries_[i], *of), entries_[i].rank);
    std::sort(arrivals.begin(), arrivals.end());
    const auto& last = arrivals.back();
    if (last.first > arrivals[arrivals.size() - 2].first)
      of->lags_us[last.second].push_back(last.first - arrivals.front().first);
  }
  std::size_t notes = 0;
  for (const auto& [group, of] : all) {
    const std::string note = late_note(group.first, group.second, of);
    if (!note.empty() && ++notes <= most_late_notes) measurement.notes.push_back(note);
  }
  if (notes > most_late_notes)
    measurement.notes.push_back("who comes last in " +
                                counted(static_cast<int64_t>(notes - most_late_notes), "group") +
                                " more is not listed");
}

void RankJoin::finish(Measurement& measurement) {
  Counts counts;
  drop_repeated(counts);
  const std::vector<Span> all = spans();
  add_series(all, counts, measurement);
  const auto note = [&](int64_t count, const std::string& noun, const std::string& text) {
    if (count > 0) measurement.notes.push_back(counted(count, noun) + text);
  };
  note(counts.repeated, "repeat", " dropped: the same rank and collective occurred before");
  note(counts.contradicting, "collective", " dropped: ranks name different sizes");
  note(counts.incomplete, "collective",
       " of " + std::to_string(counts.all) +
           " without an entry of every rank: the time may hold the wait for one that is missing");
  note(counts.copies, "message", " between two ranks: the time may hold the wait for the other");
  add_late_notes(all, measurement);
}

}  // namespace sgdsim
