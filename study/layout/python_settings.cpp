// One pass over statements, each with what its brackets hold.
#include "study/layout/python_settings.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <sstream>

#include "study/layout/shell_settings.h"

namespace sgdsim {
namespace {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Statement {
  std::string text;  // without comments, in one line
  std::size_t indent = 0;
  int line = 0;
};

// Lines are joined while a bracket is open; texts in three quotes are left out.
class Statements {
 public:
  explicit Statements(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) add(line);
    finish();
  }
  const std::vector<Statement>& all() const { return all_; }

 private:
  void add(const std::string& line) {
    ++number_;
    if (now_.text.empty() && !in_text_) {
      const std::size_t first = line.find_first_not_of(" \t\r");
      now_.indent = first == std::string::npos ? 0 : first;
      now_.line = number_;
    }
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string three = line.substr(i, 3);
      if (quote_ == 0 && (three == "\"\"\"" || three == "'''")) {
        in_text_ = !in_text_;
        i += 2;
        continue;
      }
      if (in_text_) continue;
      if (quote_ == 0 && line[i] == '#') break;
      step(line[i]);
    }
    quote_ = 0;  // texts end with their line
    if (depth_ > 0 || in_text_)
      now_.text += ' ';
    else
      finish();
  }
  void step(char c) {
    if (quote_ != 0)
      quote_ = c == quote_ ? '\0' : quote_;
    else if (c == '"' || c == '\'')
      quote_ = c;
    else if (c == '(' || c == '[' || c == '{')
      ++depth_;
    else if (c == ')' || c == ']' || c == '}')
      depth_ = std::max(0, depth_ - 1);
    now_.text += c;
  }
  void finish() {
    now_.text = trimmed(now_.text);
    if (!now_.text.empty()) all_.push_back(now_);
    now_ = {};
  }

  std::vector<Statement> all_;
  Statement now_;
  int number_ = 0;
  int depth_ = 0;
  char quote_ = 0;
  bool in_text_ = false;
};

// A value that needs no running: as text. A list of texts is "[a, b]".
class Literals {
 public:
  void set_constant(const std::string& name, const std::string& value) { constants_[name] = value; }

  std::optional<std::string> value_of(const std::string& raw) const {
    const std::string text = trimmed(raw);
    if (text.empty()) return {};
    const char first = text.front();
    if (first == '"' || first == '\'') {
      const std::size_t end = text.find(first, 1);
      if (end != text.size() - 1) return {};
      return text.substr(1, end - 1);
    }
    if (first == '[' && text.back() == ']') return text;
    if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '-')
      return number_of(text);
    if (text == "True" || text == "False" || text == "None") return text;
    if (text.starts_with("torch.")) return text.substr(6);  // types of numbers
    const auto found = constants_.find(text);
    if (found == constants_.end()) return {};
    return found->second;
  }

 private:
  static std::optional<std::string> number_of(std::string text) {
    std::erase(text, '_');
    const bool is_number = text.find_first_not_of("0123456789.eE+-") == std::string::npos;
    return is_number ? std::optional(text) : std::nullopt;
  }
  std::map<std::string, std::string> constants_;
};

// What recipes call the whole.
bool is_whole(const std::string& name) {
  return name == "cfg" || name == "config" || name == "recipe";
}

// "cfg.model.seq_length": what stands behind the name of the whole.
std::string path_of(const std::string& name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return name;
  return is_whole(name.substr(0, dot)) ? name.substr(dot + 1) : name;
}

constexpr std::size_t longest = 1000;  // letters of a value, or before it

// Where the value behind a sign ends: at a comma or a bracket of its own depth.
std::size_t end_of_value(const std::string& text, std::size_t from) {
  int depth = 0;
  char quote = 0;
  const std::size_t stop = std::min(text.size(), from + longest);
  for (std::size_t i = from; i < stop; ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      if (depth-- == 0) return i;
    } else if (c == ',' && depth == 0) {
      return i;
    }
  }
  return stop;
}

// The name that ends before this place, with what its dots hold; a text in quotes of a dictionary.
std::string name_before(const std::string& text, std::size_t end) {
  while (end > 0 && text[end - 1] == ' ') --end;
  if (end > 0 && (text[end - 1] == '"' || text[end - 1] == '\'')) --end;
  std::size_t from = end;
  while (from > 0 && end - from < longest && (is_letter(text[from - 1]) || text[from - 1] == '.'))
    --from;
  return text.substr(from, end - from);
}

class Blocks {
 public:
  explicit Blocks(const std::string& text) : statements_(text) {
    for (const Statement& statement : statements_.all()) add(statement);
  }
  std::map<std::string, PythonBlock> take() { return std::move(blocks_); }

 private:
  void add(const Statement& statement) {
    if (statement.indent == 0) {
      body_ = 0;
      function_.clear();
      if (statement.text.starts_with("def ")) return begin(statement);
      if (statement.text.front() != '@') return add_named(statement);
      return;
    }
    if (function_.empty()) return;
    if (body_ == 0) body_ = statement.indent;
    PythonBlock& block = blocks_[function_];
    add_parent(statement, block);
    add_settings(statement, statement.indent > body_, block);
  }
  // "def NAME(parameter: int = 1)": what is not given otherwise.
  void begin(const Statement& statement) {
    const std::size_t open = statement.text.find('(');
    function_ = trimmed(statement.text.substr(4, open == std::string::npos ? open : open - 4));
    blocks_[function_] = {};
    add_settings(statement, false, blocks_[function_]);
  }
  // "NAME = replace(OTHER, a=1)", "NAME = Class(a=1)", "NAME = OTHER", and constants.
  void add_named(const Statement& statement) {
    const std::size_t equals = statement.text.find('=');
    if (equals == std::string::npos || equals + 1 >= statement.text.size()) return;
    std::string name = statement.text.substr(0, equals);
    name = trimmed(name.substr(0, name.find(':')));
    if (const std::string first = name.substr(0, name.find('.')); is_whole(first)) name = first;
    if (name.empty() || !std::all_of(name.begin(), name.end(), is_letter)) return;
    const std::string rest = trimmed(statement.text.substr(equals + 1));
    if (is_whole(name)) {  // a script that changes a recipe
      add_parent(statement, blocks_[name]);
      return add_settings(statement, false, blocks_[name]);
    }
    if (const auto value = literals_.value_of(rest)) return literals_.set_constant(name, *value);
    PythonBlock& block = blocks_[name] = {};
    const std::size_t open = rest.find('(');
    if (open == std::string::npos) {
      if (std::all_of(rest.begin(), rest.end(), is_letter)) block.parents.push_back(rest);
      return;
    }
    const std::size_t end = end_of_value(rest, open + 1);
    const std::string first = trimmed(rest.substr(open + 1, end - open - 1));
    if (!first.empty() && std::all_of(first.begin(), first.end(), is_letter))
      block.parents.push_back(first);
    add_settings({rest, 0, statement.line}, false, block);
  }
  // "cfg = other()".
  static void add_parent(const Statement& statement, PythonBlock& block) {
    const std::size_t equals = statement.text.find('=');
    const std::size_t open = statement.text.find('(');
    if (equals == std::string::npos || open == std::string::npos || open < equals) return;
    if (!is_whole(trimmed(statement.text.substr(0, equals)))) return;
    const std::string name = trimmed(statement.text.substr(equals + 1, open - equals - 1));
    const bool is_name =
        std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || c == '.'; });
    if (is_name && !name.empty() && name.size() < longest) block.parents.push_back(name);
  }
  void add_settings(const Statement& statement, bool is_in_branch, PythonBlock& block) const {
    const std::string& text = statement.text;
    const std::string whole = whole_of_call(text);
    char quote = 0;
    bool is_first = true;
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
      if (quote != 0) {
        if (text[i] != quote) continue;
        quote = 0;
        continue;
      }
      if (text[i] == '"' || text[i] == '\'') {
        quote = text[i];
        continue;
      }
      const bool is_of_dictionary =
          text[i] == ':' && i > 0 && (text[i - 1] == '"' || text[i - 1] == '\'');
      const bool is_assigned =
          text[i] == '=' && text[i + 1] != '=' &&
          (i == 0 || std::string("=!<>+-*/").find(text[i - 1]) == std::string::npos);
      if (!is_of_dictionary && !is_assigned) continue;
      const std::string name = name_at(text, i);
      add_setting(is_first || whole.empty() ? name : whole + "." + name,
                  text.substr(i + 1, end_of_value(text, i + 1) - i - 1),
                  {"", statement.line, is_in_branch}, block);
      is_first = false;
    }
  }
  // "peft" of "cfg.peft = LoRA(dim=16)", whose own settings these are.
  static std::string whole_of_call(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals > longest) return "";
    const std::string name = trimmed(text.substr(0, equals));
    const std::string path = path_of(name);
    return path == name ? "" : path;
  }
  // Before "=" there may be a type: "name: int =".
  static std::string name_at(const std::string& whole, std::size_t sign) {
    const std::size_t begin = sign > longest ? sign - longest : 0;
    const std::string text = whole.substr(begin, sign - begin);
    std::size_t end = text.size();
    if (whole[sign] == '=') {
      const std::size_t from = text.find_last_of("(,{");
      const std::size_t colon = text.rfind(':');
      if (colon != std::string::npos && (from == std::string::npos || colon > from)) end = colon;
    }
    return path_of(name_before(text, end));
  }
  void add_setting(const std::string& name, const std::string& value, PythonSetting setting,
                   PythonBlock& block) const {
    if (name.empty()) return;
    const auto known = literals_.value_of(value);
    if (!known) return;
    setting.value = *known;
    if (const auto [place, is_new] = block.settings.emplace(name, setting); !is_new) {
      setting.is_in_branch = setting.is_in_branch && place->second.value != setting.value;
      place->second = setting;
    }
  }

  Statements statements_;
  Literals literals_;
  std::map<std::string, PythonBlock> blocks_;
  std::string function_;
  std::size_t body_ = 0;
};

// A block and all that it begins with, those first; `f` takes names, too, that the file lacks.
// `steps`: so many at most, whatever their parents are.
template <class F>
void for_each_block(const std::map<std::string, PythonBlock>& blocks, const std::string& name,
                    int& steps, const F& f) {
  if (--steps < 0) return;
  const auto found = blocks.find(name);
  if (found != blocks.end())
    for (const std::string& parent : found->second.parents)
      if (parent != name) for_each_block(blocks, parent, steps, f);
  f(name, found == blocks.end() ? nullptr : &found->second);
}

constexpr int most_steps = 100;

}  // namespace

bool is_python(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("def ") || line.starts_with("import ") ||
        (line.starts_with("from ") && line.find(" import ") != std::string::npos))
      return true;
  return false;
}

std::map<std::string, PythonBlock> python_blocks(const std::string& text) {
  return Blocks(text).take();
}

std::map<std::string, PythonSetting> all_settings(const std::map<std::string, PythonBlock>& blocks,
                                                  const std::string& name) {
  std::map<std::string, PythonSetting> all;
  int steps = most_steps;
  for_each_block(blocks, name, steps, [&](const std::string&, const PythonBlock* block) {
    if (block != nullptr)
      for (const auto& [key, setting] : block->settings) all[key] = setting;
  });
  return all;
}

std::set<std::string> missing_parents(const std::map<std::string, PythonBlock>& blocks,
                                      const std::string& name) {
  std::set<std::string> missing;
  int steps = most_steps;
  for_each_block(blocks, name, steps, [&](const std::string& one, const PythonBlock* block) {
    if (block == nullptr) missing.insert(one);
  });
  return missing;
}

}  // namespace sgdsim
