// What tests of profiles share: reading them from text, and looking for sentences.
#pragma once

#include <string>
#include <vector>

#include "sim/core/error.h"
#include "tests/kineto_writer.h"
#include "traces/kineto/recording.h"

namespace sgdsim::profiler {

inline RankProfile profile(const std::string& text, bool keep_first = false,
                           const NamePattern* others = nullptr) {
  ByteSource source(text, "f.json");
  return profile_of(read_events(source, others), keep_first);
}

inline Recording recording(const std::vector<KinetoWriter>& writers,
                           const ProfileOptions& options = {}) {
  std::vector<RankProfile> profiles;
  for (const KinetoWriter& writer : writers)
    profiles.push_back(profile(writer.text(), options.keep_first));
  return recording_of(std::move(profiles), options);
}

// The sentence with which something is refused; empty: it was not.
template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline bool warns(const std::vector<std::string>& warnings, const std::string& part) {
  for (const std::string& warning : warnings)
    if (contains(warning, part)) return true;
  return false;
}

}  // namespace sgdsim::profiler
