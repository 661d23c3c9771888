// By the ending of its name where that says it, or by what it begins with or has.
#include "study/layout/flat_kind.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <sstream>

#include "sim/core/foreign_json.h"
#include "study/layout/python_settings.h"
#include "study/layout/setting_text.h"
#include "study/layout/shell_overrides.h"

namespace sgdsim {
namespace {

// At the beginning of a word, of a text in quotes, or of a list.
bool has_flags(const std::string& text) {
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at + 2)) {
    const bool is_start =
        at == 0 || std::string(" \t\n\"'(=").find(text[at - 1]) != std::string::npos;
    const std::size_t next = at + 2;
    if (is_start && next + 1 < text.size() &&
        std::isalpha(static_cast<unsigned char>(text[next])) != 0 &&
        std::isspace(static_cast<unsigned char>(text[next + 1])) == 0)
      return true;
  }
  return false;
}

bool is_command_text(const std::string& text) {
  return has_flags(text) || has_layout_overrides(text);
}

// In YAML there may be other flags, in scripts that it holds; and flags may be its names.
bool has_flags_of_layouts(const std::string& text) {
  for (const std::string flag : {"--tensor-model-parallel-size", "--pipeline-model-parallel-size",
                                 "--context-parallel-size", "--micro-batch-size"})
    if (const std::size_t at = text.find(flag); at != std::string::npos)
      return text.compare(at + flag.size(), 1, ":") != 0;
  return false;
}

bool has_line(const std::string& text, bool (*is_one)(const std::string&)) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (is_one(trimmed(without_comment(line)))) return true;
  return false;
}

// "export NAME=value" or ": ${NAME:=value}" of a script without flags.
bool is_export(const std::string& line) {
  return (line.starts_with("export ") || line.starts_with(": \"$") || line.starts_with(": $")) &&
         line.find('=') != std::string::npos;
}

// "[parallelism]": a table of TOML.
bool is_table(const std::string& line) {
  return line.size() > 2 && line.front() == '[' && line.back() == ']' &&
         is_setting_name(trimmed(line.substr(1, line.size() - 2)));
}

// "training.seq_len = 1", where no table is.
bool is_assignment(const std::string& line) {
  const std::size_t sign = line.find(" = ");
  return sign != std::string::npos && is_setting_name(line.substr(0, sign));
}

// "{model: {...": braces of YAML, whose names need no quotes. JSON has quotes or a comment there.
bool is_braces_of_yaml(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n", text.find('{') + 1);
  return first != std::string::npos && std::isalpha(static_cast<unsigned char>(text[first])) != 0;
}

bool is_named(const std::string& file, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](const char* ending) { return file.ends_with(ending); });
}

// Scripts of a shell may hold some of Python.
bool is_shell(const std::string& text, const std::string& file) {
  const bool names_it = text.starts_with("#!") && text.substr(0, text.find('\n')).ends_with("sh");
  return names_it || is_named(file, {".sh", ".bash", ".slurm", ".sbatch"});
}

}  // namespace

FlatSettings::Kind kind_of_settings(const std::string& text, const std::string& file,
                                    const std::string& recipe) {
  using Kind = FlatSettings::Kind;
  const bool is_yaml = is_named(file, {".yaml", ".yml"}) && !has_flags_of_layouts(text);
  if (first_of_json(text) == '{')
    return is_yaml || is_braces_of_yaml(text) ? Kind::yaml : Kind::json;
  if (recipe.empty() && is_shell(text, file)) return Kind::flags;
  if (!recipe.empty() || is_python(text)) return Kind::python;
  if (is_yaml) return Kind::yaml;
  if (is_named(file, {".toml"}) || has_line(text, is_table)) return Kind::toml;
  if (is_command_text(text) || has_line(text, is_export)) return Kind::flags;
  return has_line(text, is_assignment) ? Kind::toml : Kind::yaml;
}

bool is_training_command(const std::string& text) {
  return trimmed(text).find_first_of(" \t") != std::string::npos && is_command_text(text);
}

}  // namespace sgdsim
