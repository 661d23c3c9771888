// The shortest way to say a column.
#include "app/report/columns.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "app/report/packing.h"

namespace sgdsim {
namespace {

std::string_view word_of(ReportColumns::Role role) {
  switch (role) {
    case ReportColumns::Role::axis:
      return "axis";
    case ReportColumns::Role::figure:
      return "figure";
    case ReportColumns::Role::note:
      break;
  }
  return "note";
}

// Values that occur, and for each row its place among them; nothing if too many differ.
bool say_by_places(const std::vector<Json>& values, Json& column) {
  const std::size_t most = std::max<std::size_t>(16, values.size() / 8);
  std::unordered_map<Json, std::size_t> place_of;
  Json dictionary = Json::array();
  Json places = Json::array();
  for (const Json& value : values) {
    const auto [found, is_new] = place_of.try_emplace(value, place_of.size());
    if (is_new) dictionary.push_back(value);
    if (place_of.size() > most) return false;
    places.push_back(found->second);
  }
  column["dictionary"] = packed_text(dictionary);
  column["places"] = packed_text(places);
  return true;
}

}  // namespace

void ReportColumns::set(Role role, const std::string& key, std::size_t row, const Json& value) {
  const bool is_next =
      next_ < columns_.size() && columns_[next_].role == role && columns_[next_].key == key;
  if (!is_next) {
    const auto [found, is_new] = column_of_.try_emplace({role, key}, columns_.size());
    if (is_new) columns_.push_back({.role = role, .key = key, .values = {}});
    next_ = found->second;
  }
  Column& column = columns_[next_];
  next_ = (next_ + 1) % columns_.size();
  rows_ = std::max(rows_, row + 1);
  if (column.values.size() <= row) column.values.resize(row + 1);
  column.values[row] = for_page(value);
  column.has_large_wholes = column.has_large_wholes || has_large_wholes(value);
}

void ReportColumns::reorder(const std::vector<std::size_t>& order) {
  for (Column& column : columns_) {
    column.values.resize(rows_);
    std::vector<Json> values;
    values.reserve(rows_);
    for (const std::size_t row : order) values.push_back(std::move(column.values[row]));
    column.values = std::move(values);
  }
}

bool ReportColumns::axes_tell_rows_apart() const {
  std::set<std::string> seen;
  for (std::size_t row = 0; row < rows_; ++row) {
    std::string text;
    for (const Column& column : columns_)
      if (column.role == Role::axis)
        text += (row < column.values.size() ? column.values[row].dump() : "null") + "\n";
    if (!seen.insert(text).second) return false;
  }
  return true;
}

std::vector<std::string> ReportColumns::keys(Role role) const {
  std::vector<std::string> keys;
  for (const Column& column : columns_)
    if (column.role == role) keys.push_back(column.key);
  return keys;
}

bool ReportColumns::varies(Role role, const std::string& key) const {
  const auto found = column_of_.find({role, key});
  if (found == column_of_.end()) return false;
  const std::vector<Json>& values = columns_[found->second].values;
  return values.size() < rows_ || std::any_of(values.begin(), values.end(), [&](const Json& value) {
           return value != values.front();
         });
}

Json ReportColumns::json(const std::vector<std::string>& left_out) const {
  Json list = Json::array();
  std::vector<std::pair<const Column*, std::vector<Json>>> said;
  for (const Column& column : columns_) {
    if (std::any_of(left_out.begin(), left_out.end(),
                    [&](const std::string& ending) { return column.key.ends_with(ending); }))
      continue;
    std::vector<Json> values = column.values;
    values.resize(rows_);
    Json entry = {{"key", column.key}, {"role", word_of(column.role)}};
    if (column.has_large_wholes) entry["large_wholes"] = true;
    const auto same = std::find_if(said.begin(), said.end(),
                                   [&](const auto& other) { return other.second == values; });
    if (std::all_of(values.begin(), values.end(),
                    [&](const Json& value) { return value == values.front(); }))
      entry["constant"] = values.front();
    else if (same != said.end())
      entry["same_as"] = same - said.begin();
    else if (!say_by_places(values, entry))
      entry["values"] = packed_text(Json(values));
    list.push_back(std::move(entry));
    said.emplace_back(&column, std::move(values));
  }
  return list;
}

}  // namespace sgdsim
