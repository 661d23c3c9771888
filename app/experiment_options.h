// What the commands that play an experiment have in common on their command lines: the experiment
// or trace, its cluster, methods, and where the answer goes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/commands.h"
#include "sim/core/json.h"

namespace sgdsim {

// Which of the commands answers which question, for the end of their help.
inline constexpr char which_command[] =
    "Which command:\n"
    "  run     one way: what a step takes, and why\n"
    "  plan    every strategy, or every --method, on one cluster, side by side\n"
    "  sweep   all combinations of values of fields, of strategies and methods\n"
    "  tune    the best value of a size: buckets, blocks, density\n"
    "  need    the value of a field with which a target is met\n"
    "  advise  what to change in software, settings and hardware, and how sure that is";

// The JSON goes to `file`, if one is given, and to `out` in the format json; for people, `table`
// prints.
void give_answer(const Json& json, const std::string& file, const std::string& format,
                 Streams streams, const std::function<void()>& table);

}  // namespace sgdsim
