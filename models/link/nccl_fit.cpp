// Gauss and Newton's steps over the logarithms of NCCL's constants.
#include "models/link/nccl_fit.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <optional>

#include "models/link/least_squares.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

using Numbers = std::vector<double>;
using Square = std::vector<Numbers>;

// How far NCCL's constants are taken to be off before a log is seen, as standard deviations of
// logarithms: those of a kind together, and each by itself. Latencies across nodes are those of
// network cards of one kind, and known better than what a kernel costs.
struct Prior {
  double together = 0.5;
  double alone = 0.3;
};
constexpr std::array<Prior, 4> priors{{{0.5, 0.3}, {0.5, 0.3}, {0.15, 0.15}, {0.7, 0.3}}};

constexpr double first_scatter = 0.05;
constexpr double least_scatter = 0.005;
constexpr double most_scatter = 0.3;
constexpr int scatter_turns = 4;
constexpr int most_steps = 60;
constexpr double far_off = 0.2;       // rows beyond this weigh less
constexpr double longest_step = 0.5;  // of a logarithm
constexpr double small_change = 1e-3;
constexpr double told_part = 0.5;  // of what was not known before

double prior_deviation(const Prior& prior) { return std::hypot(prior.together, prior.alone); }

// ---- which constants there are

bool is_used(std::size_t pair, NcclConstant constant, const NcclMachine& machine) {
  const auto is = [&](NcclAlgorithm one) {
    return pair == nccl_pair_of(one, NcclProtocol::simple);
  };
  if (is(NcclAlgorithm::collnet_direct) || is(NcclAlgorithm::collnet_chain))
    return machine.collnet && machine.nodes > 1;
  const bool is_nvls = is(NcclAlgorithm::nvls);
  if (is_nvls || is(NcclAlgorithm::nvls_tree)) {
    const bool is_of_network = constant == NcclConstant::across && is_nvls;
    return machine.nvls && (machine.collnet || !is_of_network);
  }
  return !is(NcclAlgorithm::pat) ||
         (machine.ranks == machine.nodes && constant != NcclConstant::inside);
}

std::optional<Duration>& latency_of(NcclPair& pair, NcclConstant constant) {
  assert(constant != NcclConstant::efficiency);
  if (constant == NcclConstant::base) return pair.base;
  return constant == NcclConstant::inside ? pair.inside : pair.across;
}

std::vector<NcclEstimate> constants_of(const std::vector<NcclFitRow>& rows) {
  std::vector<NcclEstimate> all;
  for (std::size_t pair = 0; pair < nccl_pair_count; ++pair)
    for (const NcclConstant constant : {NcclConstant::base, NcclConstant::inside,
                                        NcclConstant::across, NcclConstant::efficiency}) {
      const auto uses = [&](const NcclFitRow& row) { return is_used(pair, constant, row.machine); };
      if (std::none_of(rows.begin(), rows.end(), uses)) continue;
      NcclPair own = nccl_own_pair(rows.front().machine, pair);
      const bool is_part = constant == NcclConstant::efficiency;
      if (!is_part && !latency_of(own, constant)) continue;
      const double value = is_part ? 1 : latency_of(own, constant)->us();
      all.push_back({pair, constant, value, value, value, value, NcclKnown::kept});
    }
  return all;
}

// ---- the model at some constants

void put(NcclPairs& pairs, const NcclEstimate& one, double value) {
  if (one.constant == NcclConstant::efficiency)
    pairs[one.pair].efficiency = value;
  else
    latency_of(pairs[one.pair], one.constant) = Duration::nearest_ps(value * 1e6);
}

NcclTable table_of(const NcclFitRow& row, const NcclPairs& pairs) {
  NcclMachine machine = row.machine;
  machine.pairs = pairs;
  return nccl_tuning(machine, row.operation, row.size);
}

// The pair that is taken: the fastest that suits what is stated. Nothing where none does.
std::optional<std::size_t> taken_in(const NcclTable& table, const NcclFitRow& row) {
  if (!row.algorithm && !row.protocol) return table.best;
  std::optional<std::size_t> taken;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const NcclRow& one = table.rows[i];
    const bool suits = one.usable && (!row.algorithm || one.algorithm == *row.algorithm) &&
                       (!row.protocol || one.protocol == *row.protocol);
    if (suits && (!taken || one.time < table.rows[*taken].time)) taken = i;
  }
  return taken;
}

const NcclRow& taken(const NcclTable& table, const NcclFitRow& row) {
  const auto pair = taken_in(table, row);
  assert(pair && "a row without a pair has no place in a fit");
  return table.rows[*pair];
}

// The logarithm of what the model has over what was measured.
double error_of(const NcclRow& model, const NcclFitRow& row) {
  return std::log(std::max(1., static_cast<double>(model.time.ps())) / row.time_ps);
}

double trust(double error) { return std::min(1., far_off / std::max(far_off, std::abs(error))); }

double penalty(double error) {
  const double size = std::abs(error);
  return size <= far_off ? size * size : far_off * (2 * size - far_off);
}

// No log tells more of a constant.
double four_digits(double value) {
  const double scale = std::pow(10, 3 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
}

// ---- matrices of symmetric, positive definite form

// The lower triangle L of L L' = a.
Square cholesky(const Square& a) {
  Square lower(a.size(), Numbers(a.size(), 0));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= lower[i][k] * lower[j][k];
      lower[i][j] = i == j ? std::sqrt(std::max(sum, 1e-300)) : sum / lower[j][j];
    }
  return lower;
}

Numbers solved(const Square& lower, Numbers right) {
  const std::size_t count = right.size();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= lower[i][k] * right[k];
    right[i] /= lower[i][i];
  }
  for (std::size_t i = count; i-- > 0;) {
    for (std::size_t k = i + 1; k < count; ++k) right[i] -= lower[k][i] * right[k];
    right[i] /= lower[i][i];
  }
  return right;
}

Square inverse_of(const Square& a) {
  const Square lower = cholesky(a);
  Square inverse;
  for (std::size_t i = 0; i < a.size(); ++i) {
    Numbers unit(a.size(), 0);
    unit[i] = 1;
    inverse.push_back(solved(lower, std::move(unit)));
  }
  return inverse;
}

// ---- the fit

class Search {
 public:
  explicit Search(const std::vector<NcclFitRow>& rows)
      : rows_(rows), constants_(constants_of(rows)), x_(constants_.size(), 0) {
    Square prior(x_.size(), Numbers(x_.size(), 0));
    for (std::size_t i = 0; i < x_.size(); ++i)
      for (std::size_t j = 0; j < x_.size(); ++j) prior[i][j] = prior_at(i, j);
    stiffness_ = inverse_of(prior);
  }

  NcclFit run() {
    for (int turn = 0; turn < scatter_turns; ++turn) {
      descend();
      scatter_ = left_over();
    }
    return result();
  }

 private:
  const Prior& prior_of(std::size_t i) const {
    return priors[static_cast<std::size_t>(constants_[i].constant)];
  }

  double prior_at(std::size_t i, std::size_t j) const {
    if (constants_[i].constant != constants_[j].constant) return 0;
    const Prior& prior = prior_of(i);
    return prior.together * prior.together + (i == j ? prior.alone * prior.alone : 0);
  }

  double value_at(const Numbers& x, std::size_t i) const {
    return constants_[i].own * std::exp(x[i]);
  }

  NcclPairs pairs_at(const Numbers& x) const {
    NcclPairs pairs;
    for (std::size_t i = 0; i < x.size(); ++i) put(pairs, constants_[i], value_at(x, i));
    return pairs;
  }

  double cost_at(const Numbers& x) const {
    const NcclPairs pairs = pairs_at(x);
    double cost = 0;
    for (const NcclFitRow& row : rows_)
      cost += row.weight * penalty(error_of(taken(table_of(row, pairs), row), row));
    cost /= scatter_ * scatter_;
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t j = 0; j < x.size(); ++j) cost += x[i] * stiffness_[i][j] * x[j];
    return cost;
  }

  // How the error of a row follows each constant, where the pair stays the same.
  Numbers slopes_of(const NcclFitRow& row, std::size_t best, double error, NcclPairs pairs) const {
    Numbers slopes(x_.size(), 0);
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const double value = value_at(x_, i);
      put(pairs, constants_[i], value * std::exp(small_change));
      slopes[i] = (error_of(table_of(row, pairs).rows[best], row) - error) / small_change;
      put(pairs, constants_[i], value);
    }
    return slopes;
  }

  // Curvature and slope of the cost (halved) where the search is.
  void look_around() {
    curvature_ = stiffness_;
    slope_.assign(x_.size(), 0);
    seen_.assign(x_.size(), 0);
    for (std::size_t i = 0; i < x_.size(); ++i)
      for (std::size_t j = 0; j < x_.size(); ++j) slope_[i] += stiffness_[i][j] * x_[j];
    const NcclPairs pairs = pairs_at(x_);
    for (const NcclFitRow& row : rows_) add(row, pairs);
  }

  void add(const NcclFitRow& row, const NcclPairs& pairs) {
    const NcclTable table = table_of(row, pairs);
    const std::size_t pair = *taken_in(table, row);
    const double error = error_of(table.rows[pair], row);
    const Numbers slopes = slopes_of(row, pair, error, pairs);
    const double weight = row.weight * trust(error) / (scatter_ * scatter_);
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (slopes[i] == 0) continue;
      slope_[i] += weight * slopes[i] * error;
      seen_[i] = std::max(seen_[i], std::abs(slopes[i]));
      for (std::size_t j = 0; j < x_.size(); ++j)
        curvature_[i][j] += weight * slopes[i] * slopes[j];
    }
  }

  Numbers step_with(double damping) const {
    Square damped = curvature_;
    for (std::size_t i = 0; i < x_.size(); ++i) damped[i][i] *= 1 + damping;
    Numbers step = solved(cholesky(damped), slope_);
    double longest = longest_step;
    for (const double one : step) longest = std::max(longest, std::abs(one));
    for (double& one : step) one *= -longest_step / longest;
    return step;
  }

  // Smaller and smaller steps until one is better; whether there is one.
  bool stepped(double& cost) {
    for (double damping = 0; damping < 1e6; damping = damping == 0 ? 1e-2 : 10 * damping) {
      Numbers next = x_;
      const Numbers step = step_with(damping);
      for (std::size_t i = 0; i < x_.size(); ++i) next[i] += step[i];
      const double there = cost_at(next);
      if (!(there < cost * (1 - 1e-9))) continue;
      cost = there;
      x_ = std::move(next);
      return true;
    }
    return false;
  }

  void descend() {
    double cost = cost_at(x_);
    for (int step = 0; step < most_steps; ++step) {
      look_around();
      if (!stepped(cost)) return;
    }
    look_around();
  }

  // How many constants the rows have decided.
  double decided() const {
    const Square inverse = inverse_of(curvature_);
    double left = 0;
    for (std::size_t i = 0; i < x_.size(); ++i)
      for (std::size_t j = 0; j < x_.size(); ++j) left += stiffness_[i][j] * inverse[j][i];
    return static_cast<double>(x_.size()) - left;
  }

  double freedom() const { return std::max(1., static_cast<double>(rows_.size()) - decided()); }

  double left_over() const {
    const NcclPairs pairs = pairs_at(x_);
    double squares = 0;
    for (const NcclFitRow& row : rows_)
      squares += row.weight * penalty(error_of(taken(table_of(row, pairs), row), row));
    return std::clamp(std::sqrt(squares / freedom()), least_scatter, most_scatter);
  }

  NcclKnown known(std::size_t i, double deviation) const {
    const double before = prior_deviation(prior_of(i));
    const bool is_seen = seen_[i] > 0.01;
    if (is_seen) return deviation <= told_part * before ? NcclKnown::told : NcclKnown::in_sums;
    return deviation < 0.99 * before ? NcclKnown::as_others : NcclKnown::kept;
  }

  NcclFit result() {
    look_around();
    const Square inverse = inverse_of(curvature_);
    const double t = student_t(static_cast<std::size_t>(freedom()));
    NcclFit fit;
    fit.scatter = scatter_;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      NcclEstimate one = constants_[i];
      const double deviation = std::sqrt(inverse[i][i]);
      one.known = known(i, deviation);
      if (one.known != NcclKnown::kept) one.value = four_digits(value_at(x_, i));
      one.low = one.value * std::exp(-t * deviation);
      one.high = one.value * std::exp(t * deviation);
      if (one.known != NcclKnown::kept) put(fit.pairs, one, one.value);
      fit.estimates.push_back(one);
    }
    return fit;
  }

  const std::vector<NcclFitRow>& rows_;
  std::vector<NcclEstimate> constants_;
  Numbers x_;  // logarithms over NCCL's own
  double scatter_ = first_scatter;
  Square stiffness_;  // the inverse of what was known before
  Square curvature_;
  Numbers slope_;
  Numbers seen_;  // the largest slope by each
};

}  // namespace

NcclRow NcclFit::predict(const NcclFitRow& row) const { return taken(table_of(row, pairs), row); }

bool has_pair(const NcclFitRow& row) { return taken_in(table_of(row, {}), row).has_value(); }

NcclFit fit_nccl_constants(const std::vector<NcclFitRow>& rows) {
  if (rows.empty()) throw InputError("NCCL model", "no measured time is left to fit");
  return Search(rows).run();
}

}  // namespace sgdsim
