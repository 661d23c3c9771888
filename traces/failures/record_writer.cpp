// Names become numbers.
#include "traces/failures/record_writer.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/json.h"

namespace sgdsim {

void check_name(const std::string& name, const std::string& where) {
  if (const std::string problem = problem_of_text(name, true); !problem.empty())
    throw InputError(where, "a cell " + problem);
}

int32_t RecordWriter::cause(const std::string& name, const std::string& where) {
  constexpr std::size_t most = 1000;
  check_name(name, where);
  std::size_t length = std::min<std::size_t>(name.size(), 200);
  while (length < name.size() && (name[length] & 0xC0) == 0x80) --length;  // within a character
  const std::string known = name.empty() ? "not said" : name.substr(0, length);
  const auto [place, is_new] = causes_.emplace(known, static_cast<int32_t>(record_.causes.size()));
  if (is_new) {
    if (record_.causes.size() == most)
      throw InputError(where,
                       "has more than 1000 causes; a cause is a kind of failure, such as "
                       "\"gpu\", and not its message");
    record_.causes.push_back(known);
  }
  return place->second;
}

FailureRecord::Unit& RecordWriter::unit(const std::string& name) {
  const auto [place, is_new] = units_.emplace(name, record_.units.size());
  if (is_new) record_.units.push_back({name, 0, 0});
  return record_.units[place->second];
}

void RecordWriter::note_left_out(int64_t count, const std::string& what) {
  if (count > 0) record_.notes.push_back(std::to_string(count) + " " + what);
}

void RecordWriter::run(double from_s, double to_s, double units, int32_t cause) {
  record_.spells.push_back({to_s - from_s, units, cause});
  record_.seen_unit_s += units * (to_s - from_s);
  if (cause >= 0) fail(to_s, cause);
  see(from_s, to_s);
}

void RecordWriter::see(double from_s, double to_s) {
  since_s_ = std::min(since_s_, from_s);
  until_s_ = std::max(until_s_, to_s);
}

void RecordWriter::finish() {
  record_.length_s = std::max(0., until_s_ - since_s_);
  for (FailureRecord::Failure& failure : record_.failures) failure.at_s -= since_s_;
  std::stable_sort(record_.failures.begin(), record_.failures.end(),
                   [](const FailureRecord::Failure& a, const FailureRecord::Failure& b) {
                     return a.at_s < b.at_s;
                   });
}

}  // namespace sgdsim
