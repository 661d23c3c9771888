// Words are taken as they stand for variables at that place.
#include "study/layout/shell_reader.h"

#include <algorithm>
#include <cctype>

#include "sim/core/error.h"
#include "study/layout/setting_text.h"
#include "study/layout/shell_arithmetic.h"
#include "study/layout/shell_unread.h"

namespace sgdsim {
namespace {

// "> log", "2>&1", "&>log", "< file".
std::size_t end_of_redirection(const ShellToken& token) {
  if (token.is_quoted) return std::string::npos;
  const std::size_t sign = token.text.find_first_not_of("0123456789&");
  if (sign == std::string::npos || (token.text[sign] != '<' && token.text[sign] != '>'))
    return std::string::npos;
  return std::min(token.text.find_first_not_of("<>&|", sign), token.text.size());
}

std::string unsure_name(std::size_t number) { return "__unsure" + std::to_string(number); }

}  // namespace

void ShellReader::back_to(const Outside& before) {
  variables_ = before.scope.variables;
  lists_ = before.scope.lists;
  given_ = before.given;
  is_given_ = before.is_given;
  mode_ = before.mode;
  rest_ = before.rest;
  exit_ = before.exit;
}

bool ShellReader::is_at(Ends words) const {
  if (!is_word() || tokens_[at_].is_quoted) return false;
  const std::string& text = tokens_[at_].text;
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return text == word; });
}

bool ShellReader::is_function() const {
  const std::size_t name = at_ + (is_at({"function"}) ? 1 : 0);
  if (name + 2 >= tokens_.size() || tokens_[name].is_sign || is_array()) return false;
  return name > at_ || (tokens_[name + 1].is("(") && tokens_[name + 2].is(")"));
}

bool ShellReader::is_simple_piped() const {
  const Tokens rest = tokens_.subspan(std::min(at_, tokens_.size()));
  const auto end =
      std::find_if(rest.begin(), rest.end(), [](const ShellToken& one) { return one.is_sign; });
  return end != rest.end() && (end->text == "|" || end->text == "&");
}

std::optional<ShellReader::Target> ShellReader::target_of(const ShellToken& token) {
  const std::string& text = token.text;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || text.starts_with("-")) return {};
  Target target;
  target.is_more = text[equals - 1] == '+';
  target.from = equals + 1;
  target.name = text.substr(0, equals - (target.is_more ? 1 : 0));
  if (const std::size_t open = target.name.find('[');
      open != std::string::npos && target.name.back() == ']') {
    target.place = target.name.substr(open + 1, target.name.size() - open - 2);
    target.name.resize(open);
  }
  return is_setting_name(target.name) ? std::optional(target) : std::nullopt;
}

bool ShellReader::assign() {
  const ShellToken& token = tokens_[at_];
  const auto target = target_of(token);
  if (!target) return false;
  ShellList words;
  ShellStore::Ends ends;
  std::optional<ShellItems> items;
  if (is_array()) {
    items = items_here(*target, words);
  } else {
    words = words_of_value(token, target->from);
    const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    if (token.text.size() > target->from)
      ends = {!is_blank(token.text[target->from]), is_blank(token.text.back())};
  }
  if (mode_ == Mode::skip) return passed_.insert(target->name), true;
  if (target->place && target->is_more)
    forget_value(target->name, token.line);
  else if (target->place)
    put_item(target->name, *target->place, words, token.line);
  else
    put(target->name, words, token.line, target->is_more, ends);
  if (items) variables_.items[target->name] = std::move(*items);
  return true;
}

std::optional<ShellItems> ShellReader::items_here(const Target& target, ShellList& words) {
  const auto before = variables_.items.find(target.name);
  const bool is_array = before != variables_.items.end();
  bool is_known = !target.is_more || is_array || !variables_.all.contains(target.name);
  ShellItems items = target.is_more && is_array ? before->second : ShellItems{};
  items.has_names = is_array && before->second.has_names;
  int64_t next = items.behind_last();
  for (at_ += 2; !is_end() && !is_sign(")"); ++at_) {
    if (tokens_[at_].is_sign) continue;
    const auto [place, token] = placed(tokens_[at_]);
    const ShellList some = words_of(token);
    append(words, some);
    is_known = is_known && has_places(token, some) && (place || !items.has_names);
    if (!is_known) continue;
    variables_.has_unsure = false;
    const auto at = variables_.place_in(items, place.value_or(std::to_string(next)));
    is_known = at && !variables_.has_unsure;
    if (!is_known) continue;
    if (!items.has_names) next = std::stoll(*at);
    const bool is_one = place || some.empty() || token.is_quoted;
    const ShellList all = is_one ? ShellList{joined(some, token.line)} : some;
    for (const ShellWord& word : all)
      items.all[items.has_names ? *at : std::to_string(next++)] = word;
  }
  items.may_differ = items.may_differ || mode_ == Mode::may_run;
  return is_known ? std::optional(std::move(items)) : std::nullopt;
}

std::pair<std::optional<std::string>, ShellToken> ShellReader::placed(ShellToken token) {
  const std::size_t end = token.text.starts_with("[") ? token.text.find("]=") : std::string::npos;
  if (end == std::string::npos) return {std::nullopt, token};
  const std::string place = token.text.substr(1, end - 1);
  token.text.erase(0, end + 2);
  return {place, token};
}

bool ShellReader::has_places(const ShellToken& token, const ShellList& words) const {
  const bool is_whole =
      token.text.find("[@]") != std::string::npos || token.text.find("$@") != std::string::npos;
  if (is_whole) return false;
  if (token.is_quoted) return true;
  return std::none_of(words.begin(), words.end(), [](const ShellWord& word) {
    return word.text.find_first_of("$`*?{[") != std::string::npos;
  });
}

bool ShellReader::is_array() const {
  return at_ + 1 < tokens_.size() && tokens_[at_].text.ends_with("=") && tokens_[at_ + 1].is("(");
}

void ShellReader::pass_assignments() {
  for (; is_word() && target_of(tokens_[at_]); ++at_)
    if (is_array())
      while (at_ + 1 < tokens_.size() && !is_sign(")")) ++at_;
}

std::string ShellReader::separators(std::size_t from) const {
  for (; from < at_ && target_of(tokens_[from]); ++from)
    if (tokens_[from].text.starts_with("IFS=")) return tokens_[from].text.substr(4);
  return "";
}

void ShellReader::take_words() {
  const int line = calls_ > 0 ? call_line_ : line_here();
  for (; is_word(); ++at_) {
    if (tokens_[at_].is_here) continue;
    if (const std::size_t end = end_of_redirection(tokens_[at_]); end != std::string::npos) {
      const bool is_next = end == tokens_[at_].text.size();
      if (is_next && at_ + 1 < tokens_.size() && !tokens_[at_ + 1].is_sign) ++at_;
      continue;
    }
    append(words_, words_of(tokens_[at_]));
  }
  words_.push_back({"", line, false, true});
}

ShellList ShellReader::words_from(std::size_t begin) const {
  return {words_.begin() + static_cast<std::ptrdiff_t>(begin), words_.end() - 1};
}

std::string ShellReader::text_of(const ShellList& words) {
  std::string text;
  for (const ShellWord& word : words) text += word.text + ' ';
  return text;
}

ShellText ShellReader::here_text(const ShellToken& token) {
  variables_.has_unsure = false;
  const std::string text = body_of(token);
  return {text, token.body_line, variables_.has_unsure};
}

ShellText ShellReader::expanded_text(const std::string& text, int line) {
  variables_.has_unsure = false;
  const std::string whole = variables_.expanded(text);
  return {whole, line, variables_.has_unsure};
}

void ShellReader::refuse_flag(const ShellWord& flag, int line) const {
  throw InputError(file_ + ": line " + std::to_string(line),
                   "bash ends the command above here, so that " + flag.text.substr(0, 60) +
                       " is taken for a program and does not reach the training; end each line "
                       "above with \\ alone, with no comment and no blank behind it");
}

void ShellReader::forget_changes(const std::string& text) {
  if (mode_ == Mode::skip) return;
  for (const std::string& name : shell_changes(text)) forget_value(name, line_here());
}

void ShellReader::name_places(const std::string& name, bool is_new) {
  if (is_new) unset(name, line_here());
  if (!variables_.all.contains(name)) variables_.items[name].has_names = true;
}

Known ShellReader::declare() {
  const bool is_export = is_at({"export"});
  bool is_local = calls_ > 0 && !is_export && !is_at({"readonly"});
  std::string options;
  for (++at_; !is_end() && tokens_[at_].text.starts_with("-"); ++at_) options += tokens_[at_].text;
  const auto has = [&](char letter) { return options.find(letter) != std::string::npos; };
  is_local = is_local && !has('g');
  for (; is_word(); ++at_) {
    const ShellToken& token = tokens_[at_];
    const std::string name = token.text.substr(0, token.text.find_first_of("+="));
    if (is_local && mode_ != Mode::skip) locals_.push_back(kept(name));
    if (has('A') && mode_ != Mode::skip) name_places(name, is_local);
    if (!assign() && is_local && mode_ != Mode::skip && !has('A')) unset(name, token.line);
    // Another name of a variable.
    if (has('n') && !is_export && mode_ != Mode::skip) forget_value(name, token.line);
  }
  return true;
}

Known ShellReader::test() {
  std::vector<std::string> words;
  for (++at_; is_word(); ++at_)
    if (!is_at({"]", "]]"})) words.push_back(known_text(tokens_[at_].text));
  return shell_test(words);
}

void ShellReader::leave(bool is_exit, int line) {
  if (is_exit && !has_trained_) return;
  if (is_exit && mode_ == Mode::run) exit_line_ = line;
  rest_ = mode_ == Mode::run ? Mode::skip : std::max(rest_, Mode::may_run);
  mode_ = std::max(mode_, rest_);
  if (is_exit) exit_ = rest_;
}

Known ShellReader::skipped(std::size_t from) {
  const auto is_flag = [](const ShellToken& one) { return one.text.starts_with("--"); };
  const Tokens command = tokens_.subspan(from, at_ - from);
  is_cut_ =
      is_cut_ || (exit_ == Mode::skip && std::any_of(command.begin(), command.end(), is_flag));
  return {};
}

ShellText ShellReader::text_for_eval(const ShellList& words, int line) {
  const auto may_differ = [](const ShellWord& word) { return word.may_differ; };
  const auto changes = [](const ShellWord& word) {
    return word.may_differ && (word.text.find_first_of(";&|()<>\n'\"`\\") != std::string::npos ||
                               target_of({word.text, 0}));
  };
  const bool is_sure = std::none_of(words.begin(), words.end(), may_differ);
  if (is_sure || words.front().may_differ || std::any_of(words.begin(), words.end(), changes))
    return {text_of(words), line, !is_sure};
  std::string text;
  for (const ShellWord& word : words) {
    const std::string name = unsure_name(unsure_words_);
    if (word.may_differ) variables_.all[name] = word;
    if (word.may_differ) ++unsure_words_;
    text += (word.may_differ ? "$" + name : word.text) + ' ';
  }
  return {text, line, false};
}

void ShellReader::forget_stand_ins(std::size_t before) {
  while (unsure_words_ > before) variables_.all.erase(unsure_name(--unsure_words_));
}

void ShellReader::keep_source(std::size_t begin) {
  const ShellList words = words_from(begin);
  if (words.size() < 2 || (words[0].text != "source" && words[0].text != ".")) return;
  const std::string& file = words[1].text;
  const bool is_there = std::find(sourced_.begin(), sourced_.end(), file) != sourced_.end();
  if (!is_there && !sets_up_shell(file)) sourced_.push_back(file);
}

void ShellReader::bind_given() {
  for (std::size_t i = 1; i <= 9; ++i) {
    const std::string name = std::to_string(i);
    variables_.all.erase(name);
    if (i <= given_.size()) variables_.all[name] = given_[i - 1];
  }
  variables_.all["#"] = {std::to_string(given_.size()), 0, false};
  for (const char* name : {"@", "*"}) lists_[name] = given_;
  if (calls_ > 0 || is_given_) return;
  for (const char* name : {"@", "*"}) lists_.erase(name);
  variables_.all.erase("#");
}

// Of "set -- a b"; options alone leave them as they are.
void ShellReader::set_given(const ShellList& words) {
  const auto mark = std::find_if(words.begin(), words.end(),
                                 [](const ShellWord& word) { return word.text == "--"; });
  if (mark == words.end()) return;
  given_.assign(mark + 1, words.end());
  is_given_ = true;
  bind_given();
  variables_.all["#"].may_differ = mode_ == Mode::may_run;
}

void ShellReader::shift() {
  if (given_.empty() || mode_ == Mode::skip) return;
  if (mode_ == Mode::run) given_.erase(given_.begin());
  if (mode_ == Mode::may_run)
    for (ShellWord& word : given_) word.may_differ = true;
  bind_given();
}

}  // namespace sgdsim
