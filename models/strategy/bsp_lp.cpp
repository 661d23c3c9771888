// BSP-SGD, layer by layer. The abstract of the LP paper (Wang et al., arXiv 1611.04255) names
// broadcasts of parameters and reductions of gradients; that is all of it that was read. The forms
// below are ours.
//
// `exchange`: "broadcast_reduce" broadcasts the parameters of each layer before its forward and
// reduces its gradients after its backward; the root alone updates. "allreduce" reduces to all, who
// all update. `form`: "serial" overlaps nothing; "lockstep" starts the next layer's transfer and
// waits for it after each layer's computation; "fifo" (the default) lets transfers queue.
//
// `drain`: true (the default) lets a collective start when the one before it has ended everywhere;
// false lets every worker go on as soon as it is through, which only message fidelity can tell
// apart.
#include "models/strategy/registry.h"

namespace sgdsim::strategy::bsp_lp {
namespace {

struct Options {
  BspForm form = BspForm::fifo;
  bool broadcasts = false;
  bool drains = true;
};

Fields fields_of(Options& o) {
  return {{"form", o.form, "what overlaps: nothing, the next layer's transfer, or all in a queue"},
          Field("exchange", o.broadcasts,
                "reduce to all, who all update; or reduce to a root and broadcast its parameters")
              .one_of({"allreduce", "broadcast_reduce"}),
          {"drain", o.drains, "a collective starts when the one before it has ended everywhere"}};
}

Strategy read(Object& fields) {
  const auto options = read_record<Options>(fields);
  return {.name = "",
          .plan =
              [options](const PlanInput& input) {
                GradientPlan plan;
                for (std::size_t l = input.trace.layers.size(); l-- > 0;)
                  plan.messages.push_back(
                      message_of(input.trace, static_cast<int>(l), static_cast<int>(l)));
                plan.bsp = options.form;
                plan.bsp_broadcasts = options.broadcasts;
                plan.bsp_drains = options.drains;
                return plan;
              },
          .takes_turns = true};
}

}  // namespace

StrategyKind describe() {
  return {"bsp_lp", "BSP-SGD: serial, lockstep or fifo, all-reduce or with a root",
          options_of<Options>, read};
}

}  // namespace sgdsim::strategy::bsp_lp
