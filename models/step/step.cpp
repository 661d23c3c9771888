// Which fidelity plays a step, and what it cannot play.
#include "models/step/step.h"

#include "sim/core/error.h"

namespace sgdsim {

StepResult simulate_step(const StepQuestion& question) {
  if (question.trace->layers.empty()) throw InputError("", "the trace has no layers");
  const bool message = question.fidelity == Fidelity::message;
  if (!message && question.workers.is_random())
    throw InputError("", "random workers need fidelity message");
  if (const Synchronization* synchronization = question.synchronization) {
    StepResult result = synchronization->play(question);
    for (std::string& problem : synchronization->problems_of(question.warm_up, question.iterations))
      result.warnings.push_back(std::move(problem));
    return result;
  }
  return message ? simulate_all_workers(question) : simulate_representative(question);
}

void check_plan(const StepQuestion& question, const GradientPlan& plan) {
  const bool bsp = plan.bsp != BspForm::none;
  if (bsp && plan.bsp_broadcasts && (!question.broadcast.is_known() || !question.reduce.is_known()))
    throw InputError("",
                     "bsp_lp with broadcast_reduce needs a collective algorithm that has both "
                     "broadcast and reduce");
  if (bsp && question.cost.compression() != nullptr)
    throw InputError("", "bsp_lp sends gradients as they are: no compression");
  if (!bsp && plan.order != Order::priority) return;
  const char* const who = bsp ? "bsp_lp" : "strategies that go by priority";
  if (question.interference != 1)
    throw InputError("", std::string("interference is not defined for ") + who);
  if (question.channels != 1)
    throw InputError("", std::string("several channels are not defined for ") + who);
}

}  // namespace sgdsim
