// Commands of a shell that set variables: read, printf -v, unset, mapfile.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "study/layout/shell_store.h"

namespace sgdsim {

class ShellBuiltins : public ShellStore {
 protected:
  using ShellStore::ShellStore;
  // Whether the command, of which the first word is this name, is one of them. `between`: what
  // IFS is for it; empty: blanks.
  bool sets_variables(const std::string& name, std::span<const ShellToken> command,
                      const std::string& between);
  // A text of "<<EOF" as its command gets it.
  std::string body_of(const ShellToken& here);

 private:
  void read(std::span<const ShellToken> command, const std::string& between);
  void put_fields(const std::vector<std::string>& names, std::string text,
                  const std::string& between, int line);
  void print(std::span<const ShellToken> command);
  void read_list(std::span<const ShellToken> command);
  void unset_all(std::span<const ShellToken> command);
};

}  // namespace sgdsim
