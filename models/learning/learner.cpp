// Optimizers, judging, losses of packets.
#include "models/learning/learner.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "models/learning/elementary.h"
#include "models/learning/kernels.h"

namespace sgdsim::learning {

template <class Real>
Steps<Real>::Steps(const Optimizer& optimizer, std::size_t size, std::size_t parts)
    : optimizer_(optimizer), powers_(parts) {
  if (optimizer.adam || (optimizer.momentum > 0 && !optimizer.momentum_on_worker))
    first_.resize(size);
  if (optimizer.adam) second_.resize(size);
}

template <class Real>
void Steps<Real>::direct(const std::vector<Real>& weights, std::vector<Real>& gradient,
                         std::size_t part) {
  if (first_.empty()) return;
  const std::size_t from = begin_of_part(part, powers_.size(), first_.size());
  const std::size_t to = begin_of_part(part + 1, powers_.size(), first_.size());
  if (!optimizer_.adam) {
    const auto momentum = static_cast<Real>(optimizer_.momentum);
    for (std::size_t i = from; i < to; ++i) {
      first_[i] = momentum * first_[i] + gradient[i];
      gradient[i] = first_[i];
    }
    return;
  }
  Powers& power = powers_[part];
  power.of_beta_1 *= optimizer_.beta_1;
  power.of_beta_2 *= optimizer_.beta_2;
  for (std::size_t i = from; i < to; ++i) {
    const auto g = static_cast<double>(gradient[i]);
    const double m =
        optimizer_.beta_1 * static_cast<double>(first_[i]) + (1 - optimizer_.beta_1) * g;
    const double v =
        optimizer_.beta_2 * static_cast<double>(second_[i]) + (1 - optimizer_.beta_2) * g * g;
    first_[i] = static_cast<Real>(m);
    second_[i] = static_cast<Real>(v);
    gradient[i] = static_cast<Real>(
        m / (1 - power.of_beta_1) / (std::sqrt(v / (1 - power.of_beta_2)) + optimizer_.epsilon) +
        optimizer_.decay * static_cast<double>(weights[i]));
  }
}

template <class Real>
bool Judge<Real>::look(int64_t iteration, const std::vector<Real>& weights) {
  if (!is_time(iteration)) return true;
  const Score score = model_of<Real>(*plan_.task).evaluate(weights.data());
  if (std::isfinite(score.loss)) {
    lesson_.curve.push_back({iteration, score.loss, score.accuracy});
    return true;
  }
  lesson_.ended = "diverged: at iteration " + std::to_string(iteration) + " the loss is not finite";
  return false;
}

template <class Real>
Lesson Judge<Real>::lesson(const std::vector<Real>& weights) && {
  lesson_.weights.assign(weights.begin(), weights.end());
  return std::move(lesson_);
}

namespace {

double loss_at(double middle, double of_all, const std::vector<PlaceLoss>& places) {
  for (const PlaceLoss& place : places)
    if (middle < place.until) return place.part;
  return places.empty() ? of_all : places.back().part;
}

}  // namespace

template <class Real>
Packets<Real>::Packets(const LessonPlan& plan)
    : losses_(plan.losses), seed_(plan.seed), size_(plan.task->weights()) {
  const auto length = static_cast<std::size_t>(losses_.packet);
  for (const Tensor& tensor : plan.task->tensors)
    for (std::size_t from = 0; from < tensor.size(); from += length) {
      const std::size_t to = std::min(from + length, tensor.size());
      const double middle =
          (static_cast<double>(tensor.offset) + static_cast<double>(from + to) / 2) /
          static_cast<double>(size_);
      packets_.push_back({tensor.offset + from, tensor.offset + to,
                          loss_at(middle, losses_.push, losses_.push_by_place),
                          loss_at(middle, losses_.pull, losses_.pull_by_place)});
    }
}

// By place, or by the mean magnitude of what they carry: packets of about `fraction` of the
// weights.
template <class Real>
std::vector<bool> Packets<Real>::at_risk(const std::vector<Real>& values) const {
  using Of = PacketLosses::Of;
  if (losses_.of == Of::all) return std::vector<bool>(packets_.size(), true);
  std::vector<std::size_t> order(packets_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (losses_.of == Of::last) std::reverse(order.begin(), order.end());
  if (losses_.of == Of::smallest || losses_.of == Of::largest) {
    std::vector<double> mean(packets_.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t from = packets_[i].from;
      const std::size_t to = packets_[i].to;
      mean[i] = sum_of_magnitudes(values.data() + from, to - from) / static_cast<double>(to - from);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return losses_.of == Of::largest ? mean[a] > mean[b] : mean[a] < mean[b];
    });
  }
  std::vector<bool> risk(packets_.size());
  const double wanted = losses_.fraction * static_cast<double>(size_);
  const double skipped = losses_.of == Of::middle ? (static_cast<double>(size_) - wanted) / 2 : 0;
  double passed = 0;
  for (const std::size_t i : order) {
    const auto length = static_cast<double>(packets_[i].to - packets_[i].from);
    const double middle = passed + length / 2;
    risk[i] = middle >= skipped && middle < skipped + wanted;
    passed += length;
  }
  return risk;
}

template <class Real>
void Packets<Real>::lose(const std::vector<Real>& values, int worker, int64_t iteration,
                         bool is_pull, const Lost& lost) const {
  if ((is_pull ? losses_.pull : losses_.push) <= 0) return;
  const std::vector<bool> risk = at_risk(values);
  Draws draws(seed_, drawn_for::losses + static_cast<uint64_t>(worker),
              static_cast<uint64_t>(iteration), is_pull ? 1 : 0);
  for (std::size_t i = 0; i < packets_.size(); ++i)
    if (draws.uniform() < (is_pull ? packets_[i].pull : packets_[i].push) && risk[i])
      lost(packets_[i].from, packets_[i].to);
}

Lesson learn(const LessonPlan& plan, const std::function<void()>& watch) {
  for (const WorkerLists& lists : plan.task->lists)
    assert(lists.count == 1 || lists.count == static_cast<std::size_t>(plan.log.workers));
  const bool in_order = plan.log.is_asynchronous();
  if (plan.task->learns_in_double)
    return in_order ? learn_in_order<double>(plan, watch) : learn_in_common<double>(plan, watch);
  return in_order ? learn_in_order<float>(plan, watch) : learn_in_common<float>(plan, watch);
}

template class Steps<float>;
template class Steps<double>;
template class Judge<float>;
template class Judge<double>;
template class Packets<float>;
template class Packets<double>;

}  // namespace sgdsim::learning
