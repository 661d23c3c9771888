// `sgdsim layout --axis`: the same question for every point of a product of fields.
#pragma once

#include <functional>

#include "app/commands.h"
#include "app/layout/layout_arguments.h"
#include "app/layout/layout_output.h"

namespace sgdsim {

struct AnsweredLayouts {
  LayoutQuestion question;
  LayoutAnswer answer;
};

// Prints a line for each point, in order: the first axis is the slowest. A point that cannot be
// answered has the reason. Returns the exit code; `stopper` is asked before every point.
int sweep_layouts(const LayoutArguments& arguments, Streams streams,
                  const std::function<AnsweredLayouts(const LayoutArguments&)>& answer,
                  const Stopper& stopper);

}  // namespace sgdsim
