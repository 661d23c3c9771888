// Workers that do not wait for each other: every push changes its part of the weights at once, and
// the worker reads that part back, at once, or as soon as a bound allows it.
//
// A gradient counts 1 / P, so that an iteration of all workers moves as far as a synchronous one.
// Of Adam, whose steps are as long whatever gradients are, it is the step that counts 1 / P, with
// its decay.
#include <algorithm>

#include "models/learning/exchange.h"
#include "models/learning/learner.h"

namespace sgdsim::learning {
namespace {

template <class Real>
class InOrder {
 public:
  using Vector = std::vector<Real>;

  InOrder(const LessonPlan& plan)
      : plan_(plan),
        model_(model_of<Real>(*plan.task)),
        size_(plan.task->weights()),
        weights_(model_.start(plan.seed)),
        workers_(static_cast<std::size_t>(plan.log.workers)),
        versions_(static_cast<std::size_t>(plan.log.parts)),
        exchange_(plan.compressing, plan.task->tensors, plan.log.workers, plan.seed),
        steps_(plan.optimizer, size_, versions_.size()) {
    for (Worker& worker : workers_) {
      worker.weights = weights_;
      worker.gradient.resize(size_);
      worker.read.resize(versions_.size());
      if (plan.optimizer.momentum_on_worker && plan.optimizer.momentum > 0)
        worker.velocity.resize(size_);
    }
  }

  Lesson run(const std::function<void()>& watch) {
    Judge<Real> judge(plan_);
    bool goes_on = judge.look(0, weights_);
    const auto of_an_iteration = static_cast<int64_t>(workers_.size() * versions_.size());
    int64_t count = 0;
    for (const Visit& one : plan_.log.visits) {
      if (!goes_on || count >= plan_.iterations * of_an_iteration) break;
      if (one.changes) push(one);
      if (one.reads) pull(one);
      if (!one.changes || ++count % of_an_iteration != 0) continue;
      if (watch) watch();
      goes_on = judge.look(count / of_an_iteration, weights_);
    }
    return std::move(judge).lesson(weights_);
  }

 private:
  struct Worker {
    Vector weights;  // as it has read them
    Vector gradient;
    Vector velocity;
    std::vector<int64_t> read;  // versions of parts
    int64_t iteration = 0;
    std::size_t pushed = 0;  // parts of this iteration
  };

  // When its first part is pushed, all parts have been read.
  void compute(int number, Worker& worker) {
    model_.gradient(worker.weights.data(),
                    {.seed = plan_.seed,
                     .worker = number,
                     .iteration = worker.iteration,
                     .samples = plan_.samples},
                    worker.gradient.data());
    const auto momentum = static_cast<Real>(plan_.optimizer.momentum);
    for (std::size_t i = 0; i < worker.velocity.size(); ++i)
      worker.gradient[i] = worker.velocity[i] = momentum * worker.velocity[i] + worker.gradient[i];
    exchange_.send(number, worker.gradient, worker.iteration);
    if (!exchange_.selects(worker.iteration)) return;
    for (std::size_t i = 0; i < worker.velocity.size(); ++i)
      if (worker.gradient[i] != Real{}) worker.velocity[i] = Real{};
  }

  std::size_t begin_of(std::size_t part) const {
    return begin_of_part(part, versions_.size(), size_);
  }

  void pull(const Visit& one) {
    Worker& worker = workers_[static_cast<std::size_t>(one.worker)];
    const auto part = static_cast<std::size_t>(one.part);
    for (std::size_t i = begin_of(part); i < begin_of(part + 1); ++i)
      worker.weights[i] = weights_[i];
    worker.read[part] = versions_[part];
  }

  void push(const Visit& one) {
    Worker& worker = workers_[static_cast<std::size_t>(one.worker)];
    if (worker.pushed == 0) compute(one.worker, worker);
    const auto part = static_cast<std::size_t>(one.part);
    const std::size_t from = begin_of(part);
    const std::size_t to = begin_of(part + 1);
    const int64_t stale = versions_[part] - worker.read[part];
    const auto workers = static_cast<Real>(workers_.size());
    const Real by =
        plan_.optimizer.divides_by_staleness ? workers * static_cast<Real>(stale + 1) : workers;
    const auto divide = [&] {
      for (std::size_t i = from; i < to; ++i) worker.gradient[i] /= by;
    };
    const bool adam = plan_.optimizer.adam;
    if (!adam) divide();
    steps_.direct(weights_, worker.gradient, part);
    if (adam) divide();
    const auto rate = static_cast<Real>(plan_.optimizer.rate);
    for (std::size_t i = from; i < to; ++i) weights_[i] -= rate * worker.gradient[i];
    ++versions_[part];
    if (++worker.pushed < versions_.size()) return;
    worker.pushed = 0;
    ++worker.iteration;
  }

  const LessonPlan& plan_;
  const Model<Real>& model_;
  std::size_t size_;
  Vector weights_;
  std::vector<Worker> workers_;
  std::vector<int64_t> versions_;  // of each part: how often it was changed
  Exchange<Real> exchange_;
  Steps<Real> steps_;
};

}  // namespace

template <class Real>
Lesson learn_in_order(const LessonPlan& plan, const std::function<void()>& watch) {
  return InOrder<Real>(plan).run(watch);
}

template Lesson learn_in_order<float>(const LessonPlan&, const std::function<void()>&);
template Lesson learn_in_order<double>(const LessonPlan&, const std::function<void()>&);

}  // namespace sgdsim::learning
