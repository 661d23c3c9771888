// Collectives as each of their ranks saw them, joined: what the last rank to come measured is the
// transfer, and what the others measured beyond it is their wait for the last.
//
// So the least time over the ranks counts. If the files of some ranks are missing, so may that of
// the last, and the least time holds a wait; a note says how often that is so.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "traces/measurement/measurement.h"

namespace sgdsim {

// What the entries of one series have in common.
struct JoinedKind {
  std::string operation;
  std::string algorithm;
  std::string type;
  std::string group;
  int ranks = 0;
  auto operator<=>(const JoinedKind&) const = default;
};

// One collective on one rank, or one end of a copy.
struct RankEntry {
  uint32_t kind = 0;    // as RankJoin::kind_of numbers it
  uint64_t number = 0;  // in the order of its group
  uint64_t part = 0;    // of those with one number: which; of copies: from whom to whom
  int32_t rank = 0;
  Bytes copied;  // of copies: the size, because only messages of one size may be the same
  Bytes size;
  Duration time;
  int64_t start_us = 0;  // when it began there, by the clock of that rank; 0: not stated
  int64_t stop_us = 0;
};

class RankJoin {
 public:
  uint32_t kind_of(const JoinedKind& kind);
  const JoinedKind& kind(uint32_t number) const { return kinds_[number]; }
  void add(const RankEntry& entry) { entries_.push_back(entry); }
  bool empty() const { return entries_.empty(); }
  const std::vector<RankEntry>& entries() const { return entries_; }

  // Adds the series, and notes of what was left out and of who comes last.
  void finish(Measurement& measurement);

 private:
  struct Span {
    std::size_t from = 0;
    std::size_t to = 0;
  };
  struct Counts {
    int64_t repeated = 0;
    int64_t contradicting = 0;
    int64_t incomplete = 0;
    int64_t copies = 0;
    int64_t all = 0;
  };

  void drop_repeated(Counts& counts);
  std::vector<Span> spans() const;  // of entries of the same collective
  void add_series(const std::vector<Span>& spans, Counts& counts, Measurement& measurement) const;
  void add_late_notes(const std::vector<Span>& spans, Measurement& measurement) const;

  std::vector<JoinedKind> kinds_;
  std::map<JoinedKind, uint32_t> numbers_;
  std::vector<RankEntry> entries_;
};

// "3 lines" and alike.
std::string counted(int64_t count, const std::string& noun);

}  // namespace sgdsim
