// Which file is which rank's, and which ranks a group has.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <string_view>

#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/json.h"
#include "study/replay/chakra_schedule.h"

namespace sgdsim {
namespace {

// "/runs/step.12.et.gz" is rank 12 of "step.", and "tr_12.et" of "tr_"; "/dev/fd/63" is a pipe.
struct RankName {
  std::string prefix;
  uint64_t rank = 0;
};
std::optional<RankName> rank_name(const std::string& file) {
  std::string stem = file.substr(file.find_last_of('/') + 1);
  for (const std::string_view ending : {".gz", ".et", ".json"})
    if (stem.ends_with(ending)) stem.resize(stem.size() - ending.size());
  const bool has_ending = stem.size() + file.find_last_of('/') + 1 < file.size();
  const std::size_t digits = stem.find_last_not_of("0123456789") + 1;
  RankName name{stem.substr(0, digits), 0};
  const char* end = stem.data() + stem.size();
  const auto [stop, error] = std::from_chars(stem.data() + digits, end, name.rank);
  if (error != std::errc() || stop != end) return std::nullopt;
  return has_ending || name.prefix.ends_with('.') ? std::optional(name) : std::nullopt;
}

// A trace of one rank may be called resnet50.et.
bool is_called_so(const std::vector<std::string>& files, const RankName& name) {
  return files.size() == 1 && !name.prefix.ends_with('.');
}

constexpr std::size_t most_chakra_ranks = 1 << 20;

}  // namespace

std::vector<std::string> files_by_rank(const std::vector<std::string>& files) {
  if (files.size() > most_chakra_ranks)
    throw InputError("", "more than " + std::to_string(most_chakra_ranks) + " files");
  std::vector<std::string> by_rank(files.size());
  std::size_t named = 0;
  std::set<std::string> prefixes;
  for (const std::string& file : files)
    if (const auto name = rank_name(file); name && !is_called_so(files, *name)) {
      ++named;
      prefixes.insert(name->prefix);
    }
  if (named == 0) return files;
  if (named < files.size())
    throw InputError(files.front(), "some names say their rank, as step.3.et, and some do not");
  if (prefixes.size() > 1)
    throw InputError(*prefixes.begin() + "*", "is one trace, and " + *prefixes.rbegin() +
                                                  "* another one; give the files of one");
  for (const std::string& file : files) {
    const uint64_t rank = rank_name(file)->rank;
    if (rank >= files.size())
      throw InputError(file, "is rank " + std::to_string(rank) + " by its name, but there are " +
                                 std::to_string(files.size()) +
                                 " files: every rank from 0 on needs one");
    if (!by_rank[rank].empty())
      throw InputError(file,
                       "is rank " + std::to_string(rank) + " by its name, as is " + by_rank[rank]);
    by_rank[rank] = file;
  }
  return by_rank;
}

RankGroups read_rank_groups(const std::string& file, uint32_t ranks) {
  const Json json = foreign_json(read_text(file), file);
  RankGroups groups;
  for (const auto& [name, list] : Value(json, file, "").entries()) {
    std::vector<uint32_t> members;
    std::set<uint32_t> met;
    list.for_each_item([&](const Value& value) {
      const auto rank = static_cast<uint32_t>(value.whole(0, int64_t{ranks} - 1));
      if (!met.insert(rank).second) value.fail("rank " + std::to_string(rank) + " occurs twice");
      members.push_back(rank);
    });
    if (members.empty()) list.fail("a group without ranks");
    groups[name] = std::move(members);
  }
  return groups;
}

}  // namespace sgdsim
