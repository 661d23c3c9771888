// Names before files: a name of what ships has neither a dot nor a slash.
#include "study/shipped_inputs.h"

#include <algorithm>
#include <filesystem>

#include "sim/core/error.h"
#include "study/beside.h"

namespace sgdsim {
namespace {

std::optional<Document> find(std::span<const ShippedFile> files, const std::string& name) {
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.name == name; });
  if (found == files.end()) return std::nullopt;
  return Document::parse(found->text, name);
}

bool may_be_path(const std::string& word) {
  std::error_code problem;  // a name of 300 letters, say
  return word == "-" || word.starts_with('{') || word.find_first_of("./") != std::string::npos ||
         std::filesystem::exists(word, problem);
}

std::string unknown(const std::string& kind, std::span<const ShippedFile> files,
                    const std::string& word) {
  if (may_be_path(word)) return "";
  std::vector<std::string> known;
  for (const ShippedFile& file : files) known.emplace_back(file.name);
  return unknown_name(kind, word, known) + "; a file of yours ends in .json";
}

void refuse_if_unknown(const std::string& why) {
  if (!why.empty()) throw InputError("", why);
}

std::string unknown_cluster(const std::string& word) {
  return unknown("cluster", shipped_clusters(), word);
}

}  // namespace

std::optional<Document> shipped_trace(const std::string& name) {
  return find(shipped_traces(), name);
}
std::optional<Document> shipped_cluster(const std::string& name) {
  return find(shipped_clusters(), name);
}

Document trace_document(const std::string& name_or_file) {
  if (auto shipped = shipped_trace(name_or_file)) return *shipped;
  refuse_if_unknown(unknown_trace(name_or_file));
  return Document::read(name_or_file);
}

Document cluster_document(const std::string& name_or_file) {
  if (auto shipped = shipped_cluster(name_or_file)) return *shipped;
  refuse_if_unknown(unknown_cluster(name_or_file));
  return Document::read(name_or_file);
}

Document cluster_document_in(const std::string& from, const std::string& name_or_file,
                             std::string& place) {
  place = name_or_file;
  if (auto shipped = shipped_cluster(name_or_file)) return *shipped;
  place = beside(from, name_or_file);
  std::error_code problem;
  // A word that is neither a name nor a file was probably meant as a name.
  if (!std::filesystem::exists(place, problem)) refuse_if_unknown(unknown_cluster(name_or_file));
  return Document::read(place);
}

std::string unknown_trace(const std::string& word) {
  return unknown("trace", shipped_traces(), word);
}

}  // namespace sgdsim
