// What the two kinds of lessons have in common: steps of optimizers, judging, packets that are
// lost.
#pragma once

#include "models/learning/lesson.h"

namespace sgdsim::learning {

template <class Real>
const Model<Real>& model_of(const Task& task) {
  if constexpr (sizeof(Real) == 4)
    return task.single;
  else
    return task.precise;
}

// Into which servers cut the weights.
inline std::size_t begin_of_part(std::size_t part, std::size_t parts, std::size_t size) {
  return size * part / parts;
}

// Directions of descent from gradients, per unit of rate. Each part of the weights has steps of its
// own.
template <class Real>
class Steps {
 public:
  Steps(const Optimizer& optimizer, std::size_t size, std::size_t parts = 1);
  // Of this part, the gradient becomes the direction.
  void direct(const std::vector<Real>& weights, std::vector<Real>& gradient, std::size_t part = 0);

 private:
  struct Powers {  // once for each step
    double of_beta_1 = 1;
    double of_beta_2 = 1;
  };
  Optimizer optimizer_;
  std::vector<Real> first_;     // momentum, or Adam's first moment
  std::vector<Real> second_;    // Adam's
  std::vector<Powers> powers_;  // of each part
};

// The curve so far, and whether it goes on.
template <class Real>
class Judge {
 public:
  explicit Judge(const LessonPlan& plan) : plan_(plan) {}
  // Evaluates where it is time to; false: the curve has ended.
  bool look(int64_t iteration, const std::vector<Real>& weights);
  bool is_time(int64_t iteration) const {
    return iteration % plan_.evaluate == 0 || iteration == plan_.iterations;
  }
  Lesson lesson(const std::vector<Real>& weights) &&;

 private:
  const LessonPlan& plan_;
  Lesson lesson_;
};

// Which packets are lost. Every packet of an iteration, worker and direction has a draw of its own.
template <class Real>
class Packets {
 public:
  explicit Packets(const LessonPlan& plan);
  // Calls lost(from, to) for every range that does not come.
  using Lost = std::function<void(std::size_t from, std::size_t to)>;
  void lose(const std::vector<Real>& values, int worker, int64_t iteration, bool is_pull,
            const Lost& lost) const;

 private:
  struct Packet {
    std::size_t from;
    std::size_t to;
    double push;  // the parts of such packets that are lost
    double pull;
  };
  std::vector<bool> at_risk(const std::vector<Real>& values) const;
  const PacketLosses& losses_;
  uint64_t seed_;
  std::size_t size_;
  std::vector<Packet> packets_;
};

// Iterations that all workers have in common.
template <class Real>
Lesson learn_in_common(const LessonPlan& plan, const std::function<void()>& watch);
// Pushes in the order of the log.
template <class Real>
Lesson learn_in_order(const LessonPlan& plan, const std::function<void()>& watch);

}  // namespace sgdsim::learning
