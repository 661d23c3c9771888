// A timeline as a Chrome trace, which Perfetto and chrome://tracing open: one event a line, times
// in microseconds with six decimals, the simulator's picoseconds.
#pragma once

#include <string>

#include "sim/core/json.h"

namespace sgdsim {

// How every timeline begins.
inline constexpr char timeline_beginning[] =
    "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"sgdsim\",";

inline constexpr std::size_t most_slices_shown = 2'000'000;
// InputError where there are more than a timeline shows. `what`: "operations".
void check_shown(std::size_t count, const std::string& what);
// InputError where `--timeline -` would write into an answer that goes to standard output as well.
// `instead`: what moves the answer away, "add --out FILE"; empty: nothing does.
void check_apart(const std::string& timeline, bool is_answer_there, const std::string& instead);

class TraceEvents {
 public:
  struct Track {
    int process = 0;
    int thread = 0;
  };
  // `command`: which of sgdsim's writes it, so that readers know what its processes are. `id`: of
  // what was played.
  TraceEvents(const std::string& command, const std::string& id);

  void name_process(int process, const std::string& name);
  void name_thread(Track track, const std::string& name);
  void slice(Track track, Time start, Time end, const std::string& name,
             const std::string& category, const Json& arguments);
  // From a moment on one track to a slice of another.
  void arrow(const std::string& name, Track from, Time leaves, Track to, Time arrives);
  std::string finish() { return text_ + "\n]}\n"; }

 private:
  void metadata(const std::string& name, Track track, const std::string& arguments);
  void event(const std::string& event);

  std::string text_;
  bool first_ = true;
  int arrows_ = 0;
};

}  // namespace sgdsim
