// Published laws of large language models: the loss after a training, the batches that it bears,
// and what a small difference of losses costs.
//
// Constants are those of the sources, fitted to their runs; nothing here was measured. They are
// wrong beyond those runs, for other data and other mixtures, and for models with experts. The
// critical batch is Kaplan's function of a loss on other data than that of the loss's law.
//   loss: Besiroglu and others, Chinchilla Scaling: A Replication Attempt, 2024 (arXiv 2404.10102)
//   critical batch: Kaplan and others, Scaling Laws for Neural Language Models, 2020
//   best batch: Bergsma and others, Power Lines, 2025 (arXiv 2505.13738)
#pragma once

namespace sgdsim {

// Cross-entropy in nats per token, of a dense model with so many parameters.
double expected_loss(double parameters, double tokens);
// The part of it that more tokens would take away.
double loss_of_few_tokens(double tokens);
// How many times the tokens make up for a loss that is higher by `penalty`, which must be below
// loss_of_few_tokens.
double tokens_to_make_up(double penalty, double tokens);

// Tokens of a step at which a training needs twice the least steps, and twice the least tokens.
double critical_batch_tokens(double loss);
// Of 2,048 tokens: the batch with the lowest loss after so many tokens, at its best rate.
double best_batch_sequences(double tokens);
inline constexpr double best_batch_sequence = 2048;

}  // namespace sgdsim
