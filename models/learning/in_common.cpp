// Iterations in common: synchronous, pipelined, with local steps, with packets lost.
//
// A worker's weights are the common ones minus rate times the directions that it has added up since
// the last average; these sums, not the weights, are averaged. So one local step is synchronous
// descent to the last bit.
#include <algorithm>
#include <deque>

#include "models/learning/exchange.h"
#include "models/learning/learner.h"

namespace sgdsim::learning {
namespace {

template <class Real>
class InCommon {
 public:
  using Vector = std::vector<Real>;

  InCommon(const LessonPlan& plan)
      : plan_(plan),
        model_(model_of<Real>(*plan.task)),
        size_(plan.task->weights()),
        workers_(static_cast<std::size_t>(plan.log.workers)),
        weights_(model_.start(plan.seed)),
        gradients_(workers_, Vector(size_)),
        exchange_(plan.compressing, plan.task->tensors, plan.log.workers, plan.seed),
        steps_(plan.optimizer, size_),
        packets_(plan) {
    if (plan.optimizer.momentum_on_worker && plan.optimizer.momentum > 0)
      velocities_.assign(workers_, Vector(size_));
    if (plan.losses.pull > 0) replicas_.assign(workers_, weights_);
    if (!is_local()) return;
    changes_.assign(workers_, Vector(size_));
    local_steps_.assign(workers_, own_steps());
    outer_.resize(plan.optimizer.outer_momentum > 0 ? size_ : 0);
  }

  Lesson run(const std::function<void()>& watch) {
    Judge<Real> judge(plan_);
    bool goes_on = judge.look(0, weights_);
    there_ = plan_.log.those_there(0);
    for (int64_t t = 0; t < plan_.iterations && goes_on; ++t) {
      if (!plan_.log.absences.empty()) look_who_is_there(t);
      if (is_local())
        step_alone(t);
      else
        step_together(t);
      if (watch) watch();
      goes_on = judge.look(t + 1, is_local() ? mean_weights() : weights_);
      if (plan_.measures_noise && judge.is_time(t + 1)) end_noise(t + 1);
    }
    Lesson lesson = std::move(judge).lesson(weights_);
    lesson.noise = std::move(noise_);
    return lesson;
  }

 private:
  bool is_local() const { return averages(plan_.log, plan_.optimizer); }

  static std::size_t at(int worker) { return static_cast<std::size_t>(worker); }

  // Who is away has lost all that it had of its own.
  void look_who_is_there(int64_t t) {
    there_ = plan_.log.those_there(t);
    auto next = there_.begin();
    for (int worker = 0; worker < plan_.log.workers; ++worker) {
      if (next != there_.end() && *next == worker) {
        ++next;
        continue;
      }
      gradients_[at(worker)].assign(size_, Real{});
      exchange_.forget(worker);
      if (!velocities_.empty()) velocities_[at(worker)].assign(size_, Real{});
      if (!changes_.empty()) changes_[at(worker)].assign(size_, Real{});
      if (!local_steps_.empty()) local_steps_[at(worker)] = own_steps();
    }
  }

  // Of a worker that descends by itself.
  Steps<Real> own_steps() const {
    Optimizer own = plan_.optimizer;
    own.momentum_on_worker = false;  // what is selected are changes
    return Steps<Real>(own, size_);
  }

  void compute(std::size_t worker, const Vector& weights, int64_t t) {
    model_.gradient(weights.data(),
                    {.seed = plan_.seed,
                     .worker = static_cast<int>(worker),
                     .iteration = t,
                     .samples = plan_.samples},
                    gradients_[worker].data());
  }

  // ---- how much gradients differ

  void add_noise() {
    std::vector<double> sum(size_);
    for (const Vector& gradient : gradients_)
      for (std::size_t j = 0; j < size_; ++j) {
        const auto value = static_cast<double>(gradient[j]);
        sum[j] += value;
        since_.of_workers += value * value / static_cast<double>(workers_);
      }
    const auto workers = static_cast<double>(workers_);
    for (const double value : sum) since_.of_mean += value / workers * (value / workers);
  }

  void end_noise(int64_t iteration) {
    const auto count =
        static_cast<double>(iteration - (noise_.empty() ? 0 : noise_.back().iteration));
    noise_.push_back({iteration, since_.of_workers / count, since_.of_mean / count});
    since_ = {};
  }

  // ---- gradients are summed

  void step_together(int64_t t) {
    for (const int i : there_) compute(at(i), replicas_.empty() ? weights_ : replicas_[at(i)], t);
    if (plan_.measures_noise) add_noise();
    push_momentum();
    Vector sum(size_);
    exchange(t, sum);
    forget_sent(t);
    divide(sum, t);
    const int64_t width = t < plan_.log.synchronous ? 1 : plan_.log.width;
    sums_.push_back(std::move(sum));
    for (; static_cast<int64_t>(sums_.size()) >= width; sums_.pop_front()) descend(sums_.front());
    pull(t);
  }

  // Among those that are there.
  void exchange(int64_t t, Vector& sum) {
    if (there_.size() == workers_) return exchange_.sum(gradients_, t, sum);
    std::vector<Vector> present;
    for (const int i : there_) present.push_back(std::move(gradients_[at(i)]));
    exchange_.sum(present, t, sum, there_);
    auto next = present.begin();
    for (const int i : there_) gradients_[at(i)] = std::move(*next++);
  }

  // With momentum on the worker, what is exchanged is that.
  void push_momentum() {
    if (velocities_.empty()) return;
    const auto momentum = static_cast<Real>(plan_.optimizer.momentum);
    for (const int worker : there_) {
      Vector& velocity = velocities_[at(worker)];
      Vector& gradient = gradients_[at(worker)];
      for (std::size_t j = 0; j < size_; ++j)
        gradient[j] = velocity[j] = momentum * velocity[j] + gradient[j];
    }
  }
  // Momentum stops where it was sent, if not all of it is.
  void forget_sent(int64_t t) {
    if (!exchange_.selects(t)) return;
    for (std::size_t i = 0; i < velocities_.size(); ++i)
      for (std::size_t j = 0; j < size_; ++j)
        if (gradients_[i][j] != Real{}) velocities_[i][j] = Real{};
  }

  // By the workers that are there; or, where packets are lost, without those, and by whose have
  // come.
  void divide(Vector& sum, int64_t t) {
    if (plan_.losses.push <= 0) {
      const auto there = static_cast<Real>(there_.size());
      for (Real& value : sum) value /= there;
      return;
    }
    std::vector<uint32_t> received(size_, static_cast<uint32_t>(there_.size()));
    for (const int i : there_)
      packets_.lose(gradients_[at(i)], i, t, false, [&](std::size_t from, std::size_t to) {
        for (std::size_t j = from; j < to; ++j) {
          gradients_[at(i)][j] = Real{};
          --received[j];
        }
      });
    sum = gradients_.front();  // nothing, of who is not there
    for (std::size_t i = 1; i < workers_; ++i)
      for (std::size_t j = 0; j < size_; ++j) sum[j] += gradients_[i][j];
    const bool by_received = plan_.losses.divides_by_received;
    for (std::size_t j = 0; j < size_; ++j)
      if (const std::size_t by = by_received ? received[j] : there_.size(); by > 0)
        sum[j] /= static_cast<Real>(by);
  }

  void descend(Vector& mean) {
    steps_.direct(weights_, mean);
    const auto rate = static_cast<Real>(plan_.optimizer.rate);
    for (std::size_t j = 0; j < size_; ++j) weights_[j] -= rate * mean[j];
  }

  // Every worker gets the common weights, but for the packets that are lost; who comes back gets
  // all.
  void pull(int64_t t) {
    if (replicas_.empty()) return;
    std::vector<Vector> old = std::move(replicas_);
    replicas_.assign(workers_, weights_);
    for (const int i : there_)
      packets_.lose(weights_, i, t, true, [&](std::size_t from, std::size_t to) {
        for (std::size_t j = from; j < to; ++j) replicas_[at(i)][j] = old[at(i)][j];
      });
  }

  // ---- weights are averaged

  void step_alone(int64_t t) {
    const auto rate = static_cast<Real>(plan_.optimizer.rate);
    Vector own(size_);
    for (const int worker : there_) {
      const std::size_t i = at(worker);
      for (std::size_t j = 0; j < size_; ++j) own[j] = weights_[j] - rate * changes_[i][j];
      compute(i, own, t);
      local_steps_[i].direct(own, gradients_[i]);
      for (std::size_t j = 0; j < size_; ++j) changes_[i][j] += gradients_[i][j];
    }
    if ((t + 1) % plan_.log.every == 0) average(t);
  }

  Vector mean_change() const {
    Vector mean = changes_.front();  // nothing, of who is not there
    for (std::size_t i = 1; i < workers_; ++i)
      for (std::size_t j = 0; j < size_; ++j) mean[j] += changes_[i][j];
    for (Real& value : mean) value /= static_cast<Real>(there_.size());
    return mean;
  }

  // Of changes as they are exchanged, whose rest workers keep.
  Vector exchanged_change(int64_t t) {
    if (!exchange_.compresses()) return mean_change();
    std::vector<Vector> sent;
    for (const int i : there_) sent.push_back(std::move(changes_[at(i)]));
    Vector mean(size_);
    exchange_.sum(sent, t, mean, there_);
    for (Real& value : mean) value /= static_cast<Real>(there_.size());
    return mean;
  }

  void average(int64_t t) {
    Vector mean = exchanged_change(t);
    const auto rate = static_cast<Real>(plan_.optimizer.rate);
    const auto outer_rate = static_cast<Real>(plan_.optimizer.outer_rate);
    const auto momentum = static_cast<Real>(plan_.optimizer.outer_momentum);
    for (std::size_t j = 0; j < size_; ++j) {
      Real change = rate * mean[j];
      if (!outer_.empty()) {  // Nesterov's
        outer_[j] = momentum * outer_[j] + change;
        change += momentum * outer_[j];
      }
      weights_[j] -= outer_rate * change;
    }
    for (Vector& one : changes_) one.assign(size_, Real{});
  }

  Vector mean_weights() const {
    Vector mean = mean_change();
    const auto rate = static_cast<Real>(plan_.optimizer.rate);
    for (std::size_t j = 0; j < size_; ++j) mean[j] = weights_[j] - rate * mean[j];
    return mean;
  }

  const LessonPlan& plan_;
  const Model<Real>& model_;
  std::size_t size_;
  std::size_t workers_;
  Vector weights_;
  std::vector<Vector> gradients_;
  Exchange<Real> exchange_;
  Steps<Real> steps_;
  Packets<Real> packets_;
  std::vector<int> there_;          // workers
  std::deque<Vector> sums_;         // that are still to be used
  std::vector<Vector> velocities_;  // of workers, if momentum is theirs
  std::vector<Vector> replicas_;    // if weights are lost on their way to workers
  std::vector<Vector> changes_;     // since the last average
  std::vector<Steps<Real>> local_steps_;
  Vector outer_;      // momentum of averages
  NoisePoint since_;  // sums since the last point
  std::vector<NoisePoint> noise_;
};

}  // namespace

template <class Real>
Lesson learn_in_common(const LessonPlan& plan, const std::function<void()>& watch) {
  return InCommon<Real>(plan).run(watch);
}

template Lesson learn_in_common<float>(const LessonPlan&, const std::function<void()>&);
template Lesson learn_in_common<double>(const LessonPlan&, const std::function<void()>&);

}  // namespace sgdsim::learning
