// A variable may stand for others, ten deep.
#include "study/layout/shell_variables.h"

#include <algorithm>
#include <cctype>

#include "study/layout/setting_text.h"
#include "study/layout/shell_arithmetic.h"
#include "study/layout/shell_tokens.h"

namespace sgdsim {
namespace {

constexpr std::size_t longest_text = 100'000;  // of a variable
constexpr int deepest_names = 10;

std::size_t end_of_name(const std::string& text, std::size_t at) {
  while (at < text.size() && is_word_letter(text[at])) ++at;
  return at;
}
std::size_t end_of(const std::string& text, std::size_t at) {
  if (const std::size_t end = behind_dollar(text, at); end > at) return end;
  if (text.compare(at, 2, "$#") == 0) return at + 2;
  return end_of_name(text, at + 1);
}

bool is_same(const ShellWord& a, const ShellWord& b) { return a.text == b.text; }

}  // namespace

std::string ShellVariables::expanded(const std::string& text, int depth) {
  std::string whole;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '$' && depth < deepest_names ? end_of(text, at) : at;
    if (end == at) {
      whole += text[at++];
      continue;
    }
    whole += value_of(text.substr(at, end - at), depth + 1);
    at = end;
    if (whole.size() > longest_text) return text;
  }
  return whole;
}

// Of one that begins with "$"; itself where it is not known.
std::string ShellVariables::value_of(const std::string& word, int depth) {
  constexpr std::size_t most_letters = 200;
  if (word == "$#") return all.contains("#") ? all["#"].text : "0";
  if (word.starts_with("$((") && word.ends_with("))") && word.size() < most_letters) {
    const auto number =
        shell_arithmetic(word.substr(3, word.size() - 5),
                         [&](const std::string& name) { return expanded(name, depth); });
    return number ? std::to_string(*number) : word;
  }
  if (word.starts_with("$(")) return word;
  const bool has_braces = word.starts_with("${");
  const std::string inside = has_braces ? word.substr(2, word.size() - 3) : word.substr(1);
  const std::size_t end = end_of_name(inside, 0);
  const std::string name = inside.substr(0, end);
  std::string rest = inside.substr(end);
  if (rest == "[@]" || rest == "[*]") rest = "";
  const auto found = all.find(name);
  const bool is_set = found != all.end() && !(rest.starts_with(":") && found->second.text.empty());
  if (rest.starts_with(":")) rest.erase(0, 1);
  if (found != all.end()) has_unsure = has_unsure || found->second.may_differ;
  if (rest.starts_with("+")) return is_set ? expanded(unquoted(rest.substr(1)), depth) : "";
  if (!rest.empty() && !rest.starts_with("-") && !rest.starts_with("=")) return word;
  if (is_set) return found->second.text;
  if (rest.empty()) return word;
  std::string usual = expanded(unquoted(rest.substr(1)), depth);
  if (rest.starts_with("=")) all[name] = {usual, 0, false};
  return usual;
}

ShellList split_words(const std::string& text, int line, bool may_differ) {
  ShellList all;
  bool is_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_blank = std::isspace(static_cast<unsigned char>(text[at])) != 0;
    if (!is_blank && !is_word) all.push_back({"", line, may_differ});
    is_word = !is_blank;
    if (text[at] == '\n') ++line;
    const std::size_t end =
        text[at] == '$' || text[at] == '`' ? std::max(at + 1, behind_dollar(text, at)) : at + 1;
    if (is_word) all.back().text += text.substr(at, end - at);
    at = end;
  }
  return all;
}

std::string variable_in(const std::string& text) {
  if (text.size() < 2 || text.front() != '$') return "";
  std::string name = text.substr(1);
  if (name.front() == '{' && name.back() == '}') name = name.substr(1, name.size() - 2);
  for (const std::string all : {"[@]", "[*]"})
    if (name.ends_with(all)) name.erase(name.size() - all.size());
  return name;
}

void keep_both(ShellList& list, ShellList before) {
  const bool goes_on = list.size() >= before.size() &&
                       std::equal(before.begin(), before.end(), list.begin(), is_same);
  if (goes_on) return std::copy(before.begin(), before.end(), list.begin()), void();
  for (ShellWord& word : before) word.may_differ = true;
  list.insert(list.begin(), before.begin(), before.end());
}

void mark_changes(ShellList& list, const ShellList& again) {
  const bool goes_on =
      again.size() >= list.size() && std::equal(list.begin(), list.end(), again.begin(), is_same);
  const std::size_t more = goes_on ? again.size() - list.size() : 0;
  if (goes_on && more <= list.size() &&
      std::equal(list.end() - static_cast<std::ptrdiff_t>(more), list.end(),
                 again.end() - static_cast<std::ptrdiff_t>(more), is_same))
    return;
  const std::size_t before = list.size();
  list.insert(list.end(), again.begin() + static_cast<std::ptrdiff_t>(goes_on ? before : 0),
              again.end());
  for (std::size_t i = goes_on ? before : 0; i < list.size(); ++i) list[i].may_differ = true;
}

void mark_second(ShellList& list, std::size_t begin, std::size_t second) {
  for (std::size_t i = begin; i < second; ++i) {
    const std::size_t again = second + i - begin;
    if (again >= list.size() || !is_same(list[i], list[again])) list[i].may_differ = true;
  }
}

}  // namespace sgdsim
