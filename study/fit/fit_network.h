// What sends the messages that were measured: --network, and from which size they wait for an
// answer (--rendezvous).
#pragma once

#include "study/fit/fit_question.h"

namespace sgdsim {

// InputError unless both can be read.
void check_network(const FitArguments& arguments);
// Of the bytes that come, what goes back as acknowledgements.
double acknowledged_on(const FitArguments& arguments);
// Multiplies the start-ups of rows that wait, and keeps the size; a note says what was found.
void apply_rendezvous(const FitArguments& arguments, int pieces, Fitted& one, FitAnswer& answer);

}  // namespace sgdsim
