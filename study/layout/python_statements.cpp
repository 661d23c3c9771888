// One pass over letters.
#include "study/layout/python_statements.h"

#include <algorithm>
#include <sstream>

#include "study/layout/python_settings.h"
#include "study/layout/setting_text.h"

namespace sgdsim {
namespace {

// Lines are joined while a bracket is open; texts in three quotes are left out.
class StatementReader {
 public:
  explicit StatementReader(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) add(line);
    finish();
  }
  const std::vector<PythonStatement>& all() const { return all_; }

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
    const bool goes_on = now_.text.ends_with('\\');
    if (goes_on) now_.text.pop_back();
    if (depth_ > 0 || in_text_ || goes_on)
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
    else if (c == ';' && depth_ == 0)
      return finish();
    now_.text += c;
  }
  void finish() {
    now_.text = trimmed(now_.text);
    if (!now_.text.empty()) all_.push_back(now_);
    now_.text.clear();
  }

  std::vector<PythonStatement> all_;
  PythonStatement now_;
  int number_ = 0;
  int depth_ = 0;
  char quote_ = 0;
  bool in_text_ = false;
};

}  // namespace

std::vector<PythonStatement> python_statements(const std::string& text) {
  return StatementReader(text).all();
}

bool is_python(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("def ") || line.starts_with("import ") ||
        (line.starts_with("from ") && line.find(" import ") != std::string::npos))
      return true;
  return false;
}

}  // namespace sgdsim
