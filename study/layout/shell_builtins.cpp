// What they set is followed where all of it is in the file; otherwise it is not known.
#include "study/layout/shell_builtins.h"

#include <algorithm>
#include <optional>

#include "study/layout/setting_text.h"

namespace sgdsim {
namespace {

bool is_redirection(const ShellToken& token) {
  return token.is_here || token.text.starts_with("<") || token.text.starts_with(">");
}

bool is_known_text(const std::string& text) {
  return text.find_first_of("$`\\") == std::string::npos;
}

// "-r", "-d ''", "-n1": whether the next word belongs to it.
bool takes_next(const ShellToken& option, const std::string& letters) {
  return option.text.size() > 1 && letters.find(option.text.back()) != std::string::npos &&
         option.text.find_first_of(letters) == option.text.size() - 1;
}

bool is_option(const ShellToken& token) {
  return token.text.size() > 1 && token.text.front() == '-' && !token.is_quoted;
}

std::string name_before_place(const std::string& text) { return text.substr(0, text.find('[')); }

// "%d" and "%s" with the words for them; nothing where it has more than these.
std::optional<std::string> printed(const std::string& format, const std::vector<std::string>& all) {
  std::string text;
  std::size_t next = 0;
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] == '\\') return {};
    if (format[at] != '%') {
      text += format[at];
      continue;
    }
    const char kind = at + 1 < format.size() ? format[++at] : '%';
    if ((kind != 'd' && kind != 's') || next == all.size()) return {};
    const std::string& word = all[next++];
    const bool is_number = !word.empty() && word.size() < 16 && word.front() != '0' &&
                           word.find_first_not_of("0123456789") == std::string::npos;
    if (kind == 'd' && !is_number && word != "0") return {};
    text += word;
  }
  return next == all.size() ? std::optional(text) : std::nullopt;
}

}  // namespace

bool ShellBuiltins::sets_variables(const std::string& name, std::span<const ShellToken> command,
                                   const std::string& between) {
  if (name == "read")
    read(command.subspan(1), between);
  else if (name == "printf" && command.size() > 2 && command[1].text == "-v")
    print(command.subspan(2));
  else if (name == "mapfile" || name == "readarray")
    read_list(command.subspan(1));
  else if (name == "unset")
    unset_all(command.subspan(1));
  else
    return false;
  return true;
}

std::string ShellBuiltins::body_of(const ShellToken& here) {
  if (here.is_literal) return here.body;
  // "\$A" stays "$A".
  constexpr char kept_dollar = '\x01';
  std::string text = here.body;
  for (std::size_t at = 0; (at = text.find("\\$", at)) != std::string::npos; ++at)
    text.replace(at, 2, 1, kept_dollar);
  text = variables_.expanded(text);
  std::replace(text.begin(), text.end(), kept_dollar, '$');
  return text;
}

// "read -r A B <<< "8 2"", and "read -d '' A <<EOF".
void ShellBuiltins::read(std::span<const ShellToken> command, const std::string& between) {
  std::vector<std::string> names;
  std::optional<std::string> text;
  bool is_whole = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const ShellToken& token = command[i];
    if (token.text.starts_with("<<<")) {
      const bool is_next = token.text.size() == 3 && i + 1 < command.size();
      text = known_text(is_next ? command[++i].text : token.text.substr(3));
    } else if (token.is_here) {
      variables_.has_unsure = false;
      text = body_of(token);
      if (variables_.has_unsure) text = "$";
    } else if (is_redirection(token)) {
      break;
    } else if (!is_option(token)) {
      names.push_back(name_before_place(token.text));
    } else if (token.text.back() == 'a' && i + 1 < command.size()) {
      names.push_back(command[++i].text);
      text = "$";
      break;
    } else if (takes_next(token, "dintNpu")) {
      const bool is_end = token.text.back() == 'd';
      is_whole = is_whole || (is_end && i + 1 < command.size() && command[i + 1].text.empty());
      if (is_end && !is_whole) text = "$";
      ++i;
    }
  }
  if (names.empty()) names.emplace_back("REPLY");
  const int line = command.empty() ? 0 : command.front().line;
  if (text && !is_whole) text = text->substr(0, text->find('\n'));
  if (text && is_known_text(*text)) return put_fields(names, *text, between, line);
  for (const std::string& name : names) forget_value(name, line);
}

void ShellBuiltins::put_fields(const std::vector<std::string>& names, std::string text,
                               const std::string& between, int line) {
  const std::string blanks = " \t\n";
  const std::string& ends = between.empty() ? blanks : between;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (between.empty()) text = trimmed(text);
    const std::size_t end = i + 1 < names.size() ? text.find_first_of(ends) : std::string::npos;
    put(names[i], split_words(text.substr(0, end), line, false), line, false);
    text = end == std::string::npos ? "" : text.substr(end + 1);
  }
}

void ShellBuiltins::print(std::span<const ShellToken> command) {
  const std::string& name = command[0].text;
  std::vector<std::string> words;
  for (const ShellToken& token : command.subspan(1)) words.push_back(known_text(token.text));
  const bool is_known = !words.empty() && std::all_of(words.begin(), words.end(), is_known_text);
  const auto text = is_known ? printed(words[0], {words.begin() + 1, words.end()}) : std::nullopt;
  const int line = command[0].line;
  if (!text || name.find('[') != std::string::npos)
    return forget_value(name_before_place(name), line);
  put(name, split_words(*text, line, false), line, false);
}

void ShellBuiltins::read_list(std::span<const ShellToken> command) {
  std::string name = "MAPFILE";
  for (std::size_t i = 0; i < command.size() && !is_redirection(command[i]); ++i)
    if (!is_option(command[i]))
      name = command[i].text;
    else if (takes_next(command[i], "dnOsuCc"))
      ++i;
  forget_value(name, command.empty() ? 0 : command.front().line);
}

void ShellBuiltins::unset_all(std::span<const ShellToken> command) {
  if (!command.empty() && command[0].text == "-f") return;
  for (const ShellToken& token : command) {
    if (is_option(token) || is_redirection(token)) continue;
    const std::string name = name_before_place(token.text);
    name == token.text ? unset(name, token.line) : forget_value(name, token.line);
  }
}

}  // namespace sgdsim
