// Words and signs of a shell script.
#pragma once

#include <string>
#include <vector>

namespace sgdsim {

struct ShellToken {
  std::string text;  // without its quotes; "$A" is not replaced
  int line = 0;
  bool is_sign = false;  // "\n", ";", ";;", "&", "&&", "|", "||", "(", "((", ")"
  bool is_quoted = false;
  bool is_literal = false;  // in quotes that leave "$" as it is
  bool is_here = false;     // "<<EOF"
  std::string body = {};    // its text
  int body_line = 0;        // and where that begins
  bool is(const char* sign) const { return is_sign && text == sign; }
};

// `line`: the number of the first.
std::vector<ShellToken> shell_tokens(const std::string& text, int line = 1);
// Behind "${...}", "$(...)", "$((...))" or "`...`" that begins here; as it is where none does.
std::size_t behind_dollar(const std::string& text, std::size_t at);

}  // namespace sgdsim
