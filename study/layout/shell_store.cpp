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
  const Unsure why = variables_.has_unsure ? variables_.why : Unsure::below_test;
  if (token.is_quoted && text.find("--", 1) == std::string::npos)
    return {{text, token.line, may_differ, false, why}};
  ShellList words = split_words(text, token.line, may_differ);
  for (ShellWord& word : words) word.why = why;
  return words;
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
    if (words.front().may_differ) mark(last, words.front().why);
    if (mode_ == Mode::may_run) mark(last, Unsure::below_test);
    append(list, {words.begin() + 1, words.end()});
  } else if (is_more) {
    append(list, words);
  } else {
    list = words;
    if (mode_ == Mode::may_run) keep_both(list, before);
  }
  ShellWord whole = joined(list, line);
  if (ends.has_blank) whole.text += ' ';
  count(whole.text.size() / 1000);
  variables_.all[name] = whole;
  variables_.items.erase(name);
  append(assigned_, words);
  assigned_.push_back({"", line, false, true});
}

void ShellStore::put_item(const std::string& name, const std::string& place, const ShellList& words,
                          int line) {
  const auto array = variables_.items.find(name);
  const bool is_array = array != variables_.items.end();
  ShellItems items = is_array ? array->second : ShellItems{};
  variables_.has_unsure = items.may_differ;
  const auto at = variables_.place_in(items, place);
  const bool is_known = at && !variables_.has_unsure && mode_ == Mode::run &&
                        (is_array || !variables_.all.contains(name));
  if (!is_known) return forget_value(name, line, reason());
  items.all[*at] = joined(words, line);
  put(name, items.listed(), line, false);
  variables_.items[name] = std::move(items);
}

Unsure ShellStore::reason() const {
  return mode_ == Mode::may_run ? Unsure::below_test : Unsure::by_command;
}

void ShellStore::forget_value(const std::string& name, int line, Unsure why) {
  put(name, {{"$" + name, line, true, false, why}}, line, false);
}

void ShellStore::unset(const std::string& name, int line) {
  if (mode_ == Mode::may_run) return forget_value(name, line, reason());
  variables_.all.erase(name);
  variables_.items.erase(name);
  lists_.erase(name);
}

ShellStore::Kept ShellStore::kept(const std::string& name) const {
  Kept one{name, {}, {}};
  if (const auto found = variables_.all.find(name); found != variables_.all.end())
    one.word = found->second;
  if (const auto found = lists_.find(name); found != lists_.end()) one.list = found->second;
  if (const auto found = variables_.items.find(name); found != variables_.items.end())
    one.items = found->second;
  return one;
}

void ShellStore::restore(const Kept& before) {
  variables_.all.erase(before.name);
  lists_.erase(before.name);
  variables_.items.erase(before.name);
  if (before.items) variables_.items[before.name] = *before.items;
  if (before.word) variables_.all[before.name] = *before.word;
  if (before.list) lists_[before.name] = *before.list;
}

ShellStore::Scope ShellStore::scope() {
  for (const auto& [name, word] : variables_.all) count(1 + word.text.size() / 100);
  for (const auto& [name, list] : lists_) count(1 + list.size());
  for (const auto& [name, items] : variables_.items) count(1 + items.all.size());
  return {variables_, lists_};
}

void ShellStore::keep_first_pass(const Scope& first) {
  const auto second = std::exchange(lists_, first.lists);
  const auto changed = std::exchange(variables_, first.variables);
  for (auto& [name, word] : variables_.all)
    if (const auto again = changed.all.find(name);
        again == changed.all.end() || again->second.text != word.text)
      mark(word, Unsure::in_loop);
  for (auto& [name, items] : variables_.items) {
    const auto again = changed.items.find(name);
    mark_changes(items, again == changed.items.end() ? ShellItems{} : again->second);
  }
  for (auto& [name, list] : lists_)
    if (const auto again = second.find(name); again != second.end())
      mark_changes(list, again->second);
    else
      for (ShellWord& word : list) mark(word, Unsure::in_loop);
}

}  // namespace sgdsim
