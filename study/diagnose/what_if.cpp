// Parts by name, and the kinds of operations that they are.
#include "study/diagnose/what_if.h"

#include <charconv>
#include <set>

#include "models/diagnose/step_times.h"
#include "sim/core/error.h"
#include "sim/core/named.h"
#include "sim/core/number_list.h"
#include "traces/recorded/pipeline_timeline.h"

namespace sgdsim {
namespace {

using diagnose::TimePart;

constexpr char where[] = "--what-if";
constexpr double most_factor = 100;

struct NamedParts {
  std::string name;
  std::vector<TimePart> parts;
};

// Waiting and delays follow from the others.
const std::vector<NamedParts>& known_parts() {
  using enum TimePart;
  static const std::vector<NamedParts> known = [] {
    std::vector<NamedParts> all;
    for (const TimePart part :
         {forward, backward, optimizer, collection, sends, replicas, embedding, clipping})
      all.push_back(
          {std::string(diagnose::time_part_names[static_cast<std::size_t>(part)]), {part}});
    all.push_back({"computing", {forward, backward, optimizer}});
    all.push_back({"exchanges", {sends, replicas, embedding, clipping}});
    return all;
  }();
  return known;
}

const NamedParts& parts_called(const std::string& name) {
  std::vector<std::string> names;
  for (const NamedParts& one : known_parts()) {
    if (one.name == name) return one;
    names.push_back(one.name);
  }
  names.emplace_back("dp");
  throw InputError(where, unknown_name("part of a step", name, names));
}

double factor_in(const std::string& text) {
  double factor = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (problem != std::errc{} || rest != text.data() + text.size() || !(factor >= 0) ||
      factor > most_factor)
    throw InputError(where, "expected a part and a number from 0 to 100, as sends=0.5, got \"" +
                                text.substr(0, 60) + "\"");
  return factor;
}

int replicas_in(const std::string& text) {
  int replicas = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), replicas);
  if (problem != std::errc{} || rest != text.data() + text.size() || replicas < 1 ||
      replicas > most_recorded_workers)
    throw InputError(where, "dp must be a number of replicas from 1 to " +
                                std::to_string(most_recorded_workers) + ", and is \"" +
                                text.substr(0, 60) + "\"");
  return replicas;
}

diagnose::WhatIf what_if_of(const std::string& text) {
  diagnose::WhatIf result{text, {}};
  result.factors.fill(1);
  std::set<TimePart> seen;
  for (const std::string& word : split_list(text)) {
    const std::size_t equals = word.find('=');
    if (word.substr(0, equals) == "dp") {
      if (result.replicas > 0) throw InputError(where, "dp occurs twice");
      result.replicas = replicas_in(equals == word.npos ? "" : word.substr(equals + 1));
      continue;
    }
    const NamedParts& named = parts_called(word.substr(0, equals));
    const double factor = factor_in(equals == word.npos ? "" : word.substr(equals + 1));
    for (const TimePart part : named.parts) {
      if (!seen.insert(part).second)
        throw InputError(
            where, "\"" + text.substr(0, 60) + "\" says twice what " +
                       std::string(diagnose::time_part_names[static_cast<std::size_t>(part)]) +
                       " takes");
      for (std::size_t kind = 0; kind < recorded_kinds; ++kind)
        if (diagnose::time_part_of(static_cast<Recorded>(kind)) == part)
          result.factors[kind] = factor;
    }
  }
  return result;
}

}  // namespace

std::vector<diagnose::WhatIf> what_ifs_of(const std::vector<std::string>& words) {
  constexpr std::size_t most = 1000;
  if (words.size() > most)
    throw InputError(where, "more than " + std::to_string(most) + " questions at once");
  std::vector<diagnose::WhatIf> result;
  for (const std::string& text : words) result.push_back(what_if_of(text));
  return result;
}

void check_what_ifs(const std::vector<diagnose::WhatIf>& what_ifs, const diagnose::StepWork& work) {
  for (const diagnose::WhatIf& one : what_ifs) {
    if (one.replicas > 1 && work.replicas == 1)
      throw InputError(where, "the record has one replica, so that nobody knows what " +
                                  std::to_string(one.replicas) + " of them exchange");
    const double operations = static_cast<double>(work.nodes.size()) * one.replicas / work.replicas;
    if (operations > static_cast<double>(most_recorded_operations))
      throw InputError(where, "dp=" + std::to_string(one.replicas) + " would be more than " +
                                  std::to_string(most_recorded_operations) +
                                  " operations; choose fewer steps with --steps");
  }
}

}  // namespace sgdsim
