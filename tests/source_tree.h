// The sources of this project as text, for tests that read the code instead of running it.
//
// `code` is the text with comments and the insides of string and character literals blanked out,
// line by line, so that a search finds code only. The blanking knows // and /* */ comments,
// escapes, raw strings and digit separators; it does not run the preprocessor.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sgdsim::house {

struct SourceFile {
  std::string path;  // from the root of the repository, with forward slashes
  std::vector<std::string> lines;
  std::vector<std::string> code;  // as many as `lines`
};

// Every C++ and CUDA file below `root`, by path; not those of build trees or hidden folders.
std::vector<SourceFile> read_sources(const std::filesystem::path& root);

SourceFile source_from_text(std::string path, std::string_view text);

// The rows of the Markdown table in `text` that starts with the line `heading`, as cells without
// surrounding blanks. The heading and the rule below it are left out; no such table, no rows.
using TableRows = std::vector<std::vector<std::string>>;
TableRows markdown_table(std::string_view text, std::string_view heading);

std::vector<std::string> split(std::string_view text, char separator);
std::string trimmed(std::string_view text);

}  // namespace sgdsim::house
