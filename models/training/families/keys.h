// Keys of a config.json, by any of the names that families give them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/training/transformer_file.h"

namespace sgdsim {

using Names = std::vector<std::string>;

class Keys {
 public:
  // `otherwise`: JSON of the keys that a file need not have, with what they then are. Objects of
  // keys (`attn_config`, `ffn_config`) count as if their keys stood outside. `of_alias`: the same,
  // where it differs under another name of the family.
  Keys(const Value& value, const char* otherwise, const char* of_alias = "{}");

  // null is how these files say that there is none.
  bool has(const std::string& key) const;
  // The first of these names that is there.
  const std::string* first(const Names& names) const;
  Value at(const Names& names, const std::string& what) const;
  // A list of the same number for every layer counts as this number.
  int64_t whole(const Names& names, int64_t least, int64_t most) const;
  int64_t whole_or(const Names& names, int64_t otherwise, int64_t least, int64_t most) const;
  bool flag_or(const Names& names, bool otherwise) const;
  std::string text_or(const std::string& name, const std::string& otherwise) const;
  // Whole numbers of a list; empty if there is none.
  std::vector<int64_t> list_or_none(const std::string& name, int64_t most) const;
  const Value& value() const { return value_; }

 private:
  std::shared_ptr<const Json> json_;
  Value value_;
};

}  // namespace sgdsim
