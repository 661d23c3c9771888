// The question is completed and asked; nothing is computed here.
#include "study/layout/training_end.h"

#include <algorithm>

#include "models/goodput/runs.h"
#include "sim/core/error.h"
#include "study/goodput/goodput_question.h"
#include "study/goodput/spans.h"

namespace sgdsim {
namespace {

constexpr int64_t usual_runs = 400;

}  // namespace

FailingTraining::FailingTraining(const std::string& file_or_json, const StepSize& size,
                                 int64_t gpus_per_node) {
  const Document document = Document::read(file_or_json);
  const Value root = document.root();
  question_ = root.json();
  file_ = root.file();
  if (!question_.is_object()) root.fail("expected a question of `sgdsim goodput`, an object");
  for (const char* name : {"step", "steps", "tokens", "tokens_per_step", "nodes", "gpus_per_node"})
    if (question_.contains(name)) root.child(name).fail("leave it out: the layout says it");
  const int64_t of_node = std::clamp<int64_t>(gpus_per_node, 1, size.gpus);
  question_["tokens"] = std::to_string(size.tokens);
  question_["tokens_per_step"] = std::to_string(size.of_step());
  question_["nodes"] = (size.gpus + of_node - 1) / of_node;
  question_["gpus_per_node"] = of_node;
  if (!question_.contains("runs")) question_["runs"] = usual_runs;
  end(Duration::s(1));
}

TrainingEnd FailingTraining::end(Duration step) const {
  Json json = question_;
  json["step"] = std::to_string(step.ps()) + " ps";
  const GoodputQuestion question = read_goodput_question(Value(json, file_, ""));
  const double wall_s =
      has_closed_form(question.plan)
          ? closed_form_s(question.plan)
          : goodput::to_s(
                goodput::play_runs(question.plan, {question.runs, question.seed, 1, {}}).wall);
  TrainingEnd end{wall_s / seconds_of_day, question.work_s() / wall_s, question.interval_s(), {}};
  if (question.gpu_hour)
    end.cost = *question.gpu_hour * static_cast<double>(question.gpus()) * wall_s / seconds_of_hour;
  return end;
}

}  // namespace sgdsim
