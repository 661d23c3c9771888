// L = E + A / N^a + B / D^b, and powers.
#include "models/training/loss_laws.h"

#include <cmath>

namespace sgdsim {
namespace {

constexpr double irreducible = 1.8172;
constexpr double of_parameters = 482.01;
constexpr double parameters_exponent = 0.3478;
constexpr double of_tokens = 2085.43;
constexpr double tokens_exponent = 0.3658;

}  // namespace

double loss_of_few_tokens(double tokens) { return of_tokens / std::pow(tokens, tokens_exponent); }

double expected_loss(double parameters, double tokens) {
  return irreducible + of_parameters / std::pow(parameters, parameters_exponent) +
         loss_of_few_tokens(tokens);
}

double tokens_to_make_up(double penalty, double tokens) {
  const double now = loss_of_few_tokens(tokens);
  return std::pow(now / (now - penalty), 1 / tokens_exponent);
}

double critical_batch_tokens(double loss) { return 2.1e8 / std::pow(loss, 1 / 0.21); }

double best_batch_sequences(double tokens) { return 0.0306 * std::pow(tokens, 0.383); }

}  // namespace sgdsim
