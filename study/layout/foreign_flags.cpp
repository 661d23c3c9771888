// Megatron-LM's parser takes no abbreviations (allow_abbrev=False) and no flags that it does not
// know; forks of it have others.
#include "study/layout/foreign_flags.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "study/layout/layout_flags.h"

namespace sgdsim {
namespace {

// Others that are read of Megatron-LM and are long enough to be mistaken.
constexpr std::array<std::string_view, 26> other_flags = {
    "seq-length",
    "encoder-seq-length",
    "num-distributed-optimizer-instances",
    "data-parallel-sharding-strategy",
    "use-megatron-fsdp",
    "use-torch-fsdp2",
    "overlap-grad-reduce",
    "overlap-param-gather",
    "grad-reduce-in-bf16",
    "accumulate-allreduce-grads-in-fp32",
    "no-gradient-accumulation-fusion",
    "recompute-activations",
    "recompute-method",
    "recompute-num-layers",
    "recompute-modules",
    "num-virtual-stages-per-pipeline-rank",
    "pipeline-model-parallel-layout",
    "decoder-first-pipeline-num-layers",
    "decoder-last-pipeline-num-layers",
    "account-for-embedding-in-pipeline-split",
    "account-for-loss-in-pipeline-split",
    "moe-token-dispatcher-type",
    "mtp-num-layers",
    "attention-backend",
    "transformer-impl",
    "num-layers"};  // the last one is the beginning of another one

constexpr auto known_flags = [] {
  std::array<std::string_view, layout_flags.size() + other_flags.size()> all;
  std::copy(other_flags.begin(), other_flags.end(),
            std::copy(layout_flags.begin(), layout_flags.end(), all.begin()));
  return all;
}();

constexpr std::size_t shortest = 6;  // of what is told to be the beginning of a flag

bool is_known(const std::string& flag) {
  return std::find(known_flags.begin(), known_flags.end(), flag) != known_flags.end();
}

// Letters that are put in, left out, or are others, from one to the other.
std::size_t letters_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t i = 0; i <= b.size(); ++i) row[i] = i;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// "--seq-length", or several; empty: it begins none.
std::string flags_begun(const std::string& flag) {
  std::string all;
  for (const std::string_view known : known_flags) {
    if (!known.starts_with(flag)) continue;
    all += all.empty() ? "--" : " or --";
    all += known;
  }
  return all;
}

// Where one letter or two are wrong; empty: none is so near.
std::string flag_near(const std::string& flag) {
  constexpr std::size_t most_letters = 2;
  constexpr std::size_t most_length = 60;
  const bool is_other = flag == "decoder-seq-length";  // of T5
  if (is_other || flag.size() < 2 * shortest || flag.size() > most_length) return "";
  for (const std::string_view known : known_flags)
    if (letters_between(flag, known) <= most_letters) return std::string(known);
  return "";
}

// "tensor-parallel-size"; those of an engine for inference beside the training are its own.
bool names_degree(const std::string& flag) {
  const bool is_of_engine = flag.starts_with("sglang-") || flag.starts_with("vllm-") ||
                            flag.starts_with("rollout-") || flag.starts_with("encoder-") ||
                            flag.starts_with("virtual-");
  return !is_of_engine && (flag.ends_with("parallel-size") || flag.ends_with("parallel-degree"));
}

bool goes_on_behind_known(const std::string& flag) {
  return std::any_of(known_flags.begin(), known_flags.end(), [&](std::string_view known) {
    return known != "num-layers" && flag.size() > known.size() && flag.starts_with(known);
  });
}

// Not a variable, nor "parallelism.tensor_parallel_degree".
bool is_plain_flag(const std::string& name) {
  return std::islower(static_cast<unsigned char>(name.front())) != 0 &&
         name.find('.') == std::string::npos;
}

}  // namespace

void check_flags(const FlatSettings& settings, ForeignLayout& found) {
  for (const auto& setting : settings.values()) {
    const std::string& flag = setting.first;
    if (flag.empty() || !is_plain_flag(flag) || is_known(flag)) continue;
    const std::string begun = flag.size() < shortest ? "" : flags_begun(flag);
    if (!begun.empty())
      settings.fail(flag, "Megatron-LM takes no abbreviations of flags; write " + begun);
    const std::string near = flag_near(flag);
    if (!near.empty())
      found.notes.push_back("--" + flag + " is not read; is --" + near + " meant?");
    else if (names_degree(flag) || goes_on_behind_known(flag))
      found.notes.push_back("--" + flag +
                            " is not read: no flag of a layout is known by that name");
  }
}

}  // namespace sgdsim
