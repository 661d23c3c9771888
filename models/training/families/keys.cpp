// What the file says goes before what the family says.
#include "models/training/families/keys.h"

#include <algorithm>

namespace sgdsim {
namespace {

std::shared_ptr<const Json> merged(const Json& file, const char* otherwise, const char* of_alias) {
  Json all = Json::parse(otherwise);
  all.update(Json::parse(of_alias));
  for (const char* inside : {"attn_config", "ffn_config"})
    if (const auto found = file.find(inside); found != file.end() && found->is_object())
      for (const auto& [name, value] : found->items()) all[name] = value;
  for (const auto& [name, value] : file.items()) all[name] = value;
  return std::make_shared<const Json>(std::move(all));
}

std::string or_text(const Names& names) {
  std::string text = "\"" + names.front() + "\"";
  if (names.size() > 1) text += " (or \"" + names[1] + "\")";
  return text;
}

}  // namespace

Keys::Keys(const Value& value, const char* otherwise, const char* of_alias)
    : json_(merged(value.json(), otherwise, of_alias)),
      value_(*json_, value.file(), value.path()) {}

bool Keys::has(const std::string& key) const {
  const auto found = json_->find(key);
  return found != json_->end() && !found->is_null();
}

const std::string* Keys::first(const Names& names) const {
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const auto& name) { return has(name); });
  return found == names.end() ? nullptr : &*found;
}

Value Keys::at(const Names& names, const std::string& what) const {
  const std::string* name = first(names);
  if (name == nullptr) value_.fail("lacks " + or_text(names) + ", " + what);
  return value_.child(*name);
}

int64_t Keys::whole(const Names& names, int64_t least, int64_t most) const {
  const Value found = at(names, "a whole number from " + std::to_string(least) + " on");
  if (!found.json().is_array()) return found.whole(least, most);
  if (found.size() == 0) found.fail("expected a whole number, got a list without any");
  const int64_t number = found.items().front().whole(least, most);
  for (const Value& item : found.items())
    if (item.whole(least, most) != number)
      item.fail("expected " + std::to_string(number) +
                ", as for the first layer: layers of different sizes are not modelled");
  return number;
}

int64_t Keys::whole_or(const Names& names, int64_t otherwise, int64_t least, int64_t most) const {
  return first(names) == nullptr ? otherwise : whole(names, least, most);
}

bool Keys::flag_or(const Names& names, bool otherwise) const {
  const std::string* name = first(names);
  return name == nullptr ? otherwise : value_.child(*name).flag();
}

std::string Keys::text_or(const std::string& name, const std::string& otherwise) const {
  return has(name) && value_.child(name).json().is_string() ? value_.child(name).text() : otherwise;
}

std::vector<int64_t> Keys::list_or_none(const std::string& name, int64_t most) const {
  std::vector<int64_t> all;
  if (!has(name)) return all;
  for (const Value& item : value_.child(name).items()) all.push_back(item.whole(0, most));
  return all;
}

}  // namespace sgdsim
