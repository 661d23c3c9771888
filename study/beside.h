// Files that other files name.
#pragma once

#include <filesystem>
#include <string>

namespace sgdsim {

// A path that stands in a file, from where the program runs: it counts from the file's folder. What
// stands in standard input ("-") counts from here.
inline std::string beside(const std::string& file, const std::string& path) {
  return (std::filesystem::path(file).parent_path() / path).lexically_normal().string();
}

// What errors call a file: where JSON itself was given in its place, its text names nothing.
inline std::string place_of(const std::string& file) {
  return file.starts_with('{') ? "inline" : file;
}

}  // namespace sgdsim
