// Telling kinds of files apart, and reading them once, so that what is kept can be used.
#include "app/page/page_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "sim/core/error.h"
#include "sim/core/output.h"
#include "study/import/profile_trace.h"
#include "study/shell_word.h"
#include "study/step/experiment.h"
#include "topologies/cluster_file.h"
#include "traces/registry.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

constexpr std::size_t longest_name_B = 120;  // a file system takes 255, and there are endings

// A name that a file can have here. The last bytes are kept: they hold the ending.
std::string file_name_of(const std::string& name) {
  std::string safe = name;
  for (char& letter : safe)
    if (letter == '/' || letter == '\\' || letter == '\0') letter = '_';
  if (safe.size() > longest_name_B) {
    std::size_t from = safe.size() - longest_name_B;
    while (from < safe.size() && (static_cast<unsigned char>(safe[from]) & 0xC0U) == 0x80U) ++from;
    safe = safe.substr(from);
  }
  if (safe.empty() || safe == "." || safe == "..") safe = "file";
  return safe;
}

Json about_trace(const Trace& trace) {
  return {{"name", trace.name},
          {"model", trace.model},
          {"device", trace.device},
          {"batch", trace.batch},
          {"layers", trace.layers.size()},
          {"compute_us", (trace.forward() + trace.backward() + trace.update).us()},
          {"gradient_B", trace.gradient().count()},
          {"source", trace.source}};
}

Json about_cluster(const std::string& file) {
  const Document document = Document::read(file);
  const ClusterFile cluster = read_cluster(document.root());
  return {{"name", cluster.cluster.name},
          {"shape", cluster.shape},
          {"nodes", cluster.nodes},
          {"workers", cluster.cluster.network.workers()},
          {"description", cluster.description},
          {"source", cluster.source},
          {"json", document.root().json()}};
}

Json listed(const std::string& folder, Json (*about)(const std::string&)) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  Json list = Json::array();
  for (const std::string& file : files) {
    list.push_back({{"file", file}});
    list.back().update(about(file));
  }
  return list;
}

Json about_trace_file(const std::string& file) { return about_trace(read_trace_file(file)); }

// What an importer makes of the file, beside it.
Json imported(const std::string& file, const std::string& format, const Trace& trace) {
  const std::string made = name_of_profile(file) + ".trace.json";
  const std::string text = to_text(trace);
  write_file(text, made);
  const std::string given = (file.starts_with('-') ? "./" : "") + file;
  Json answer = {{"kind", "trace"}, {"file", made}};
  answer.update(about_trace(read_trace_file(made)));
  answer["notes"] = trace.notes;
  answer["text"] = text;
  answer["imports"] = Json::array(
      {"sgdsim import " + format + " " + shell_word(given) + " --out=" + shell_word(made)});
  return answer;
}

// A file of another program; nothing if no format fits.
std::optional<Json> imported_by_content(const std::string& file, const std::string& content) {
  std::vector<const TraceFormat*> fitting;
  for (const TraceFormat& format : trace_formats)
    if (!format.has_own_command && format.fits != nullptr && format.fits(content))
      fitting.push_back(&format);
  if (fitting.size() != 1) return std::nullopt;
  const Trace trace = fitting.front()->read(LogText{content, file, {}});
  return imported(file, std::string(fitting.front()->name), trace);
}

Json known_by_schema(const std::string& file) {
  const Document document = Document::read(file);
  const Json& json = document.root().json();
  Json answer = {{"kind", ""}, {"file", file}};
  if (json.is_object() && json.contains("trace") && json.contains("cluster")) {
    const ResolvedExperiment resolved = resolve_experiment(file, {});
    const Experiment experiment = read_experiment(resolved);
    answer["kind"] = "experiment";
    answer["name"] = experiment.name.empty() ? experiment.trace.name : experiment.name;
    answer["json"] = resolved.json;
    answer["trace"] = about_trace(experiment.trace);
  } else if (json.is_object() &&
             (json.contains("shape") || json.value("schema", Json()) == cluster_schema)) {
    answer["kind"] = "cluster";
    answer.update(about_cluster(file));
  } else {
    answer["kind"] = "trace";
    answer.update(about_trace(read_trace(document.root())));
  }
  answer["imports"] = Json::array();
  return answer;
}

std::string known_formats() {
  std::string names = "a trace, a cluster or an experiment of sgdsim";
  for (const TraceFormat& format : trace_formats) names += ", " + std::string(format.name);
  return names;
}

}  // namespace

Json shipped_files() {
  return {{"traces", listed("traces/data", about_trace_file)},
          {"clusters", listed("topologies/data", about_cluster)}};
}

Json add_file(const std::string& name, const std::string& content) {
  const std::string file = file_name_of(name);
  if (const std::string problem = problem_of_text(file, false); !problem.empty())
    throw InputError(file, "its name " + problem);
  write_file(content, file);
  if (is_profile(file)) return imported(file, "kineto", trace_of_profile(file));
  if (auto answer = imported_by_content(file, content)) return *answer;
  const std::size_t begin = content.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (begin == std::string::npos || content[begin] != '{')
    throw InputError(file, "its content is of no known format; known: " + known_formats());
  return known_by_schema(file);
}

}  // namespace sgdsim
