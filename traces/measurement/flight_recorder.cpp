// Dumps of PyTorch's Flight Recorder: what each rank called in each process group, one file a rank,
// as a pickle or as JSON.
//
// Only `duration_ms` is a duration, and a job has it only with TORCH_NCCL_ENABLE_TIMING=1: the
// stamps time_discovered_* say when a thread looked. Without it the dumps still tell which rank has
// not entered what the others have.
#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/json.h"
#include "traces/json_members.h"
#include "traces/measurement/dumped_groups.h"
#include "traces/measurement/joined_ranks.h"
#include "traces/measurement/message_ends.h"
#include "traces/measurement/nccl_rows.h"
#include "traces/measurement/pickle.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

struct ElementSize {
  std::string_view type;
  int64_t bytes = 0;
};

// As c10 names them, in lower case.
constexpr std::array<ElementSize, 17> element_sizes{{{"float", 4},
                                                     {"half", 2},
                                                     {"bfloat16", 2},
                                                     {"double", 8},
                                                     {"long", 8},
                                                     {"int", 4},
                                                     {"short", 2},
                                                     {"char", 1},
                                                     {"byte", 1},
                                                     {"bool", 1},
                                                     {"float8_e4m3fn", 1},
                                                     {"float8_e5m2", 1},
                                                     {"float8_e4m3fnuz", 1},
                                                     {"float8_e5m2fnuz", 1},
                                                     {"complexhalf", 4},
                                                     {"complexfloat", 8},
                                                     {"complexdouble", 16}}};

constexpr int64_t most_bytes = int64_t{1} << 62;

int64_t bytes_of_type(const std::string& type) {
  for (const ElementSize& one : element_sizes)
    if (one.type == type) return one.bytes;
  return 0;
}

// The tensors of one side of an entry. Empty if a size or a type is not known or too large.
struct Tensors {
  int64_t bytes = 0;
  std::string type;  // of the first
};

std::optional<Tensors> tensors_of(const Json& entry, const std::string& side) {
  const auto sizes = entry.find(side + "_sizes");
  const auto types = entry.find(side + "_dtypes");
  if (sizes == entry.end() || types == entry.end() || !sizes->is_array() || !types->is_array() ||
      types->size() > sizes->size() || (types->empty() && !sizes->empty()))
    return std::nullopt;
  Tensors answer;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    const Json& type = (*types)[std::min(i, types->size() - 1)];
    if (!type.is_string() || !(*sizes)[i].is_array()) return std::nullopt;
    const std::string name = lower(type.get<std::string>());
    int64_t bytes = bytes_of_type(name);
    if (bytes == 0) return std::nullopt;
    for (const Json& length : (*sizes)[i]) {
      const auto count = whole_field(length, 0, INT64_MAX);
      if (!count || __builtin_mul_overflow(bytes, *count, &bytes)) return std::nullopt;
    }
    if (__builtin_add_overflow(answer.bytes, bytes, &answer.bytes)) return std::nullopt;
    if (i == 0) answer.type = name;
  }
  return answer.bytes <= most_bytes ? std::optional(answer) : std::nullopt;
}

// The size in the words of nccl-tests; 0 where input and output contradict the ranks.
int64_t message_bytes(const std::string& operation, int64_t in_B, int64_t out_B, int64_t ranks) {
  const auto times_ranks = [&](int64_t bytes) {
    int64_t all_B = 0;
    const bool overflows = __builtin_mul_overflow(bytes, ranks, &all_B);
    return overflows || all_B > most_bytes ? 0 : all_B;
  };
  if (operation == "allgather") return times_ranks(in_B) == out_B ? out_B : 0;
  if (operation == "reduce_scatter") return times_ranks(out_B) == in_B ? in_B : 0;
  if (operation == "gather") return times_ranks(in_B);
  if (operation == "scatter") return times_ranks(out_B);
  return operation == "copy" ? std::max(in_B, out_B) : in_B;
}

// "nccl:send 1->2" and "nccl:recv 3<-0".
struct Ends {
  int64_t from = 0;
  int64_t to = 0;
};

std::optional<Ends> ends_of(std::string_view name) {
  const std::size_t blank = name.find(' ');
  const std::size_t arrow = name.find_first_of("-<");
  if (blank == std::string_view::npos || arrow == std::string_view::npos || arrow < blank ||
      arrow + 2 > name.size())
    return std::nullopt;
  const auto left = whole_word(name.substr(blank + 1, arrow - blank - 1));
  const auto right = whole_word(name.substr(arrow + 2));
  if (!left || !right || *left >= most_measured_ranks || *right >= most_measured_ranks)
    return std::nullopt;
  return name[arrow] == '-' ? Ends{*left, *right} : Ends{*right, *left};
}

bool is_completed(const Json& entry) {
  const std::string state = text_member(entry, "state");
  return state.empty() || state == "completed";
}

// "nccl_trace_rank_3", "rank3.json" and "dump.3" are of rank 3.
std::optional<int> rank_in(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string ending = path.extension().string();
  const bool is_number =
      ending.size() > 1 && ending.find_first_not_of("0123456789", 1) == std::string::npos;
  const std::string stem = (is_number ? path.filename() : path.stem()).string();
  const std::size_t last = stem.find_last_not_of("0123456789");
  const auto number = whole_word(stem.substr(last == std::string::npos ? 0 : last + 1));
  if (!number || *number >= most_measured_ranks) return std::nullopt;
  return static_cast<int>(*number);
}

// What an entry says that it called.
struct Called {
  std::string name;  // "send 0->1", "all_reduce"
  std::optional<Ends> ends;
  bool is_copy = false;
  std::string operation;  // empty: not known here
};

Called called_in(const Json& entry) {
  const std::string text = text_member(entry, "profiling_name");
  Called called;
  called.name = text.substr(text.find(':') + 1);
  called.ends = ends_of(called.name);
  called.is_copy = called.name.starts_with("send ") || called.name.starts_with("recv ");
  if (called.is_copy) {
    if (called.ends) called.operation = "copy";
  } else if (called.name.find("barrier") == std::string::npos) {
    called.operation = nccl_operation_in(lower(called.name));
    if (called.operation == "copy") called.operation.clear();
  }
  return called;
}

class FlightReader {
 public:
  void read(const MeasuredText& text, int rank);
  void finish(const std::string& file, Measurement& measurement);

 private:
  void read_entry(const Json& entry, int rank, std::optional<int> told_ranks);
  std::optional<RankEntry> read_time(const Json& entry, const Called& called,
                                     const DumpedGroup& group, int rank, int ranks);
  void add_message(const Json& entry, const Called& called, const DumpedGroup& group, int rank,
                   const std::optional<RankEntry>& measured);
  bool has_all_of(const Json& entry, const std::string& group);

  DumpedGroups groups_;
  RankJoin join_;
  MessageEnds messages_;
  std::map<std::string, bool> whole_groups_;  // of this dump: whether their first call is in it
  int64_t of_dump_ = 0;                       // entries of this dump
  std::map<std::tuple<std::string, uint64_t, std::string>, uint64_t> occurrences_;  // in this dump
  int64_t entries_ = 0;
  int64_t no_time_ = 0;
  int64_t broken_ = 0;
  int64_t other_ = 0;
  int64_t no_size_ = 0;
  int64_t no_ranks_ = 0;
};

std::optional<RankEntry> FlightReader::read_time(const Json& entry, const Called& called,
                                                 const DumpedGroup& group, int rank, int ranks) {
  const auto ms = entry.find("duration_ms");
  if (ms == entry.end() || !ms->is_number() || !is_completed(entry)) {
    ++no_time_;
    return std::nullopt;
  }
  if (called.operation.empty()) {
    ++other_;
    return std::nullopt;
  }
  const auto in = tensors_of(entry, "input");
  const auto out = tensors_of(entry, "output");
  const int64_t bytes =
      in && out ? message_bytes(called.operation, in->bytes, out->bytes, ranks) : 0;
  const auto number =
      whole_member(entry, called.is_copy ? "p2p_seq_id" : "collective_seq_id", 0, INT64_MAX);
  const auto time = measured_time(ms->get<double>() * 1e3);
  if (bytes == 0 || !time || !number) {
    ++(bytes == 0 ? no_size_ : broken_);
    return std::nullopt;
  }
  const std::string& type = in->type.empty() ? out->type : in->type;
  RankEntry one;
  one.kind = join_.kind_of({called.operation, "", type, group.label, called.is_copy ? 2 : ranks});
  one.number = static_cast<uint64_t>(*number);
  one.rank = rank;
  one.size = Bytes(bytes);
  one.time = *time;
  return one;
}

// The buffer keeps the latest entries: the first call of a group that is numbered 1 is its first
// one, unless others of the same number may have been before it.
bool FlightReader::has_all_of(const Json& entry, const std::string& group) {
  const auto [found, is_new] = whole_groups_.try_emplace(group, true);
  if (!is_new) return found->second;
  const auto record = whole_member(entry, "record_id", 0, INT64_MAX);
  const auto number = whole_member(entry, "p2p_seq_id", 0, INT64_MAX);
  const bool is_oldest = of_dump_ == 1;
  found->second = (is_oldest && record) ? *record == 0 : number.value_or(0) <= 1;
  return found->second;
}

// What was not measured counts as well: it has its place in the order.
void FlightReader::add_message(const Json& entry, const Called& called, const DumpedGroup& group,
                               int rank, const std::optional<RankEntry>& measured) {
  MessageEnd end;
  end.is_completed = is_completed(entry);
  end.is_measured = measured.has_value();
  if (measured) {
    end.entry = *measured;
    end.entry.part =
        static_cast<uint64_t>(called.ends->from) << 32U | static_cast<uint64_t>(called.ends->to);
    end.entry.copied = end.entry.size;
  }
  messages_.add({group.label, called.ends->from, called.ends->to}, called.name.starts_with("send "),
                rank, has_all_of(entry, group.label), end);
}

void FlightReader::read_entry(const Json& entry, int rank, std::optional<int> told_ranks) {
  ++entries_;
  ++of_dump_;
  const DumpedGroup* const group = entry.is_object() ? groups_.enter(entry, rank) : nullptr;
  if (group == nullptr) {
    ++broken_;
    return;
  }
  const int ranks =
      group->ranks.empty() ? told_ranks.value_or(0) : static_cast<int>(group->ranks.size());
  if (ranks <= 0) {
    ++no_ranks_;
    return;
  }
  const Called called = called_in(entry);
  std::optional<RankEntry> measured = read_time(entry, called, *group, rank, ranks);
  if (called.is_copy && called.ends) {
    add_message(entry, called, *group, rank, measured);
  } else if (measured) {
    measured->part = occurrences_[{group->label, measured->number, called.name}]++;
    join_.add(*measured);
  }
}

void FlightReader::read(const MeasuredText& text, int rank) {
  const bool is_json = first_of_json(text.text) == '{';
  const Json whole =
      is_json ? foreign_json(text.text, text.file) : read_pickle(text.text, text.file, "frames");
  const Value root(whole, text.file, "");
  const Json& json = root.json();
  const bool is_dump = json.is_object() && json.contains("entries") && is_list(json["entries"]);
  if (!is_dump) root.fail("no dump of the Flight Recorder: it has no list \"entries\"");
  occurrences_.clear();
  whole_groups_.clear();
  of_dump_ = 0;
  groups_.begin_dump(json, rank);
  for_each_in(json["entries"], [&](const Json& entry) { read_entry(entry, rank, text.ranks); });
}

void FlightReader::finish(const std::string& file, Measurement& measurement) {
  std::vector<std::string> missing = groups_.notes();
  std::vector<std::string> of_messages;
  messages_.join(join_, of_messages);
  if (join_.empty() && no_time_ > 0) {
    std::string sentence =
        "no completed entry has \"duration_ms\"; set TORCH_NCCL_ENABLE_TIMING=1 in the job that is "
        "recorded (time_discovered_* say when a thread looked, and are no durations)";
    for (const std::string& note : missing) sentence += "\n  " + note;
    throw InputError(file, sentence);
  }
  const auto note = [&](int64_t count, const std::string& text) {
    if (count == 0) return;
    measurement.notes.push_back(std::to_string(count) + " of " + std::to_string(entries_) +
                                (entries_ == 1 ? " entry" : " entries") + " left out: " + text);
  };
  note(no_time_, "not completed, or without duration_ms");
  note(other_, "barriers, coalesced calls and what is not known here");
  note(no_size_, "sizes or types are missing, or do not fit the number of ranks");
  note(no_ranks_, "the number of ranks is not known; give --ranks");
  note(broken_, "no group, no number, or no time above 0");
  for (const auto& notes : {missing, of_messages})
    measurement.notes.insert(measurement.notes.end(), notes.begin(), notes.end());
  join_.finish(measurement);
}

}  // namespace

bool is_flight_recorder(std::string_view text) {
  if (is_pickle(text)) return true;
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  const char first = first_of_json(text);
  if (has("\"traceEvents\"")) return false;
  return (first == '{' || first == '(' || first == '}') &&
         (has("collective_seq_id") || (has("pg_config") && has("entries")));
}

Measurement flight_recorder_files(std::span<const MeasuredText> texts) {
  Measurement measurement;
  measurement.source = "PyTorch Flight Recorder " + texts.front().file;
  if (texts.size() > 1) measurement.source += " and " + std::to_string(texts.size() - 1) + " more";
  FlightReader reader;
  std::map<int, std::string> files;
  for (const MeasuredText& text : texts) {
    const auto rank = rank_in(text.file);
    if (!rank && texts.size() > 1)
      throw InputError(text.file,
                       "the name of a dump ends with its rank, as in nccl_trace_rank_3, and this "
                       "one does not");
    const auto [place, is_new] = files.try_emplace(rank.value_or(0), text.file);
    if (!is_new) throw InputError(text.file, "is of the same rank as " + place->second);
    reader.read(text, rank.value_or(0));
  }
  reader.finish(texts.front().file, measurement);
  tidy(measurement, texts.front().file);
  return measurement;
}

Measurement flight_recorder(const MeasuredText& text) { return flight_recorder_files({&text, 1}); }

}  // namespace sgdsim
