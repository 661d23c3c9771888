// Workers that do not wait for each other: each pushes its gradients to the parameter servers,
// which update at once, and pulls the parameters back.
#pragma once

#include "models/step/step.h"

namespace sgdsim {

// The experiment's collective must be parameter servers, with uniform parts.
//
// An iteration is P updates of the parameters, whoever they are from. With constant times, one
// server, n bytes, b = alpha + n beta and l_up the update at the server, iterations per second are
//
//   min( P / (l_comp + b + max(b, n gamma) + l_up), 1 / b, 1 / (l_up + n gamma) ) / P
//
// and that is the closed form (S servers: n/S, and S + 1 messages of a worker one after the other).
// A worker on which a server sits sends nothing to that one, so one message less, and takes what it
// gets from the others by the port of that server: all at the same pace have a port busy for
// (P + S - 2) b each. With one server its worker goes at its own pace, l_comp + n gamma + l_up.
StepResult play_asynchronous(const StepQuestion& question, const AsynchronousRule& rule);

}  // namespace sgdsim
