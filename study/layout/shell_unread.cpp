// Which flags take words is not known of all programs: by how they are named.
#include "study/layout/shell_unread.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <span>

#include "study/layout/setting_text.h"
#include "study/layout/shell_tokens.h"
#include "study/layout/shell_variables.h"

namespace sgdsim {
namespace {

using Command = std::span<const ShellWord>;
using Beginnings = std::initializer_list<const char*>;

bool begins_with_any(const std::string& text, Beginnings all) {
  return std::any_of(all.begin(), all.end(),
                     [&](const char* one) { return text.starts_with(one); });
}

bool is_any(const std::string& text, Beginnings all) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

// Behind what a shell puts in at that place; there itself: nothing that may be words.
std::size_t behind_expansion(const std::string& text, std::size_t at) {
  if (text.compare(at, 3, "$((") == 0 || text.compare(at, 3, "${#") == 0) return at;
  if (const std::size_t end = behind_dollar(text, at); end > at) return end;
  if (text[at] != '$' || at + 1 >= text.size()) return at;
  if (text[at + 1] == '@' || text[at + 1] == '*') return at + 2;
  std::size_t end = at + 1;
  while (end < text.size() && is_word_letter(text[end])) ++end;
  return end > at + 1 ? end : at;
}

bool is_nothing_else(const std::string& text) {
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    end = behind_expansion(text, at);
    if (end == at) return false;
  }
  return !text.empty();
}

// "--a_b=1" is "a-b".
std::string name_of_flag(const std::string& word) {
  std::string name = word.substr(2, word.find_first_of("= ") - 2);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// It takes no word.
bool is_switch(const std::string& name) {
  return begins_with_any(
             name, {"use-", "no-", "enable-", "disable-", "overlap-", "apply-", "accumulate-",
                    "recompute-activations", "tp-comm-overlap", "moe-use-", "qk-layernorm"}) ||
         is_any(name, {"bf16",
                       "fp16",
                       "sequence-parallel",
                       "swiglu",
                       "finetune",
                       "mock-data",
                       "colocate",
                       "manual-gc",
                       "add-qkv-bias",
                       "log-throughput",
                       "log-params-norm",
                       "log-num-zeros-in-grad",
                       "moe-grouped-gemm",
                       "moe-permute-fusion",
                       "moe-shared-expert-overlap",
                       "cross-entropy-loss-fusion",
                       "checkpoint-activations",
                       "group-query-attention",
                       "grad-reduce-in-bf16",
                       "attention-softmax-in-fp32",
                       "defer-embedding-wgrad-compute",
                       "untie-embeddings-and-output-weights"});
}

// It may take several: parts of data and their weights, names of modules.
bool is_list(const std::string& name) {
  const std::initializer_list<const char*> all = {"data-path", "dataset",  "datasets",
                                                  "-data",     "-modules", "-ranks"};
  return std::any_of(all.begin(), all.end(), [&](const char* end) { return name.ends_with(end); });
}

// Of torchrun and the like, behind which a program may stand.
bool is_of_launcher(const std::string& name) {
  return begins_with_any(name, {"nproc", "nnodes", "node-rank", "master-", "rdzv-", "num-nodes",
                                "num-gpus", "num-processes", "num-machines", "machine-rank",
                                "hostfile", "log-dir", "redirects", "tee", "local-ranks-filter"});
}

// Behind "pretrain_gpt.py" or "-m a.b"; the first flag where the command names neither.
std::size_t begin_of_arguments(Command words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].text.ends_with(".py")) return i + 1;
    if (words[i].text == "-m" && i + 1 < words.size() &&
        !words[i + 1].text.starts_with("torch.distributed"))
      return i + 2;
  }
  const auto first =
      std::find_if(words.begin(), words.end(), [](const ShellWord& one) { return one.is_flag(); });
  return static_cast<std::size_t>(first - words.begin());
}

void add_not_known(Command words, std::vector<ShellWord>& found) {
  std::string flag;
  bool has_value = true;  // a flag that takes one has it
  for (const ShellWord& word : words.subspan(std::min(words.size(), begin_of_arguments(words)))) {
    if (word.is_flag()) {
      flag = name_of_flag(word.text);
      has_value = is_switch(flag) || word.text.find_first_of("= ") != std::string::npos;
      continue;
    }
    const bool is_value = !has_value || is_list(flag) || is_of_launcher(flag);
    has_value = true;
    if (!is_value && is_nothing_else(word.text)) found.push_back(word);
  }
}

}  // namespace

std::vector<ShellWord> words_not_known(const std::vector<ShellWord>& words,
                                       const std::set<std::string>& unset) {
  std::vector<ShellWord> found;
  const auto is_end = [](const ShellWord& word) { return word.text.empty(); };
  for (auto begin = words.begin(); begin != words.end();) {
    const auto end = std::find_if(begin, words.end(), is_end);
    add_not_known({begin, end}, found);
    begin = end == words.end() ? end : std::next(end);
  }
  std::erase_if(found, [&](const ShellWord& one) { return unset.contains(variable_in(one.text)); });
  return found;
}

bool is_substitution(const std::string& word) {
  return word.find("$(") != std::string::npos || word.find('`') != std::string::npos;
}

bool is_parameter(const std::string& word) {
  const std::size_t at = word.starts_with("${") ? 2 : 1;
  return word.starts_with("$") && at < word.size() &&
         (word[at] == '@' || word[at] == '*' || (word[at] >= '0' && word[at] <= '9'));
}

bool sets_up_shell(const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1);
  return begins_with_any(file, {"/etc/"}) || file.find("/init/") != std::string::npos ||
         is_any(name, {"activate", ".bashrc", ".bash_profile", ".profile", "bashrc", "profile",
                       "conda.sh", "setvars.sh", "set_env.sh", "modules.sh"});
}

}  // namespace sgdsim
