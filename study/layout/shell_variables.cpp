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

// Behind "[...]", which it begins with; 0: nothing closes it.
std::size_t behind_bracket(const std::string& text) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == '[' ? 1 : text[at] == ']' ? -1 : 0;
    if (depth == 0) return text[at] == ']' ? at + 1 : 0;
  }
  return 0;
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
    const auto number = number_of(word.substr(3, word.size() - 5), depth);
    return number ? std::to_string(*number) : word;
  }
  if (word.starts_with("$(")) return word;
  const bool has_braces = word.starts_with("${");
  const std::string inside = has_braces ? word.substr(2, word.size() - 3) : word.substr(1);
  if (inside.starts_with("!")) return value_pointed_to(word, inside, depth);
  if (has_braces && inside.starts_with("#")) return count_of(word, inside);
  auto asked = asked_for(inside, depth);
  if (!asked) return word;
  const ShellWord* found = asked->word;
  std::string& rest = asked->rest;
  const bool is_set = found != nullptr && !(rest.starts_with(":") && found->text.empty());
  if (rest.starts_with(":")) rest.erase(0, 1);
  if (found != nullptr) note_unsure(*found);
  if (rest.starts_with("+")) return is_set ? expanded(unquoted(rest.substr(1)), depth) : "";
  const bool sets = rest.starts_with("=") && !asked->is_item;
  if (!rest.empty() && !rest.starts_with("-") && !sets) return word;
  if (is_set) return found->text;
  if (rest.empty()) return word;
  std::string usual = expanded(unquoted(rest.substr(1)), depth);
  if (sets) all[asked->name] = {usual, 0, false};
  return usual;
}

void ShellVariables::note_unsure(const ShellWord& word) {
  if (word.may_differ && !has_unsure) why = word.why;
  has_unsure = has_unsure || word.may_differ;
}

std::optional<int64_t> ShellVariables::number_of(const std::string& text, int depth) {
  return shell_arithmetic(text, [&](const std::string& name) { return expanded(name, depth); });
}

// "${A}" of an array is its first element.
std::optional<ShellVariables::Asked> ShellVariables::asked_for(const std::string& inside,
                                                               int depth) {
  const std::size_t end = end_of_name(inside, 0);
  Asked asked{nullptr, inside.substr(0, end), inside.substr(end)};
  std::string& rest = asked.rest;
  const auto array = items.find(asked.name);
  const bool is_whole = rest == "[@]" || rest == "[*]";
  asked.is_item = !is_whole && (array != items.end() || rest.starts_with("["));
  if (asked.is_item) {
    const std::size_t behind = rest.starts_with("[") ? behind_bracket(rest) : 0;
    const bool is_new = array == items.end() && !all.contains(asked.name);
    if ((rest.starts_with("[") && behind == 0) || (array == items.end() && !is_new)) return {};
    const std::string place = behind == 0 ? "0" : rest.substr(1, behind - 2);
    rest.erase(0, behind);
    if (is_new) return asked;
    const auto known = place_in(array->second, place, depth);
    if (!known) return {};
    asked.word = item(array->second, *known);
    return asked;
  }
  if (is_whole) rest = "";
  if (const auto found = all.find(asked.name); found != all.end()) asked.word = &found->second;
  return asked;
}

const ShellWord* ShellVariables::item(const ShellItems& of, const std::string& place) {
  const auto found = of.all.find(place);
  if (of.may_differ) note_unsure({"", 0, true});
  return found == of.all.end() ? nullptr : &found->second;
}

std::optional<std::string> ShellVariables::place_in(const ShellItems& of, const std::string& text,
                                                    int depth) {
  if (of.has_names) {
    const std::string name = expanded(unquoted(text), depth);
    return name.find_first_of("$`") == std::string::npos ? std::optional(name) : std::nullopt;
  }
  auto number = number_of(text.starts_with("-") ? "0" + text : text, depth);
  if (number && *number < 0) *number += of.behind_last();
  return number && *number >= 0 ? std::optional(std::to_string(*number)) : std::nullopt;
}

// "${!A}": of the variable, or element, that the text of A names.
std::string ShellVariables::value_pointed_to(const std::string& word, const std::string& inside,
                                             int depth) {
  const std::size_t end = end_of_name(inside, 1);
  const auto pointer = all.find(inside.substr(1, end - 1));
  const std::string rest = inside.substr(end);
  if (pointer == all.end() || rest.starts_with("[") || rest.starts_with("*") ||
      rest.starts_with("@"))
    return word;
  note_unsure(pointer->second);
  const std::string& name = pointer->second.text;
  const std::size_t end_of_its = end_of_name(name, 0);
  if (end_of_its == 0 || name.find_first_of("$`") != std::string::npos ||
      (end_of_its < name.size() &&
       behind_bracket(name.substr(end_of_its)) != name.size() - end_of_its))
    return word;
  const std::string other = "${" + name + rest + "}";
  const std::string value = expanded(other, depth);
  return value == other ? word : value;
}

// "${#A[@]}".
std::string ShellVariables::count_of(const std::string& word, const std::string& inside) {
  const std::size_t end = end_of_name(inside, 1);
  const auto array = items.find(inside.substr(1, end - 1));
  const std::string rest = inside.substr(end);
  if (array == items.end() || (rest != "[@]" && rest != "[*]")) return word;
  item(array->second, "");
  return std::to_string(array->second.all.size());
}

int64_t ShellItems::behind_last() const {
  return all.empty() || has_names ? 0 : std::stoll(all.rbegin()->first) + 1;
}

std::vector<ShellWord> ShellItems::listed() const {
  ShellList words;
  for (const auto& [place, word] : all) {
    const bool has_flags = word.text.find("--", 1) != std::string::npos;
    const ShellList some =
        has_flags ? split_words(word.text, word.line, word.may_differ) : ShellList{word};
    words.insert(words.end(), some.begin(), some.end());
  }
  return words;
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

void mark(ShellWord& word, Unsure why) {
  if (!word.may_differ) word.why = why;
  word.may_differ = true;
}

ShellWord joined(const ShellList& words, int line) {
  ShellWord all{"", line};
  for (const ShellWord& word : words) {
    all.text += (all.text.empty() ? "" : " ") + word.text;
    if (word.may_differ) mark(all, word.why);
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
  for (std::size_t i = goes_on ? before : 0; i < list.size(); ++i) mark(list[i], Unsure::in_loop);
}

void mark_changes(ShellItems& items, const ShellItems& again) {
  for (auto& [place, word] : items.all)
    if (const auto other = again.all.find(place);
        other == again.all.end() || !is_same(word, other->second))
      mark(word, Unsure::in_loop);
  items.may_differ = items.may_differ || items.all.size() != again.all.size();
}

void mark_second(ShellList& list, std::size_t begin, std::size_t second) {
  for (std::size_t i = begin; i < second; ++i) {
    const std::size_t again = second + i - begin;
    if (again >= list.size() || !is_same(list[i], list[again])) mark(list[i], Unsure::in_loop);
  }
}

}  // namespace sgdsim
