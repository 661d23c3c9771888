// A command that says no degree of its own has it elsewhere.
#include "study/layout/foreign_unread.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "study/layout/shell_unread.h"

namespace sgdsim {
namespace {

bool has_one(const FlatSettings& settings, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return settings.has(name); });
}

// "model.tensor_model_parallel_size" and "parallelism.tensor_parallel_degree" of a command.
bool has_dotted_degree(const FlatSettings& settings) {
  const auto is_degree = [](const auto& one) {
    return one.first.ends_with("_model_parallel_size") || one.first.starts_with("parallelism.");
  };
  const auto& all = settings.values();
  return std::any_of(all.begin(), all.end(), is_degree);
}

bool says_degree(const FlatSettings& settings) {
  return has_dotted_degree(settings) ||
         has_one(settings, {"tensor-model-parallel-size", "pipeline-model-parallel-size",
                            "context-parallel-size", "expert-model-parallel-size",
                            "moe-expert-parallel-size", "ds-sequence-parallel-size"});
}

// Of a long path the end, which tells it from others.
std::string short_of(const std::string& word) {
  constexpr std::size_t most = 60;
  return word.size() <= most ? word : "..." + word.substr(word.size() - most);
}

std::string listed_words(const std::vector<std::string>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) text += (i == 0 ? "" : ", ") + short_of(all[i]);
  return text;
}

[[noreturn]] void refuse_word(const FlatSettings& settings, const ShellWord& word) {
  const std::string sources =
      settings.sourced().empty() ? "" : " (" + listed_words(settings.sourced()) + " is not read)";
  throw InputError(settings.file() + ": line " + std::to_string(word.line),
                   word.text.substr(0, 60) +
                       " may hold any flags, and which ones is not known without running the "
                       "script" +
                       sources + "; write them there, or leave it out");
}

// The words of a variable whose name says that it has degrees.
bool names_degrees(const std::string& word) {
  return word.find("PARALLEL") != std::string::npos || word.find("parallel") != std::string::npos;
}

void check_words(const FlatSettings& settings, ForeignLayout& found) {
  const bool is_said = says_degree(settings);
  std::vector<std::string> passed;
  for (const ShellWord& word : settings.not_known()) {
    const bool may_be_none = is_parameter(word.text) || (is_said && !names_degrees(word.text));
    if (is_substitution(word.text) || !may_be_none) refuse_word(settings, word);
    if (std::find(passed.begin(), passed.end(), word.text) == passed.end())
      passed.push_back(word.text);
  }
  if (!passed.empty())
    found.notes.push_back("flags that " + listed_words(passed) +
                          " may hold are not known and not read");
}

void check_files(const FlatSettings& settings, ForeignLayout& found) {
  const std::string elsewhere = "says the layout in a file of its own; give that file";
  if (settings.has("yaml-cfg")) settings.fail("yaml-cfg", elsewhere);
  if (settings.has("job.config_file"))
    settings.fail("job.config_file",
                  "the rest of the layout is in that file, which is not read; write what the flags "
                  "change into it and give it, or say the layout in words, as --layout \"tp8 dp4 "
                  "zero3\"");
  if (settings.has("config-name") && !says_degree(settings))
    settings.fail("config-name", elsewhere);
  if (settings.has("config-file")) {
    if (!says_degree(settings)) settings.fail("config-file", elsewhere);
    found.notes.emplace_back("the file of --config-file is not read");
  }
  if (settings.has("use-checkpoint-args"))
    found.notes.emplace_back(
        "what the checkpoint of --use-checkpoint-args says, as degrees of the layout, is not read");
  if (!settings.sourced().empty())
    found.notes.push_back("what the script sources is not read: " +
                          listed_words(settings.sourced()));
}

// Of forks of Megatron-LM, or of parts of a model that are not modelled.
void note_others(const FlatSettings& settings, ForeignLayout& found) {
  const std::initializer_list<std::pair<const char*, const char*>> others = {
      {"virtual-pipeline-model-parallel-size",
       "is not Megatron-LM's; --num-virtual-stages-per-pipeline-rank says how many there are"},
      {"encoder-tensor-model-parallel-size", "all layers are taken to be split alike"},
      {"encoder-pipeline-model-parallel-size", "all layers are taken to be in one pipeline"}};
  for (const auto& [name, sentence] : others)
    if (settings.has(name))
      found.notes.push_back("--" + std::string(name) + " is not read: " + sentence);
  const std::string outer = "outer-dp-sharding-strategy";
  if (settings.find(outer).value_or("no_shard") != "no_shard")
    found.notes.push_back("--" + outer +
                          " is not read: shards are taken to have whole copies (hsdp)");
}

}  // namespace

void check_unread(const FlatSettings& settings, ForeignLayout& found) {
  check_files(settings, found);
  check_words(settings, found);
  note_others(settings, found);
}

}  // namespace sgdsim
