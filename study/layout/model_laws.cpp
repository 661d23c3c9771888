// Numbers, and what each of them rests on.
#include "study/layout/model_laws.h"

#include <cmath>
#include <ostream>

#include "models/training/loss_laws.h"
#include "sim/core/error.h"
#include "sim/core/number_list.h"
#include "study/collective/ranges.h"
#include "study/layout/layout_files.h"
#include "study/layout/layout_rates.h"
#include "study/question_fields.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr double least_scale = 1e6;
constexpr double most_parameters = 1e14;
constexpr double most_law_tokens = 1e17;
// Runs that the law of loss was fitted to.
constexpr double fitted_from_parameters = 70e6;
constexpr double fitted_to_parameters = 16e9;
constexpr double fitted_from_tokens = 5e9;
constexpr double fitted_to_tokens = 500e9;
// Without --penalty: those of these that more tokens can make up for.
constexpr double usual_penalties[] = {0.001, 0.003, 0.01, 0.03};

constexpr char loss_source[] =
    "L = 1.8172 + 482.01 / N^0.3478 + 2085.43 / D^0.3658: Besiroglu and others 2024, Chinchilla's "
    "runs (70M to 16B parameters, 5B to 500B tokens) fitted again; as quoted, not checked here";
constexpr char critical_source[] =
    "2.1e8 / L^(1 / 0.21) tokens: Kaplan and others 2020, models up to 1.5B on other data, whose "
    "losses are others, so an order of magnitude; as quoted, not checked here";
constexpr char best_source[] =
    "0.0306 D^0.383 sequences: Bergsma and others 2025, models of 111M to 3.3B; the lowest loss, "
    "not the fastest; as quoted, not checked here";
constexpr char penalty_source[] = "tokens at which the law of loss has made up for it";

double scale_in(const std::string& text, double most, const char* what, const char* option) {
  const auto value = static_cast<double>(parse_tokens(text, option, what));
  if (value < least_scale || value > most)
    throw InputError(option, "laws of large models say nothing of " + text.substr(0, 40) + " " +
                                 what + ": expected 1M to " +
                                 tokens_text(static_cast<int64_t>(most)));
  return value;
}

double parameters_in(const ModelLawsWords& words) {
  if (words.model.empty() == words.parameters.empty())
    throw InputError("--parameters", "expected either a model or --parameters, as 70B");
  if (words.model.empty())
    return scale_in(words.parameters, most_parameters, "parameters", "--parameters");
  const ParameterCount count = parameters_of(load_model(words.model));
  if (count.active != count.total)
    throw InputError(words.model,
                     "has experts, of which these laws say nothing: give --parameters of a dense "
                     "model that you compare it with");
  return static_cast<double>(count.total);
}

std::vector<double> penalties_in(const ModelLawsWords& words, double most) {
  std::vector<double> penalties;
  if (words.penalty.empty()) {
    for (const double penalty : usual_penalties)
      if (penalty < most) penalties.push_back(penalty);
    return penalties;
  }
  std::vector<std::string> given;
  for (const std::string& list : words.penalty)
    for (std::string& text : split_list(list)) given.push_back(std::move(text));
  for (const std::string& text : given) {
    const double penalty = parse_number(text, 0, 100, "--penalty");
    if (penalty <= 0) throw InputError("--penalty", "expected losses above 0, as 0.006");
    if (!(penalty < most))
      throw InputError("--penalty", "a loss that is " + rounded(penalty) +
                                        " higher cannot be made up for by any number of tokens: "
                                        "endless data would lower it by " +
                                        rounded(most) + ", so choose less, or a larger model");
    penalties.push_back(penalty);
  }
  return penalties;
}

std::string large_text(double value) {
  return value < 9e18 ? tokens_text(std::llround(value)) : rounded(value);
}

}  // namespace

double ModelLaws::loss() const { return expected_loss(parameters, tokens); }

Fields fields_of(const ToldPenalty& told) {
  return {Field("penalty", told.penalty, "by which the loss is higher").at_least(0),
          Field("tokens_factor", told.tokens_factor, "times the tokens make up for it").at_least(1),
          Field("tokens", told.tokens, "those").at_least(0)};
}

Fields fields_of(const ModelLaws& laws) {
  return {answer_kind("sgdsim/model-laws/1"),
          Field("parameters", laws.parameters, "of a dense model").at_least(0),
          Field("tokens", laws.tokens, "trained on").at_least(0),
          Field("loss", laws.loss(), "expected, in nats per token").at_least(0),
          {"loss_source", std::string(loss_source), "the law, and what it rests on"},
          Field("critical_batch_tokens", critical_batch_tokens(laws.loss()),
                "tokens of a step at which steps are twice the least, at that loss")
              .at_least(0),
          {"critical_batch_source", std::string(critical_source), "likewise"},
          Field("best_batch_sequences", best_batch_sequences(laws.tokens),
                "of 2,048 tokens, with the lowest loss")
              .at_least(0),
          Field("best_batch_tokens", best_batch_sequences(laws.tokens) * best_batch_sequence,
                "the same in tokens")
              .at_least(0),
          {"best_batch_source", std::string(best_source), "likewise"},
          {"penalties", laws.penalties, "what higher losses cost"},
          {"penalties_source", std::string(penalty_source), "likewise"},
          Field("warnings", laws.warnings, "what the reader must know before trusting the numbers")
              .if_any()};
}

Json schema_of_model_laws() { return schema_of_record<ModelLaws>(); }

Fields model_laws_fields(ModelLawsWords& words) {
  return {
      Field("model", words.model,
            "a model of `sgdsim list models`, a model file, or config.json of Hugging Face; in "
            "place of --parameters")
          .option("MODEL"),
      {"parameters", words.parameters, "parameters of a dense model, as 70B"},
      Field("tokens", words.tokens, "tokens that it is trained on, as 1.4T").needed(),
      {"penalty", words.penalty, "by how much a method's loss is higher, as 0.006 or 0.006,0.04"}};
}

ModelLaws laws_of(const ModelLawsWords& words) {
  ModelLaws laws;
  laws.parameters = parameters_in(words);
  laws.tokens = scale_in(words.tokens, most_law_tokens, "tokens", "--tokens");
  for (const double penalty : penalties_in(words, loss_of_few_tokens(laws.tokens))) {
    const double factor = tokens_to_make_up(penalty, laws.tokens);
    laws.penalties.push_back({penalty, factor, factor * laws.tokens});
  }
  if (laws.parameters < fitted_from_parameters || laws.parameters > fitted_to_parameters ||
      laws.tokens < fitted_from_tokens || laws.tokens > fitted_to_tokens)
    laws.warnings.emplace_back(
        "beyond the runs that the law of loss was fitted to (70M to 16B parameters, 5B to 500B "
        "tokens): an extrapolation");
  return laws;
}

void print(std::ostream& out, const ModelLaws& laws) {
  out << large_text(laws.parameters) << " parameters, " << large_text(laws.tokens) << " tokens ("
      << rounded(laws.tokens / laws.parameters, 3) << " for each parameter)\n\n";
  const double critical = critical_batch_tokens(laws.loss());
  const double best = best_batch_sequences(laws.tokens);
  Table table({"published laws", "say"});
  table.add({"loss [1]", rounded(laws.loss(), 5) + " nats per token"});
  table.add({"critical batch [2]", large_text(critical) + " tokens of a step"});
  table.add({"best batch [3]", rounded(best) + " sequences of 2,048"});
  table.print(out, 2);
  if (!laws.penalties.empty()) {
    out << "\nWhat a higher loss costs [4]\n\n";
    Table costs({"loss higher by", "x tokens", "tokens"});
    for (const ToldPenalty& one : laws.penalties)
      costs.add({rounded(one.penalty), rounded(one.tokens_factor, 5), large_text(one.tokens)});
    costs.print(out, 0);
  }
  out << "\n[1] " << loss_source << "\n[2] " << critical_source << "\n[3] " << best_source << '\n';
  if (!laws.penalties.empty()) out << "[4] " << penalty_source << '\n';
}

Answer answer_model_laws(const Value& question, const Watch&) {
  ModelLawsWords words = words_of(question, model_laws_fields);
  const ModelLaws laws = laws_of(words);
  return {to_json_by_fields(laws), laws.warnings};
}

}  // namespace sgdsim
