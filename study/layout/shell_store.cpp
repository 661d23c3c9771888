// A variable is a text, and a list of the words of that text.
#include "study/layout/shell_store.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "sim/core/error.h"

namespace sgdsim {

void ShellStore::count(std::size_t words) {
  steps_ += words;
  if (steps_ > most_steps)
    throw InputError(file_, "it is too long or too deep to be followed; say the layout in words");
}

void ShellStore::append(ShellList& all, const ShellList& more) {
  count(more.size());
  all.insert(all.end(), more.begin(), more.end());
}

ShellList ShellStore::words_of(const ShellToken& token) {
  if (mode_ == Mode::skip) return {};
  if (const auto found = lists_.find(variable_in(token.text)); found != lists_.end())
    return found->second;
  variables_.has_unsure = false;
  const std::string text = variables_.expanded(token.text);
  const bool may_differ = variables_.has_unsure || mode_ == Mode::may_run;
  if (token.is_quoted && text.find("--", 1) == std::string::npos)
    return {{text, token.line, may_differ}};
  return split_words(text, token.line, may_differ);
}

ShellList ShellStore::words_of_value(const ShellToken& token, std::size_t from) {
  ShellList all;
  for (const ShellWord& word : split_words(token.text.substr(from), token.line, false))
    append(all, words_of({word.text, word.line, false, false}));
  return all;
}

std::string ShellStore::known_text(const std::string& text) {
  variables_.has_unsure = false;
  const std::string value = variables_.expanded(text);
  return variables_.has_unsure ? "$(" + value + ")" : value;
}

void ShellStore::put(const std::string& name, const ShellList& words, int line, bool is_more,
                     Ends ends) {
  ShellList& list = lists_[name];
  const ShellList before = list;
  count(before.size() + words.size());
  const auto old = variables_.all.find(name);
  const bool is_parted = old != variables_.all.end() && old->second.text.ends_with(' ');
  if (is_more && ends.goes_on && !is_parted && !list.empty() && !words.empty()) {
    ShellWord& last = list.back();
    last.text += words.front().text;
    last.may_differ = last.may_differ || words.front().may_differ || mode_ == Mode::may_run;
    append(list, {words.begin() + 1, words.end()});
  } else if (is_more) {
    append(list, words);
  } else {
    list = words;
    if (mode_ == Mode::may_run) keep_both(list, before);
  }
  std::string text;
  bool may_differ = false;
  for (const ShellWord& word : list) {
    text += (text.empty() ? "" : " ") + word.text;
    may_differ = may_differ || word.may_differ;
  }
  if (ends.has_blank) text += ' ';
  count(text.size() / 1000);
  variables_.all[name] = {text, line, may_differ};
  append(assigned_, words);
  assigned_.push_back({"", line, false, true});
}

void ShellStore::put_item(const std::string& name, const std::string& place, const ShellList& words,
                          int line) {
  constexpr std::size_t most_digits = 6;
  const ShellList list = lists_[name];
  const bool is_number =
      !place.empty() && place.size() < most_digits &&
      std::all_of(place.begin(), place.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  const std::size_t at = is_number ? std::stoul(place) : list.size() + 1;
  if (mode_ == Mode::may_run || at > list.size() || words.size() > 1)
    return forget_value(name, line);
  ShellList changed = list;
  changed.resize(std::max(list.size(), at + 1));
  changed[at] = words.empty() ? ShellWord{"", line} : words.front();
  put(name, changed, line, false);
}

void ShellStore::forget_value(const std::string& name, int line) {
  put(name, {{"$" + name, line, true}}, line, false);
}

void ShellStore::unset(const std::string& name, int line) {
  if (mode_ == Mode::may_run) return forget_value(name, line);
  variables_.all.erase(name);
  lists_.erase(name);
}

ShellStore::Kept ShellStore::kept(const std::string& name) const {
  Kept one{name, {}, {}};
  if (const auto found = variables_.all.find(name); found != variables_.all.end())
    one.word = found->second;
  if (const auto found = lists_.find(name); found != lists_.end()) one.list = found->second;
  return one;
}

void ShellStore::restore(const Kept& before) {
  variables_.all.erase(before.name);
  lists_.erase(before.name);
  if (before.word) variables_.all[before.name] = *before.word;
  if (before.list) lists_[before.name] = *before.list;
}

ShellStore::Scope ShellStore::scope() {
  for (const auto& [name, word] : variables_.all) count(1 + word.text.size() / 100);
  for (const auto& [name, list] : lists_) count(1 + list.size());
  return {variables_, lists_};
}

void ShellStore::keep_first_pass(const Scope& first) {
  const auto second = std::exchange(lists_, first.lists);
  const auto changed = std::exchange(variables_, first.variables).all;
  for (auto& [name, word] : variables_.all) {
    const auto again = changed.find(name);
    word.may_differ = word.may_differ || again == changed.end() || again->second.text != word.text;
  }
  for (auto& [name, list] : lists_)
    if (const auto again = second.find(name); again != second.end())
      mark_changes(list, again->second);
    else
      for (ShellWord& word : list) word.may_differ = true;
}

}  // namespace sgdsim
