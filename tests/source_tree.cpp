// Reading the sources: a walk over the tree and a small scanner that blanks out what is not code.
// See source_tree.h for what the scanner knows and what it does not.
#include "tests/source_tree.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "sim/core/json.h"

namespace sgdsim::house {
namespace {

const std::set<std::string> source_endings = {".h", ".hpp", ".cpp", ".cu", ".cuh"};
const std::set<std::string> foreign_folders = {"build", "results"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void blank(std::string& text, size_t from, size_t to) {
  for (size_t i = from; i < std::min(to, text.size()); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

// Position after the literal whose opening quote is at `open`.
size_t end_of_quoted(std::string_view text, size_t open) {
  size_t i = open + 1;
  while (i < text.size() && text[i] != text[open] && text[i] != '\n') {
    i += text[i] == '\\' ? size_t{2} : size_t{1};
  }
  return std::min(i + 1, text.size());
}

// Position after the raw string whose opening quote is at `open`: R"name( ... )name".
size_t end_of_raw(std::string_view text, size_t open) {
  const size_t bracket = text.find('(', open);
  if (bracket == std::string_view::npos) return text.size();
  std::string closing = ")";
  closing += text.substr(open + 1, bracket - open - 1);
  closing += '"';
  const size_t end = text.find(closing, bracket);
  return end == std::string_view::npos ? text.size() : end + closing.size();
}

size_t end_of_comment(std::string_view text, size_t start) {
  const bool whole_line = text[start + 1] == '/';
  const size_t end = whole_line ? text.find('\n', start) : text.find("*/", start + 2);
  if (end == std::string_view::npos) return text.size();
  return whole_line ? end : end + 2;
}

std::string only_code(std::string text) {
  const std::string original = text;
  size_t i = 0;
  while (i < original.size()) {
    const char c = original[i];
    const char next = i + 1 < original.size() ? original[i + 1] : '\0';
    size_t end = i + 1;
    if (c == '/' && (next == '/' || next == '*')) {
      end = end_of_comment(original, i);
      blank(text, i, end);
    } else if (c == '"') {
      const bool raw = i > 0 && original[i - 1] == 'R';
      end = raw ? end_of_raw(original, i) : end_of_quoted(original, i);
      blank(text, i + 1, end - 1);
    } else if (c == '\'' && (i == 0 || !is_word(original[i - 1]))) {
      end = end_of_quoted(original, i);
      blank(text, i + 1, end - 1);
    }
    i = end;
  }
  return text;
}

}  // namespace

std::string trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return "";
  return std::string(text.substr(from, text.find_last_not_of(" \t\r") - from + 1));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  while (true) {
    const size_t end = text.find(separator);
    pieces.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

SourceFile source_from_text(std::string path, std::string_view text) {
  return {std::move(path), split(text, '\n'), split(only_code(std::string(text)), '\n')};
}

std::vector<SourceFile> read_sources(const std::filesystem::path& root) {
  std::vector<std::string> paths;
  auto walk = std::filesystem::recursive_directory_iterator(root);
  for (const auto& entry : walk) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && (name.starts_with('.') || foreign_folders.contains(name))) {
      walk.disable_recursion_pending();
    } else if (source_endings.contains(entry.path().extension().string())) {
      paths.push_back(entry.path().lexically_relative(root).generic_string());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<SourceFile> sources;
  for (const std::string& path : paths) {
    sources.push_back(source_from_text(path, read_text((root / path).string())));
  }
  return sources;
}

TableRows markdown_table(std::string_view text, std::string_view heading) {
  TableRows rows;
  bool inside = false;
  for (const std::string& line : split(text, '\n')) {
    if (inside && !line.starts_with('|')) break;
    if (inside && !line.starts_with("|---")) {
      std::vector<std::string> cells;
      for (const std::string& cell : split(line, '|')) cells.push_back(trimmed(cell));
      rows.emplace_back(cells.begin() + 1, cells.end() - 1);  // nothing stands outside the bars
    }
    if (line == heading) inside = true;
  }
  return rows;
}

}  // namespace sgdsim::house
