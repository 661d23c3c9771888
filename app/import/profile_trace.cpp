// A profile with no options beside it.
#include "app/import/profile_trace.h"

#include <filesystem>

#include "traces/kineto/to_trace.h"
#include "traces/registry.h"

namespace sgdsim {

bool is_profile(const std::string& file) {
  constexpr std::size_t enough = 1 << 20;
  ByteSource source(file);
  std::string head;
  while (head.size() < enough) {
    const std::string_view more = source.next();
    if (more.empty()) break;
    head += more;
  }
  return is_kineto(head);
}

Trace trace_of_profile(const std::string& file) {
  ByteSource source(file);
  return profiler::trace_of(
             profiler::recording_of(
                 {profiler::profile_of(profiler::read_events(source, nullptr), false)}, {}),
             std::nullopt, name_of_profile(file))
      .trace;
}

std::string name_of_profile(const std::string& file) {
  if (file == "-") return "trace";
  std::filesystem::path name = std::filesystem::path(file).filename();
  for (const char* ending : {".gz", ".json", ".trace", ".pt"})
    if (name.extension() == ending) name = name.stem();
  return name.string();
}

}  // namespace sgdsim
