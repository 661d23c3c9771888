// Configuration files of other programs as flat names and values: command lines and shell scripts
// ("--micro-batch-size 1", or NAME=value of upper-case variables), YAML ("model.micro_batch_size"),
// TOML and JSON.
//
// Only what such files are made of is read: words, numbers, flags and tables of them. Lists,
// anchors and blocks of text are passed over, because nothing that is asked for here is one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "sim/core/json.h"

namespace sgdsim {

class FlatSettings {
 public:
  enum class Kind : uint8_t { flags, yaml, toml, json };

  // InputError names the file and the line.
  static FlatSettings read(const std::string& text, const std::string& file);

  Kind kind() const { return kind_; }
  const std::string& file() const { return file_; }
  bool has(const std::string& name) const { return values_.contains(name); }
  // Of YAML: a list below it, which is passed over.
  bool is_list(const std::string& name) const { return lists_.contains(name); }
  // Nothing where it is not there, or null.
  std::optional<std::string> find(const std::string& name) const;
  // Of the names, the only one that is there. InputError where two are, and differ.
  std::optional<std::string> find_any(const std::vector<std::string>& names) const;
  int64_t whole(const std::string& name, const std::string& value, int64_t least,
                int64_t most) const;
  bool flag(const std::string& name, const std::string& value) const;
  [[noreturn]] void fail(const std::string& name, const std::string& sentence) const;
  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  void read_flags(const std::string& text);
  void read_tables(const std::string& text);
  void resolve_references();
  void read_members(const Json& json, const std::string& prefix);
  void set(const std::string& name, const std::string& value, int line);

  std::string file_;
  Kind kind_ = Kind::flags;
  std::map<std::string, std::string> values_;
  std::map<std::string, int> lines_;
  std::set<std::string> lists_;
};

}  // namespace sgdsim
