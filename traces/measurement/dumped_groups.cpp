// Numbers of collectives grow in every group by itself, so that the highest one says where a rank
// is. Dumps of a job that is well differ as well if they were not taken at the same moment.
#include "traces/measurement/dumped_groups.h"

#include <algorithm>

#include "traces/json_members.h"
#include "traces/measurement/measurement.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_listed = 16;
constexpr std::size_t longest_name = 60;

std::string list_of(const std::vector<int64_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < most_listed; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (ranks.size() > most_listed)
    text += " and " + std::to_string(ranks.size() - most_listed) + " more";
  return text;
}

std::string short_word(const std::string& text) { return printable(text.substr(0, longest_name)); }

// A list, or its text as in "[0, 1]".
std::vector<int64_t> ranks_of(const Json& json) {
  std::vector<int64_t> ranks;
  const auto add = [&](std::optional<int64_t> rank) {
    if (rank && *rank < most_measured_ranks) ranks.push_back(*rank);
  };
  if (is_list(json))
    for_each_in(json, [&](const Json& one) {
      add(one.is_string() ? whole_word(one.get_ref<const std::string&>())
                          : whole_field(one, 0, most_measured_ranks));
    });
  if (json.is_string()) {
    std::string text = json.get<std::string>();
    std::replace_if(
        text.begin(), text.end(), [](char letter) { return letter < '0' || letter > '9'; }, ' ');
    std::vector<std::string_view> words;
    split_words(text, words);
    for (const std::string_view word : words) add(whole_word(word));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

DumpedGroup group_named(const std::string& name, const std::string& description,
                        std::vector<int64_t> ranks) {
  DumpedGroup group;
  if (!description.empty() && description != "undefined")
    group.label = short_word(description) + " ";
  group.label += short_word(name);
  if (!ranks.empty() && ranks.size() <= most_listed) group.label += ", " + list_of(ranks);
  if (ranks.size() > most_listed)
    group.label +=
        ", " + std::to_string(ranks.size()) + " ranks from " + std::to_string(ranks.front());
  group.ranks = std::move(ranks);
  return group;
}

bool is_coalesced(const std::string& name) { return name.find("coalesced") != std::string::npos; }

// Sizes that must be the same on all ranks: not those of an all-to-all, nor of a scatter, of which
// only the root has inputs.
std::string inputs_of(const Json& entry, const std::string& name) {
  for (const std::string_view word : {"all_to_all", "alltoall", "all2all", "scatter"})
    if (name.find(word) != std::string::npos && name.find("reduce_scatter") == std::string::npos)
      return "";
  const auto sizes = entry.find("input_sizes");
  const auto types = entry.find("input_dtypes");
  if (sizes == entry.end() || !sizes->is_array() || sizes->empty()) return "";
  const auto text_of = [](const Json& list) {
    const Json& one = list.size() == 1 ? list[0] : list;
    return one.is_string() ? one.get<std::string>()
                           : one.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string text = text_of(*sizes);
  if (types != entry.end() && types->is_array() && !types->empty()) text += " " + text_of(*types);
  return text;
}

}  // namespace

void DumpedGroups::begin_dump(const Json& dump, int rank) {
  dumps_.insert(rank);
  of_dump_.clear();
  calls_of_dump_.clear();
  const auto config = dump.find("pg_config");
  if (config == dump.end() || !config->is_object()) return;
  for (const auto& [id, group] : config->items()) {
    if (!group.is_object() || !group.contains("ranks")) continue;
    const std::string name = text_member(group, "name");
    of_dump_[name.empty() ? id : name] =
        group_named(name.empty() ? id : name, text_member(group, "desc"), ranks_of(group["ranks"]));
  }
}

const DumpedGroup* DumpedGroups::enter(const Json& entry, int rank) {
  std::string name;
  std::string description;
  if (const auto group = entry.find("process_group"); group != entry.end()) {
    const auto word = [&](std::size_t i) {
      return i < group->size() && (*group)[i].is_string() ? (*group)[i].get<std::string>() : "";
    };
    if (group->is_array()) {
      name = word(0);
      description = word(1);
    } else if (group->is_string()) {
      name = group->get<std::string>();
    }
  }
  if (name.empty())
    if (const auto number = whole_member(entry, "pg_id", 0, INT64_MAX))
      name = std::to_string(*number);
  if (name.empty()) return nullptr;
  const auto stated = of_dump_.find(name);
  const DumpedGroup unstated =
      stated == of_dump_.end() ? group_named(name, description, {}) : DumpedGroup{};
  const DumpedGroup& group = stated == of_dump_.end() ? unstated : stated->second;
  Entered& entered = groups_[group.label];
  if (entered.group.label.empty()) entered.group = group;
  const auto number = whole_member(entry, "collective_seq_id", 0, INT64_MAX);
  const auto is_copy = entry.find("is_p2p");
  if (!number || (is_copy != entry.end() && is_copy->is_boolean() && is_copy->get<bool>()))
    return &entered.group;
  const auto place = entered.last.try_emplace(rank, *number).first;
  place->second = std::max(place->second, *number);
  const std::string name_called = short_word(text_member(entry, "profiling_name"));
  compare(entered, *number, {name_called, inputs_of(entry, name_called)}, rank);
  return &entered.group;
}

// With the same call of the first rank that has it. Calls that are coalesced share a number.
void DumpedGroups::compare(Entered& entered, int64_t number, const Call& call, int rank) {
  std::vector<Call>& calls = entered.calls[number];
  const std::size_t place = calls_of_dump_[{entered.group.label, number}]++;
  if (place >= calls.size()) {
    calls.push_back(call);
    return;
  }
  const Call& first = calls[place];
  if (!entered.difference.empty() || is_coalesced(call.name) || is_coalesced(first.name)) return;
  const std::string as = "as collective " + std::to_string(number) + ": ";
  const std::string by = ", and rank " + std::to_string(rank) + " ";
  if (first.name != call.name)
    entered.difference = "ranks call different things " + as + first.name + by + call.name;
  else if (!first.inputs.empty() && !call.inputs.empty() && first.inputs != call.inputs)
    entered.difference = "ranks call " + call.name + " with different inputs " + as +
                         short_word(first.inputs) + by + short_word(call.inputs);
}

std::vector<std::string> DumpedGroups::notes_of(const Entered& entered) const {
  std::vector<std::string> notes;
  const std::string& label = entered.group.label;
  if (!entered.difference.empty()) notes.push_back(label + ": " + entered.difference);
  std::map<int64_t, std::vector<int64_t>> by_last;
  for (const auto& [rank, last] : entered.last) by_last[last].push_back(rank);
  std::vector<int64_t> silent;
  std::vector<int64_t> no_dump;
  for (const int64_t rank : entered.group.ranks) {
    const auto number = static_cast<int>(rank);
    if (!dumps_.contains(number))
      no_dump.push_back(rank);
    else if (!entered.last.contains(number) && !entered.last.empty())
      silent.push_back(rank);
  }
  std::size_t ahead = entered.last.size();
  for (const auto& [last, ranks] : by_last) {
    ahead -= ranks.size();
    if (ahead == 0) break;
    const auto next = entered.calls.upper_bound(last);
    notes.push_back(label + ": " + list_of(ranks) + (ranks.size() == 1 ? " has" : " have") +
                    " not entered collective " + std::to_string(next->first) + " (" +
                    next->second.front().name + "), which " + std::to_string(ahead) +
                    (ahead == 1 ? " rank has" : " ranks have"));
  }
  if (!silent.empty())
    notes.push_back(label + ": " + list_of(silent) + (silent.size() == 1 ? " has" : " have") +
                    " entered none of the collectives that others have");
  if (!no_dump.empty() && dumps_.size() > 1)
    notes.push_back(label + ": there is no dump of " + list_of(no_dump));
  return notes;
}

std::vector<std::string> DumpedGroups::notes() const {
  std::vector<std::string> all;
  for (const auto& one : groups_) {
    const std::vector<std::string> notes = notes_of(one.second);
    all.insert(all.end(), notes.begin(), notes.end());
  }
  return all;
}

}  // namespace sgdsim
