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
  bool is(const char* sign) const { return is_sign && text == sign; }
};

std::vector<ShellToken> shell_tokens(const std::string& text);
// Behind "${...}", "$(...)" or "$((...))" that begins here; as it is where none does.
std::size_t behind_dollar(const std::string& text, std::size_t at);

}  // namespace sgdsim
