// Formulas only: what plays runs would keep the map waiting.
#include "app/page/page_training.h"

#include "sim/core/error.h"
#include "study/advise/training.h"
#include "study/goodput/intervals.h"
#include "study/goodput/plan_formulas.h"
#include "study/goodput/spans.h"

namespace sgdsim {

Json training_of_page(const PageInput& input, Duration step, const Json& question) {
  const Experiment experiment = read_experiment(resolved_of(input));
  const int workers = experiment.cluster.network.workers();
  const AdvisedTraining training({question.dump(), "", ""}, experiment.cluster, step);
  const GoodputQuestion& now = training.now();
  if (!has_closed_form(now.plan))
    throw InputError("goodput", "no formula holds for this question: ask sgdsim goodput");
  const TrainingEnd end = training.end(step, workers);
  Json json = {{"end", to_json_by_fields(end)},
               {"nodes", now.machine.nodes},
               {"failures", end.days * seconds_of_day / mean_to_stop_s(now.plan)},
               {"assumed", now.assumed},
               {"command", training.command(step, workers)}};
  if (const auto advice = advise_interval(now.plan)) {
    json["interval"] = to_json_by_fields(*advice);
    json["intervals"] = Json::array();
    for (const goodput::Plan& plan : plans_with_intervals(now.plan))
      json["intervals"].push_back(
          to_json_by_fields(IntervalEnd{plan.interval, plan.interval_s(), closed_form_s(plan)}));
  }
  return json;
}

}  // namespace sgdsim
