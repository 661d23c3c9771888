// Speed of learning: iterations of the default task, 8 workers with 8 samples each. The answer is
// checked first: it must have learned.
#include <benchmark/benchmark.h>
#include <stdexcept>

#include "models/learning/lesson.h"

namespace {

using namespace sgdsim;

void lesson(benchmark::State& state) {
  const Json name = "teacher_mlp";
  const learning::Task task = learning::read_task(Value(name, "task", ""));
  learning::LessonPlan plan;
  plan.task = &task;
  plan.log.workers = 8;
  plan.optimizer.rate = task.rate;
  plan.samples = 8;
  plan.iterations = plan.evaluate = state.range(0);
  const learning::Lesson once = learning::learn(plan);
  if (!(once.curve.back().loss < 0.8 * once.curve.front().loss))
    throw std::logic_error("wrong answer: nothing was learned");
  for (auto _ : state) benchmark::DoNotOptimize(learning::learn(plan));
}
BENCHMARK(lesson)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
