// Which fidelity plays a step, and what it cannot play.
#include "models/step/step.h"

#include "models/step/asynchronous.h"
#include "models/step/asynchronous_workers.h"
#include "models/step/compute.h"
#include "models/step/step_player.h"
#include "sim/core/error.h"
#include "sim/core/refusal.h"

namespace sgdsim {

namespace {

void check_pipeline(const StepQuestion& question) {
  if (question.fidelity == Fidelity::closed_form &&
      (question.interference != 1 || question.channels != 1))
    throw no_formula("", "interference and several channels where iterations overlap");
}

// What messages share; InputError if they are none that could.
std::shared_ptr<Resources> wires_of(const StepQuestion& question) {
  const bool has_servers = question.cost.servers() != nullptr;
  const Cluster& cluster = question.with_servers ? *question.with_servers : *question.cluster;
  if (!is_on_wires(question.fidelity)) return shared_at(question.fidelity, cluster, {});
  return wires_of(cluster, has_servers ? CollectiveOptions() : question.cost.job().options,
                  question.seed);
}

StepResult play(const StepQuestion& question, const PipelineRule* pipeline) {
  return question.fidelity != Fidelity::closed_form ? StepPlayer<Clocks>(question, pipeline).run()
                                                    : StepPlayer<Time>(question, pipeline).run();
}

}  // namespace

std::shared_ptr<const Cluster> cluster_with_servers(const StepQuestion& question) {
  const ParameterServers* servers = question.cost.servers();
  if (servers == nullptr || !servers->dedicated) return nullptr;
  if (!question.cluster->with_more)
    throw not_together(
        "",
        "dedicated servers have nodes of their own, which this cluster has no places "
        "for: `sgdsim jobs` names the places of its `servers`; placement co_located "
        "has them on workers");
  try {
    return std::make_shared<Cluster>(question.cluster->with_more(servers->servers));
  } catch (const InputError& error) {
    throw InputError("", std::string("dedicated servers need a node each behind those of the "
                                     "workers: ") +
                             error.what());
  }
}

StepQuestion on_its_wires(StepQuestion question) {
  question.with_servers = cluster_with_servers(question);
  question.wires = wires_of(question);
  return question;
}

StepResult simulate_step(const StepQuestion& question) {
  check_strategy(question);
  if (question.cost.is_algorithm())
    check_fidelity(question.fidelity, question.cost.job().options, question.carrier != nullptr);
  const bool meets_others = is_on_wires(question.fidelity) || question.meanwhile.any();
  if (meets_others && question.wires == nullptr && !question.played)
    return simulate_step(on_its_wires(question));
  if (question.trace->layers.empty()) throw InputError("", "the trace has no layers");
  if (question.fidelity == Fidelity::closed_form && question.workers.is_random())
    throw no_formula("", "random workers");
  // One worker cannot stand for all whose ports differ, but where everybody's pass one port.
  const ParameterServers* servers = question.cost.servers();
  if (question.fidelity == Fidelity::closed_form && servers != nullptr && servers->workers_differ &&
      !(servers->dedicated && servers->servers == 1))
    throw InputError("",
                     "no closed form is known for these parameter servers where ports differ; use "
                     "fidelity message");
  if (question.fidelity == Fidelity::closed_form && servers != nullptr &&
      servers->cost.waits_from_B())
    throw no_formula("", "parameter servers whose messages wait for answers");
  const AsynchronousRule* asynchronous = asynchronous_rule(question);
  const PipelineRule* pipeline = pipeline_rule(question);
  if (pipeline != nullptr) check_pipeline(question);
  StepResult result = asynchronous != nullptr ? play_asynchronous(question, *asynchronous)
                                              : play(question, pipeline);
  if (asynchronous != nullptr && (question.interference != 1 || question.channels != 1))
    result.warnings.emplace_back(
        "interference and channels have no effect: workers compute and exchange in turns");
  if (const Synchronization* synchronization = question.synchronization)
    for (std::string& problem : synchronization->problems_of(question.warm_up, question.iterations))
      result.warnings.push_back(std::move(problem));
  return result;
}

const PipelineRule* pipeline_rule(const StepQuestion& question) {
  const Synchronization* synchronization = question.synchronization;
  return synchronization == nullptr ? nullptr : std::get_if<PipelineRule>(&synchronization->rule);
}

GradientPlan profiled_plan(const StepQuestion& question, const MessageCost& cost) {
  return question.strategy->plan({*question.trace, cost, ready_as_profiled(*question.trace)});
}

void check_strategy(const StepQuestion& question) {
  const Synchronization* synchronization = question.synchronization;
  if (synchronization == nullptr || synchronization->plays_strategy() ||
      question.strategy->sends_all_at_once)
    return;
  const PipelineRule* pipeline = pipeline_rule(question);
  const bool has_layerwise = pipeline != nullptr && !pipeline->averages_parameters;
  throw InputError("", synchronization->name +
                           " sends everything in one message after the backward pass, whatever "
                           "the strategy: leave `strategy` out or set it to sync_easgd, not to " +
                           question.strategy->name +
                           (has_layerwise ? "; \"communication\": \"layerwise\" sends the "
                                            "messages of a strategy"
                                          : ""));
}

std::vector<Encoded> encoded_messages(const GradientPlan& plan, const MessageCost& cost) {
  std::vector<Encoded> encoded;
  encoded.reserve(plan.messages.size());
  for (const PlannedMessage& message : plan.messages)
    encoded.push_back(cost.encoded(message.group()));
  return encoded;
}

void check_plan(const StepQuestion& question, const GradientPlan& plan) {
  const bool bsp = plan.bsp != BspForm::none;
  if (bsp && !plan.bsp_drains && question.fidelity == Fidelity::closed_form)
    throw no_formula("", "strategy.drain=false, with which each worker goes on by itself");
  if (pipeline_rule(question) != nullptr && (bsp || plan.order == Order::priority))
    throw InputError("", question.synchronization->name +
                             " sends messages in order, as they get ready: no strategy by priority "
                             "(bytescheduler, p3) and no bsp_lp, but wfbp or optimal");
  if (bsp && plan.bsp_broadcasts && (!question.broadcast.is_known() || !question.reduce.is_known()))
    throw InputError("",
                     "bsp_lp with broadcast_reduce needs a collective algorithm that has both "
                     "broadcast and reduce");
  if (bsp && question.cost.compression() != nullptr)
    throw InputError("", "bsp_lp sends gradients as they are: no compression");
  if (bsp && question.channels != 1)
    throw InputError("", "bsp_lp does one collective at a time: leave out `channels`");
  if (!bsp && plan.order != Order::priority) return;
  const char* const who = bsp ? "bsp_lp" : "strategies that go by priority";
  if (question.fidelity == Fidelity::closed_form &&
      (question.interference != 1 || question.channels != 1))
    throw no_formula("", std::string(who) + " with interference or several channels");
}

}  // namespace sgdsim
