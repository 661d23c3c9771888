// Workers that do not wait for each other: each pushes its gradients to the parameter servers,
// which update at once, and pulls the parameters back.
#pragma once

#include "models/step/step.h"

namespace sgdsim {

// The experiment's collective must be parameter servers, with uniform parts.
//
// An iteration is P updates of the parameters, whoever they are from. With constant times, one
// server, n bytes and l_up the update at the server, iterations per second are
//
//   min( P / (l_comp + 2 (alpha + n beta) + l_up), 1 / (alpha + n beta), 1 / (l_up + n gamma) ) / P
//
// and that is the closed form (S servers: n/S, and S + 1 messages of a worker one after the other).
StepResult play_asynchronous(const StepQuestion& question, const AsynchronousRule& rule);

}  // namespace sgdsim
