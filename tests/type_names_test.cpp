// A type's name occurs once in a namespace, whatever room it is in: two different types of one name
// in one program break the one-definition rule, and the linker then picks the code of either. What
// stands in an anonymous namespace is a file's own.
#include <algorithm>
#include <doctest/doctest.h>
#include <map>

#include "tests/source_tree.h"

namespace sgdsim::house {
namespace {

// "X" of "struct X {", "class X final : Y {", "enum class X : int {", at the start of the line;
// nothing for a declaration without a body.
std::string type_defined_in(const std::string& line) {
  std::vector<std::string> words = split(line, ' ');
  const auto is_key = [&](const char* key) { return !words.empty() && words.front() == key; };
  if (!is_key("struct") && !is_key("class") && !is_key("enum")) return "";
  if (trimmed(line).ends_with(";") && line.find('{') == std::string::npos) return "";
  const std::size_t name = words.size() > 1 && words[1] == "class" ? 2 : 1;
  if (name >= words.size()) return "";
  std::string type = words[name];
  if (type.find('<') != std::string::npos) return "";  // a specialisation
  while (type.ends_with(':') || type.ends_with('{')) type.pop_back();
  return type;
}

// Every type at namespace scope with the files that define it, as "namespace::Type".
std::map<std::string, std::vector<std::string>> types_of(const std::vector<SourceFile>& sources) {
  std::map<std::string, std::vector<std::string>> types;
  for (const SourceFile& file : sources) {
    std::vector<std::string> scopes;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      if (line.starts_with("namespace ") && line.ends_with("{"))
        scopes.push_back(trimmed(line.substr(9, line.size() - 10)));
      else if (line.starts_with("}  // namespace") && !scopes.empty())
        scopes.pop_back();
      if (std::ranges::find(scopes, "") != scopes.end()) continue;
      const std::string type = type_defined_in(file.code[i]);
      if (type.empty()) continue;
      std::string full;
      for (const std::string& scope : scopes) full += scope + "::";
      types[full + type].push_back(file.path);
    }
  }
  return types;
}

std::vector<std::string> repeated_types(const std::vector<SourceFile>& sources) {
  std::vector<std::string> repeated;
  for (const auto& [type, files] : types_of(sources)) {
    if (files.size() < 2) continue;
    std::string line = type + ":";
    for (const std::string& file : files) line += " " + file;
    repeated.push_back(line);
  }
  return repeated;
}

TEST_CASE("architecture: a type name occurs once at namespace scope") {
  std::vector<SourceFile> sources = read_sources(SGDSIM_SOURCE_DIR);
  // The stand-in for CUDA's runtime has CUDA's own names, in a program of its own.
  std::erase_if(sources, [](const auto& file) {
    return file.path.starts_with("tests/cuda_on_host/") ||
           file.path.starts_with("tests/compile_fail/");
  });
  CHECK(types_of(sources).size() > 200);
  std::string found;
  for (const std::string& line : repeated_types(sources)) found += "\n  " + line;
  CHECK_MESSAGE(found.empty(), found);
}

TEST_CASE("architecture: the rule about type names finds its breach and nothing else") {
  const auto file = [](const char* path, const char* text) { return source_from_text(path, text); };
  const char* const toy = "namespace sgdsim {\nstruct Toy {\n};\n}  // namespace sgdsim\n";
  CHECK(repeated_types({file("a/a.h", toy), file("b/b.h", toy)}) ==
        std::vector<std::string>{"sgdsim::Toy: a/a.h b/b.h"});
  for (const char* const other :
       {"namespace sgdsim {\nstruct Toy;\n}  // namespace sgdsim\n",
        "namespace sgdsim {\nnamespace {\nstruct Toy {\n};\n}  // namespace\n}  // namespace "
        "sgdsim\n",
        "namespace sgdsim::cuda {\nenum class Toy : int { a };\n}  // namespace sgdsim::cuda\n",
        "namespace sgdsim {\nstruct Toys {\n};\n// struct Toy {\n}  // namespace sgdsim\n"})
    CHECK(repeated_types({file("a/a.h", toy), file("b/b.h", other)}).empty());
}

}  // namespace
}  // namespace sgdsim::house
