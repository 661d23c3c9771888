// Writing trace events, one line each.
#include "study/trace_events.h"

#include <array>
#include <cinttypes>
#include <cstdio>

#include "sim/core/error.h"
#include "study/version.h"

namespace sgdsim {
namespace {

// Microseconds with all six decimals of a picosecond clock.
std::string us_text(int64_t ps) {
  std::array<char, 40> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%" PRId64 ".%06" PRId64, ps / 1'000'000,
                ps % 1'000'000);
  return buffer.data();
}

std::string quoted(const std::string& text) { return Json(text).dump(); }

std::string place(TraceEvents::Track track) {
  return "\"pid\":" + std::to_string(track.process) + ",\"tid\":" + std::to_string(track.thread);
}

}  // namespace

void check_shown(std::size_t count, const std::string& what) {
  if (count > most_slices_shown)
    throw InputError("", "--timeline and --gantt show at most " +
                             std::to_string(most_slices_shown) + " " + what + ", not " +
                             std::to_string(count));
}

void check_apart(const std::string& timeline, bool is_answer_there, const std::string& instead) {
  if (timeline != "-" || !is_answer_there) return;
  throw InputError("--timeline",
                   "- is standard output, which has the answer; name a file, as "
                   "--timeline timeline.json" +
                       (instead.empty() ? "" : ", or " + instead));
}

TraceEvents::TraceEvents(const std::string& command, const std::string& id) {
  const Json about = {{"version", version_number}, {"config", id}, {"command", command}};
  text_ = timeline_beginning + about.dump().substr(1) + ",\"traceEvents\":[";
}

void TraceEvents::name_process(int process, const std::string& name) {
  metadata("process_name", {process, 0}, "\"name\":" + quoted(name));
  metadata("process_sort_index", {process, 0}, "\"sort_index\":" + std::to_string(process));
}

void TraceEvents::name_thread(Track track, const std::string& name) {
  metadata("thread_name", track, "\"name\":" + quoted(name));
}

void TraceEvents::slice(Track track, Time start, Time end, const std::string& name,
                        const std::string& category, const Json& arguments) {
  event("{\"ph\":\"X\"," + place(track) + ",\"ts\":" + us_text(start.ps()) +
        ",\"dur\":" + us_text((end - start).ps()) + ",\"name\":" + quoted(name) +
        ",\"cat\":" + quoted(category) + ",\"args\":" + arguments.dump() + "}");
}

void TraceEvents::arrow(const std::string& name, Track from, Time leaves, Track to, Time arrives) {
  const std::string id = std::to_string(++arrows_);
  const std::string kind = ",\"name\":" + quoted(name) + ",\"cat\":\"flow\"}";
  event("{\"ph\":\"s\",\"id\":" + id + "," + place(from) + ",\"ts\":" + us_text(leaves.ps()) +
        kind);
  event("{\"ph\":\"f\",\"bp\":\"e\",\"id\":" + id + "," + place(to) +
        ",\"ts\":" + us_text(arrives.ps()) + kind);
}

void TraceEvents::metadata(const std::string& name, Track track, const std::string& arguments) {
  event("{\"ph\":\"M\",\"name\":\"" + name + "\"," + place(track) + ",\"args\":{" + arguments +
        "}}");
}

void TraceEvents::event(const std::string& event) {
  text_ += (first_ ? "\n" : ",\n") + event;
  first_ = false;
}

}  // namespace sgdsim
