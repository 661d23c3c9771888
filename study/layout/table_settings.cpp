// One pass over lines, those with open brackets joined; what is in brackets is read by descent.
#include "study/layout/table_settings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "sim/core/error.h"
#include "study/layout/setting_text.h"

namespace sgdsim {
namespace {

constexpr std::size_t longest_name = 1000;  // nothing that is asked for has so many letters
constexpr int deepest = 50;                 // brackets within brackets
constexpr std::size_t most_settings = 200'000;

bool opens(char c) { return c == '{' || c == '['; }
bool closes(char c) { return c == '}' || c == ']'; }

// No longer than what set() passes over.
std::string joined(const std::string& path, const std::string& name) {
  if (path.size() > longest_name) return path;
  const std::string cut = name.substr(0, longest_name + 1);
  return path.empty() ? cut : path + "." + cut;
}

// Of YAML: what stands elsewhere, and may be several things.
bool is_merge_key(const std::string& name) { return name == "<<"; }

// What is told and where, for both languages.
class Tables {
 public:
  virtual ~Tables() = default;
  Tables(const std::string& file, char sign) : file_(file), sign_(sign) {}

 protected:
  [[noreturn]] void fail(const std::string& sentence) const {
    throw InputError(file_ + ": line " + std::to_string(line_), sentence);
  }
  void set(const std::string& name, const std::string& value) {
    if (name.size() > longest_name) return;
    if (all_.size() >= most_settings)
      fail("expected at most " + std::to_string(most_settings) + " settings");
    all_.push_back({name, value, line_, ""});
  }
  // A key stands once in its table, or nobody knows which value is meant.
  void take_key(const std::string& path) {
    if (path.size() <= longest_name && !keys_.insert(path).second)
      fail("the key \"" + path + "\" occurs twice in one table");
  }
  // Of a table that begins again, as the next of a list does.
  static void forget_below(const std::string& path, std::set<std::string>& all) {
    const auto from = all.lower_bound(path + ".");
    auto to = from;
    while (to != all.end() && to->starts_with(path + ".")) ++to;
    all.erase(from, to);
  }
  // A text whose brackets are open goes on in the next lines.
  std::string whole_value(std::string value, std::istringstream& lines) {
    const int first = line_;
    int depth = depth_of(value);
    for (std::string more; depth > 0; value += " " + more) {
      if (!std::getline(lines, more)) {
        line_ = first;
        fail("a bracket is opened and not closed");
      }
      ++number_;
      more = trimmed(without_comment(more));
      depth += depth_of(more);
    }
    return value;
  }
  // "{a: 1, b: {c: 2}}" below a path.
  void read_braces(const std::string& text, const std::string& path) {
    std::size_t at = 0;
    braces(text, at, path, 0);
    if (at < text.size()) fail("\"" + text.substr(at, 20) + "\" stands behind a closed bracket");
  }

  const std::string& file_;
  char sign_;       // between a name and its value
  int number_ = 0;  // of the last line read
  int line_ = 0;    // where what is read now begins
  std::vector<TableSetting> all_;
  std::set<std::string> keys_;  // that are taken

 private:
  // What a value in braces is may be more than text, in YAML.
  virtual void scalar(const std::string& path, const std::string& value) = 0;
  static int depth_of(const std::string& text) {
    int depth = 0;
    for (std::size_t at = 0; at < text.size(); at = behind(text, at))
      depth += opens(text[at]) ? 1 : closes(text[at]) ? -1 : 0;
    return depth;
  }
  // Behind this letter, or behind all that its quotes hold.
  static std::size_t behind(const std::string& text, std::size_t at) {
    if (text[at] != '"' && text[at] != '\'') return at + 1;
    const std::size_t end = text.find(text[at], at + 1);
    return end == std::string::npos ? at + 1 : end + 1;
  }
  static void pass_blanks(const std::string& text, std::size_t& at) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  }
  // Up to one of these letters outside of quotes and of brackets of its own.
  std::string part(const std::string& text, std::size_t& at, const std::string& ends) const {
    const std::size_t from = at;
    for (int depth = 0; at < text.size(); at = behind(text, at)) {
      if (depth == 0 && ends.find(text[at]) != std::string::npos) break;
      depth += opens(text[at]) ? 1 : closes(text[at]) ? -1 : 0;
      if (depth > deepest) fail("brackets lie deeper than " + std::to_string(deepest));
    }
    return trimmed(text.substr(from, at - from));
  }
  void braces(const std::string& text, std::size_t& at, const std::string& path, int depth) {
    if (depth > deepest) fail("brackets lie deeper than " + std::to_string(deepest));
    ++at;
    for (pass_blanks(text, at); at < text.size() && text[at] != '}'; pass_blanks(text, at)) {
      const std::string name = unquoted(part(text, at, std::string(1, sign_) + ",}"));
      const bool has_value = at < text.size() && text[at] == sign_;
      if (has_value && !is_merge_key(name)) take_key(joined(path, name));
      if (has_value) member(text, ++at, joined(path, name), depth);
      if (at < text.size() && text[at] == ',') ++at;
    }
    if (at < text.size()) ++at;
  }
  void member(const std::string& text, std::size_t& at, const std::string& path, int depth) {
    pass_blanks(text, at);
    if (at < text.size() && text[at] == '{') return braces(text, at, path, depth + 1);
    scalar(path, part(text, at, ",}"));
  }
};

class Toml final : public Tables {
 public:
  explicit Toml(const std::string& file) : Tables(file, '=') {}

  std::vector<TableSetting> read(const std::string& text) {
    std::istringstream lines(text);
    for (std::string raw; std::getline(lines, raw);) {
      line_ = ++number_;
      const std::string bare = trimmed(without_comment(raw));
      if (bare.starts_with('[') && bare.ends_with(']'))
        begin_table(name_of(bare.substr(1, bare.size() - 2)));
      else if (const std::size_t sign = bare.find('='); sign != std::string::npos)
        assign(joined(table_, name_of(bare.substr(0, sign))), trimmed(bare.substr(sign + 1)),
               lines);
    }
    return std::move(all_);
  }

 private:
  // "a . 'b'" is "a.b".
  static std::string name_of(std::string text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '"' || c == '\''; });
    return text;
  }
  // "[[x]]" is one more of a list, whose tables and keys begin again.
  void begin_table(const std::string& name) {
    table_ = name;
    if (!name.starts_with('[')) {
      if (!tables_.insert(name).second) fail("the table [" + name + "] occurs twice");
      return;
    }
    const std::string list = name.substr(1, name.size() - 2);
    for (const std::string& place : {name, list}) forget_below(place, keys_);
    forget_below(list, tables_);
  }
  void assign(const std::string& name, const std::string& value, std::istringstream& lines) {
    take_key(name);
    const std::string quotes = value.substr(0, 3);
    if (quotes == "\"\"\"" || quotes == "'''") return pass_text(value.substr(3), quotes, lines);
    scalar(name, !value.empty() && opens(value.front()) ? whole_value(value, lines) : value);
  }
  void pass_text(std::string text, const std::string& quotes, std::istringstream& lines) {
    while (text.find(quotes) == std::string::npos && std::getline(lines, text)) ++number_;
  }
  void scalar(const std::string& path, const std::string& value) override {
    if (value.starts_with('{')) return read_braces(value, path);
    std::string text = unquoted(value);
    if (value.find_first_not_of("0123456789_") == std::string::npos)
      std::erase(text, '_');  // 8_192
    set(path, text);
  }

  std::string table_;
  std::set<std::string> tables_;  // that have begun
};

class Yaml final : public Tables {
 public:
  explicit Yaml(const std::string& file) : Tables(file, ':') {}

  std::vector<TableSetting> read(const std::string& text) {
    std::istringstream lines(text);
    for (std::string raw; std::getline(lines, raw);) {
      line_ = ++number_;
      const std::string line = without_comment(raw);
      const std::string bare = trimmed(line);
      if (bare.empty() || bare == "...") continue;
      const std::size_t indent = line.find_first_not_of(" \t");
      if (text_below_ && indent > *text_below_) continue;
      text_below_.reset();
      if (bare.starts_with("---"))
        begin_document();
      else
        node(indent, bare, lines);
    }
    end_blank();
    return resolved(std::move(all_));
  }

 private:
  void begin_document() {
    end_blank();
    above_.clear();
    keys_.clear();
  }
  // Of "name:" with nothing below it.
  void end_blank() {
    if (!std::exchange(is_value_next_, false)) return;
    const int line = std::exchange(line_, line_of_name_);
    set(path(), "null");
    line_ = line;
  }
  void node(std::size_t indent, const std::string& text, std::istringstream& lines) {
    const bool is_item = text == "-" || text.starts_with("- ");
    if (is_value_next_ && indent + (is_item ? 1 : 0) <= above_.back().first) end_blank();
    const bool is_value = std::exchange(is_value_next_, false);
    if (is_item) return item(indent, text, lines);
    const std::size_t names = above_.size();
    pop_above(indent);
    if (text.front() == '{') return scalar(path(), whole_value(text, lines));
    const std::size_t quoted =
        text.front() == '"' || text.front() == '\'' ? text.find(text[0], 1) : 0;
    const std::size_t sign = text.find(':', quoted == std::string::npos ? 0 : quoted);
    if (sign == std::string::npos) {
      if (is_value && above_.size() == names)
        scalar(path(), opens(text.front()) ? whole_value(text, lines) : text);
      return;  // otherwise a text that goes on
    }
    const std::string name = unquoted(text.substr(0, sign));
    value(indent, name, trimmed(text.substr(sign + 1)), lines);
  }
  void value(std::size_t indent, const std::string& name, std::string value,
             std::istringstream& lines) {
    const std::string whole = joined(path(), name);
    if (!is_merge_key(name)) take_key(whole);
    value = without_marks(whole, value);
    is_value_next_ = value.empty();
    line_of_name_ = line_;
    if (value.empty())
      above_.emplace_back(indent, name);
    else if (value.front() == '|' || value.front() == '>')
      text_below_ = indent;
    else
      scalar(whole, opens(value.front()) ? whole_value(value, lines) : value);
  }
  // What stands behind the dash is text of the list; its own names are asked for by nobody.
  void item(std::size_t indent, const std::string& text, std::istringstream& lines) {
    pop_above(indent + 1);
    std::string rest = trimmed(text.substr(1));
    if (!rest.empty() && opens(rest.front())) rest = whole_value(rest, lines);
    add_item(path(), unquoted(rest));
    above_.emplace_back(indent + 1, "-");
    forget_below(path(), keys_);
    const bool has_names = rest.find(": ") != std::string::npos || rest.ends_with(':');
    if (has_names && !opens(rest.front())) node(indent + 2, rest, lines);
  }
  void add_item(const std::string& list, const std::string& text) {
    if (list.size() > longest_name) return;
    const auto [found, is_new] = lists_.emplace(list, all_.size());
    if (is_new) return set(list, "[" + text + "]");
    std::string& value = all_[found->second].value;
    value.pop_back();
    value += ", " + text + "]";
  }
  // Those that are not left of it.
  void pop_above(std::size_t indent) {
    while (!above_.empty() && above_.back().first >= indent) above_.pop_back();
  }
  std::string path() const {
    std::string path;
    for (const auto& [indent, name] : above_) path = joined(path, name);
    return path;
  }
  // Without "&anchor" and "!type".
  std::string without_marks(const std::string& path, std::string value) {
    while (value.starts_with('&') || value.starts_with('!')) {
      const std::size_t end = std::min(value.find(' '), value.size());
      if (value.front() == '&') anchors_[value.substr(1, end - 1)] = path;
      value = trimmed(value.substr(end));
    }
    return value;
  }
  void scalar(const std::string& path, const std::string& marked) override {
    const std::string value = without_marks(path, marked);
    const bool is_merge = path == "<<" || path.ends_with(".<<");
    if (value.starts_with('{')) return read_braces(value, path);
    if (!is_merge && !value.starts_with('*')) return set(path, unquoted(value));
    const std::string to = !is_merge         ? path
                           : path.size() > 2 ? path.substr(0, path.size() - 3)
                                             : "";
    std::istringstream names(value);
    for (std::string name; std::getline(names, name, ',');) copy(name, to, is_merge);
  }
  // All that lies at "*anchor", for what has its name here.
  void copy(std::string name, const std::string& to, bool is_merge) {
    std::erase_if(name, [](char c) { return opens(c) || closes(c) || c == ' ' || c == '*'; });
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) fail("*" + name + " has no anchor &" + name + " before it");
    if (++copies_ > most_copies)
      fail("expected at most " + std::to_string(most_copies) + " aliases");
    const std::string from = found->second;
    std::vector<TableSetting> some;
    for (const TableSetting& one : all_)
      if (one.name == from || one.name.starts_with(from + ".")) some.push_back(one);
    for (const TableSetting& one : resolved(std::move(some))) {
      const std::string rest = one.name.substr(std::min(from.size() + 1, one.name.size()));
      set(rest.empty() ? to : joined(to, rest), one.value);
      if (is_merge) all_.back().unless = joined(to, rest.substr(0, rest.find('.')));
    }
  }
  // A table that is merged into another gives only what that has not.
  static std::vector<TableSetting> resolved(std::vector<TableSetting> all) {
    std::set<std::string> said;
    for (const TableSetting& one : all)
      if (one.unless.empty()) said.insert(one.name);
    std::erase_if(all, [&](const TableSetting& one) {
      if (one.unless.empty()) return false;
      const auto below = said.lower_bound(one.unless + ".");
      return said.contains(one.unless) ||
             (below != said.end() && below->starts_with(one.unless + "."));
    });
    // Of several the first counts, which therefore goes last.
    const auto own = std::stable_partition(
        all.begin(), all.end(), [](const TableSetting& one) { return !one.unless.empty(); });
    std::reverse(all.begin(), own);
    return all;
  }

  static constexpr int most_copies = 1000;
  std::vector<std::pair<std::size_t, std::string>> above_;  // indentation and name
  std::optional<std::size_t> text_below_;                   // a block of text, right of it
  bool is_value_next_ = false;                              // "name:" alone, above its value
  int line_of_name_ = 0;                                    // and where that is
  std::map<std::string, std::size_t> lists_;
  std::map<std::string, std::string> anchors_;
  int copies_ = 0;
};

}  // namespace

std::vector<TableSetting> yaml_settings(const std::string& text, const std::string& file) {
  return Yaml(file).read(text);
}

std::vector<TableSetting> toml_settings(const std::string& text, const std::string& file) {
  return Toml(file).read(text);
}

}  // namespace sgdsim
