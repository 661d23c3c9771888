// Words of a line are looked for where they stand as whole words, so that "https:" has no "tps".
#include "traces/steps/training_lines.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

constexpr std::string_view ends_of_words = " \t|,;]})";

constexpr std::array<TrainingLine, 11> lines{{
    {"Megatron-LM",
     "iteration 10/ 1000 | elapsed time per iteration (ms): 1147.6 | global batch size: 16 |",
     "elapsed time per iteration (ms)", "iteration ", TimeUnit::milliseconds, true},
    {"Megatron-DeepSpeed",
     "iteration 10/ 1000 | elapsed time per iteration (s): 215.82 | global batch size: 2048 |",
     "elapsed time per iteration (s)", "iteration ", TimeUnit::seconds, true},
    {"Megatron-DeepSpeed",
     "iteration= 10/ 1000 | elapsed_time_per_iteration_ms=16071.8 | global_batch_size= 256 |",
     "elapsed_time_per_iteration_ms", "iteration", TimeUnit::milliseconds, true},
    {"NeMo",
     "iteration 1/249 | global_batch_size: 8 | global_step: 1 | train_step_timing in s: 2.5",
     "train_step_timing in s", "global_step"},
    {"DeepSpeed", "steps: 10 loss: 7.1000 iter time (s): 1.250 samples/sec: 12.800",
     "iter time (s)", "steps", TimeUnit::seconds, true},
    {"torchtitan", "step: 10  loss: 7.1  memory: 30.0GiB(38%)  tps: 6,400  tflops: 280  mfu: 28%",
     "tps", "step", TimeUnit::tokens_per_s, true, true},
    {"others", "step 12 | global_batch_size: 64 | samples_per_second: 128.0", "samples_per_second",
     "global_step", TimeUnit::samples_per_s},
    {"DeepSpeed", "epoch=0/micro_step=10/global_step=10, ..., CurrSamplesPerSec=12.5",
     "CurrSamplesPerSec", "global_step", TimeUnit::samples_per_s},
    {"nanoGPT", "iter 10: loss 3.2000, time 150.12ms, mfu 20.10%", "time ", "iter ",
     TimeUnit::as_written, false, true, "val loss"},
    {"build-nanogpt", "step    10 | loss: 3.2 | dt: 300.12ms | tok/sec: 1700000.00", "dt", "step ",
     TimeUnit::as_written, false, true, "validation loss"},
    {"Hugging Face",
     "{'train_runtime': 100.0, 'train_samples_per_second': 64.0, 'train_steps_per_second': 2.0}",
     "train_steps_per_second", "", TimeUnit::steps_per_s_of_run},
}};

bool is_letter(char c) { return c == '_' || std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

void skip(std::string_view& text, std::string_view letters) {
  text.remove_prefix(std::min(text.find_first_not_of(letters), text.size()));
}

// The rest of a line after a name that is no part of a longer one.
std::optional<std::string_view> rest_behind(std::string_view line, std::string_view name) {
  for (std::size_t at = line.find(name); at != std::string_view::npos;
       at = line.find(name, at + 1)) {
    std::string_view rest = line.substr(at + name.size());
    if (at > 0 && is_letter(line[at - 1])) continue;
    if (name.ends_with(' ')) {
      skip(rest, " ");
      if (rest.empty() || !is_digit(rest.front())) continue;
      return rest;
    }
    skip(rest, "\"'");
    skip(rest, " \t");
    if (rest.empty() || (rest.front() != ':' && rest.front() != '=')) continue;
    rest.remove_prefix(1);
    skip(rest, " \t\"'");
    return rest;
  }
  return std::nullopt;
}

std::optional<int64_t> whole_behind(std::string_view line, std::string_view name) {
  const auto rest = rest_behind(line, name);
  const auto whole =
      rest ? whole_word(rest->substr(0, rest->find_first_not_of("0123456789"))) : std::nullopt;
  return whole && *whole < int64_t{1} << 52 ? whole : std::nullopt;
}

// The line on which a word of a text stands, from the place of the word on.
std::string_view line_from(std::string_view text, std::size_t at) {
  return text.substr(at, text.find_first_of("\r\n", at) - at);
}

// "  train_batch_size ............. 64", of DeepSpeed's configuration.
std::optional<int64_t> dotted_batch(std::string_view text) {
  constexpr std::string_view name = "train_batch_size ..";
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    std::string_view rest = line_from(text, at + name.size());
    skip(rest, ". ");
    if (const auto batch = whole_word(rest.substr(0, rest.find_first_not_of("0123456789"))))
      return batch;
  }
  return std::nullopt;
}

// The product of the numbers in a list "[4, 2]"; none if one is no number of at least 1.
std::optional<int64_t> product_of(std::string_view list) {
  int64_t product = 1;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view word = list.substr(0, comma);
    skip(word, " ");
    const auto factor = whole_word(word);
    if (!factor || *factor < 1 || __builtin_mul_overflow(product, *factor, &product))
      return std::nullopt;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return product;
}

// Of torchtitan: "Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]", later "Building device
// mesh with parallelism: pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=1, ep=1". Experts are spread
// over ranks that other dimensions count.
std::optional<int64_t> mesh_in(std::string_view text) {
  if (const std::size_t at = text.find("device mesh with parallelism"); at != text.npos) {
    const std::string_view line = line_from(text, at);
    int64_t product = 1;
    for (const std::string_view name : {"pp", "dp_replicate", "dp_shard", "cp", "tp"}) {
      const int64_t degree = whole_behind(line, name).value_or(1);
      if (degree < 1 || __builtin_mul_overflow(product, degree, &product)) return std::nullopt;
    }
    return product;
  }
  const std::size_t at = text.find("-D device mesh with [");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view line = line_from(text, at);
  const std::size_t from = line.find("], [");
  const std::size_t end = line.rfind(']');
  if (from == std::string_view::npos || end < from + 4) return std::nullopt;
  return product_of(line.substr(from + 4, end - from - 4));
}

// The summary of a run says how long it took as well; torchtitan prints the same of validation.
bool is_other_line(std::string_view line, const TrainingLine& form) {
  if (form.unit == TimeUnit::steps_per_s_of_run) return !word_behind(line, "train_runtime");
  return form.unit == TimeUnit::tokens_per_s && line.find("validate step") != line.npos;
}

}  // namespace

std::span<const TrainingLine> training_lines() { return lines; }

std::optional<std::string_view> word_behind(std::string_view line, std::string_view name) {
  const auto rest = rest_behind(line, name);
  if (!rest) return std::nullopt;
  const auto end_from = [&](std::size_t at) {
    return std::min(rest->find_first_of(ends_of_words, at), rest->size());
  };
  std::size_t end = end_from(0);
  while (end + 1 < rest->size() && (*rest)[end] == ',' && is_digit((*rest)[end + 1]))
    end = end_from(end + 1);
  std::string_view word = rest->substr(0, end);
  while (word.ends_with('\'') || word.ends_with('"')) word.remove_suffix(1);
  return word;
}

std::optional<double> figure_behind(std::string_view line, std::string_view name) {
  const auto word = word_behind(line, name);
  return word ? number_word(*word) : std::nullopt;
}

std::optional<int64_t> step_number_in(std::string_view line, const TrainingLine& form) {
  if (form.number.empty()) return std::nullopt;
  if (form.number.ends_with(' ')) return whole_behind(line, form.number);
  if (const auto step = figure_behind(line, form.number); step && *step < 0x1p52)
    return static_cast<int64_t>(*step);
  if (const auto step = whole_behind(line, form.number)) return step;  // "3/ 1000"
  return whole_behind(line, "iteration ");
}

std::optional<std::string_view> time_word_in(std::string_view line, const TrainingLine& form) {
  const auto word = word_behind(line, form.time);
  if (!word) return std::nullopt;
  if (form.needs_number && !step_number_in(line, form)) return std::nullopt;
  if (is_other_line(line, form)) return std::nullopt;
  // "2701.3/2712.7": of this step, and the mean until now.
  const std::string_view first = word->substr(0, word->find('/'));
  return number_word(first) ? first : *word;
}

std::optional<EvaluationLine> evaluation_in(std::string_view line, const TrainingLine& form) {
  if (form.evaluation.empty() || lower(line).find(form.evaluation) == std::string::npos)
    return std::nullopt;
  return EvaluationLine{whole_behind(line, "step ")};
}

const TrainingLine* training_line_in(std::string_view text) {
  for (const TrainingLine& form : lines) {
    for (std::size_t at = text.find(form.time); at != std::string_view::npos;) {
      const std::size_t before =
          at == 0 ? std::string_view::npos : text.find_last_of("\r\n", at - 1);
      const std::size_t from = before == std::string_view::npos ? 0 : before + 1;
      const std::string_view line = line_from(text, from);
      if (time_word_in(line, form)) return &form;
      at = text.find(form.time, from + line.size());
    }
  }
  return nullptr;
}

RunFacts run_facts_in(std::string_view text) {
  RunFacts facts;
  facts.gpus = mesh_in(text);
  facts.global_batch = dotted_batch(text);
  if (const std::size_t at = text.find("local batch size "); at != std::string_view::npos) {
    const std::string_view line = line_from(text, at);
    if (const auto batch = whole_behind(line, "global batch size ")) facts.global_batch = batch;
    facts.sequence_length = whole_behind(line, "sequence length ");
  }
  return facts;
}

}  // namespace sgdsim
