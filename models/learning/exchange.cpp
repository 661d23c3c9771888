// Operators that work on each worker's vector, and those that need all.
#include "models/learning/exchange.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "models/learning/elementary.h"
#include "models/learning/kernels.h"
#include "models/learning/selection.h"

namespace sgdsim::learning {
namespace {

// Whether some elements are sent and others are not.
bool is_of_elements(Numbers numbers) {
  switch (numbers) {
    case Numbers::topk:
    case Numbers::topk_of_sum:
    case Numbers::gtopk:
    case Numbers::random:
    case Numbers::threshold:
      return true;
    case Numbers::all:
    case Numbers::truncate16:
    case Numbers::quantize8:
    case Numbers::qsgd:
    case Numbers::sign:
    case Numbers::powersgd:
      return false;
  }
  return false;
}

std::size_t at(int number) { return static_cast<std::size_t>(number); }

template <class Real>
void add(const std::vector<Real>& from, std::vector<Real>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

// In the order of ranks, the first one as it is.
template <class Real>
void add_all(const std::vector<std::vector<Real>>& all, std::vector<Real>& sum) {
  sum = all.front();
  for (std::size_t i = 1; i < all.size(); ++i) add(all[i], sum);
}

// Towards zero.
template <class Real>
void truncate(std::vector<Real>& values) {
  for (Real& value : values) {
    const auto bits = __builtin_bit_cast(uint32_t, static_cast<float>(value));
    value = static_cast<Real>(__builtin_bit_cast(float, bits & 0xffff0000U));
  }
}

// std::floor, for what is not below 0, and std::round, without calls where machines of today have
// an instruction and the oldest have not.
double whole_below(double z) {
  return z < 0x1p52 ? static_cast<double>(static_cast<int64_t>(z)) : std::floor(z);
}
double nearest_whole(double z) {
  if (!(std::abs(z) < 0x1p52)) return std::round(z);
  const auto whole = static_cast<double>(static_cast<int64_t>(z));
  const double away = std::abs(z - whole) >= 0.5 ? 1 : 0;
  return std::copysign(std::abs(whole) + away, z);
}

template <class Real>
void quantize(std::vector<Real>& values) {
  const double most = largest_magnitude(values.data(), values.size());
  if (most == 0) return;
  for (Real& value : values)
    value = static_cast<Real>(nearest_whole(static_cast<double>(value) / most * 127) / 127 * most);
}

template <class Real>
void take_signs(std::vector<Real>& values) {
  const auto mean = static_cast<Real>(sum_of_magnitudes(values.data(), values.size()) /
                                      static_cast<double>(values.size()));
  for (Real& value : values) value = value < 0 ? -mean : value > 0 ? mean : value;
}

// Of a sparse vector, by index.
template <class Real>
struct Entries {
  std::vector<uint32_t> indices;
  std::vector<Real> values;
};

// The k largest of the sum.
template <class Real>
Entries<Real> merged(const Entries<Real>& a, const Entries<Real>& b, std::size_t k) {
  Entries<Real> both;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.indices.size() || j < b.indices.size()) {
    const bool from_a =
        j == b.indices.size() || (i < a.indices.size() && a.indices[i] <= b.indices[j]);
    const bool from_b =
        i == a.indices.size() || (j < b.indices.size() && b.indices[j] <= a.indices[i]);
    both.indices.push_back(from_a ? a.indices[i] : b.indices[j]);
    Real value = from_a ? a.values[i++] : b.values[j++];
    if (from_a && from_b) value += b.values[j++];
    both.values.push_back(value);
  }
  Entries<Real> kept;
  for (const uint32_t place : largest(both.values.data(), both.values.size(), k)) {
    kept.indices.push_back(both.indices[place]);
    kept.values.push_back(both.values[place]);
  }
  return kept;
}

}  // namespace

template <class Real>
Exchange<Real>::Exchange(Compressing compressing, std::vector<Tensor> tensors, int workers,
                         uint64_t seed)
    : compressing_(std::move(compressing)),
      tensors_(std::move(tensors)),
      size_(tensors_.back().offset + tensors_.back().size()),
      seed_(seed) {
  if (compressing_.feedback && compressing_.numbers != Numbers::all)
    residuals_.assign(at(workers), Vector(size_));
  if (compressing_.numbers != Numbers::powersgd) return;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    Vector q(tensors_[i].columns * rank_of(tensors_[i], compressing_.rank));
    Draws draws(seed_, drawn_for::selection, 0, i);
    for (Real& value : q) value = static_cast<Real>(draws.normal());
    factors_.push_back(std::move(q));
  }
}

template <class Real>
bool Exchange<Real>::is_of_each() const {
  const Numbers numbers = compressing_.numbers;
  return numbers != Numbers::topk_of_sum && numbers != Numbers::gtopk &&
         numbers != Numbers::powersgd;
}

// Nothing is left out, so that there is nothing to select.
template <class Real>
bool Exchange<Real>::is_whole(int64_t iteration) const {
  if (!is_of_elements(compressing_.numbers)) return compressing_.numbers == Numbers::all;
  return compressing_.numbers != Numbers::threshold && compressing_.density_at(iteration) >= 1;
}

template <class Real>
bool Exchange<Real>::selects(int64_t iteration) const {
  return is_of_elements(compressing_.numbers) && !is_whole(iteration);
}

template <class Real>
void Exchange<Real>::add_residual(int worker, Vector& gradient) const {
  if (!residuals_.empty()) add(residuals_[at(worker)], gradient);
}

template <class Real>
void Exchange<Real>::keep_rest(int worker, const Vector& whole, const Vector& sent) {
  if (residuals_.empty()) return;
  Vector& rest = residuals_[at(worker)];
  for (std::size_t i = 0; i < size_; ++i) rest[i] = whole[i] - sent[i];
}

template <class Real>
void Exchange<Real>::keep_largest(Vector& values, std::size_t k) const {
  Vector kept(size_);
  for (const uint32_t i : largest(values.data(), size_, k)) kept[i] = values[i];
  values = std::move(kept);
}

template <class Real>
void Exchange<Real>::keep_random(Vector& values, double density, int64_t iteration) const {
  Draws draws(seed_, drawn_for::selection, static_cast<uint64_t>(iteration), 0);
  for (Real& value : values)
    if (draws.uniform() >= density) value = Real{};
}

template <class Real>
void Exchange<Real>::round_at_random(int worker, Vector& values, int64_t iteration) const {
  Draws draws(seed_, drawn_for::selection + static_cast<uint64_t>(worker),
              static_cast<uint64_t>(iteration), 1);
  const std::size_t bucket =
      compressing_.bucket == 0 ? size_ : static_cast<std::size_t>(compressing_.bucket);
  for (std::size_t from = 0; from < size_; from += bucket) {
    const std::size_t count = std::min(bucket, size_ - from);
    const double most = largest_magnitude(values.data() + from, count);
    if (most == 0) continue;
    for (std::size_t i = from; i < from + count; ++i) {
      const auto value = static_cast<double>(values[i]);
      const double z = std::abs(value) / most * compressing_.levels;
      const double whole = whole_below(z);
      const double level = whole + (draws.uniform() < z - whole ? 1 : 0);
      values[i] = static_cast<Real>((value < 0 ? -most : most) * level / compressing_.levels);
    }
  }
}

template <class Real>
void Exchange<Real>::compress(int worker, Vector& gradient, int64_t iteration) const {
  const double density = compressing_.density_at(iteration);
  switch (compressing_.numbers) {
    case Numbers::all:
    case Numbers::powersgd:
      return;
    case Numbers::topk:
      if (!compressing_.by_tensor) return keep_largest(gradient, selected(density, size_));
      for (const Tensor& tensor : tensors_) {
        const Real* own = gradient.data() + tensor.offset;
        Vector kept(tensor.size());
        for (const uint32_t i : largest(own, tensor.size(), selected(density, tensor.size())))
          kept[i] = own[i];
        std::copy(kept.begin(), kept.end(),
                  gradient.begin() + static_cast<std::ptrdiff_t>(tensor.offset));
      }
      return;
    case Numbers::topk_of_sum:
    case Numbers::gtopk:
      return keep_largest(gradient, selected(density, size_));
    case Numbers::random:
      return keep_random(gradient, density, iteration);
    case Numbers::threshold:
      for (Real& value : gradient)
        if (std::abs(static_cast<double>(value)) < compressing_.threshold) value = Real{};
      return;
    case Numbers::truncate16:
      return truncate(gradient);
    case Numbers::quantize8:
      return quantize(gradient);
    case Numbers::qsgd:
      return round_at_random(worker, gradient, iteration);
    case Numbers::sign:
      return take_signs(gradient);
  }
}

template <class Real>
void Exchange<Real>::send(int worker, Vector& gradient, int64_t iteration) {
  assert(is_of_each());
  if (compressing_.numbers == Numbers::all) return;
  add_residual(worker, gradient);
  if (is_whole(iteration)) {
    if (!residuals_.empty()) residuals_[at(worker)].assign(size_, Real{});
    return;
  }
  if (residuals_.empty()) return compress(worker, gradient, iteration);
  const Vector whole = gradient;
  compress(worker, gradient, iteration);
  keep_rest(worker, whole, gradient);
}

template <class Real>
void Exchange<Real>::forget(int worker) {
  if (!residuals_.empty()) residuals_[at(worker)].assign(size_, Real{});
}

template <class Real>
void Exchange<Real>::sum(std::vector<Vector>& gradients, int64_t iteration, Vector& sum,
                         const std::vector<int>& ranks) {
  const auto workers = static_cast<int>(gradients.size());
  const auto rank = [&](int i) { return ranks.empty() ? i : ranks[at(i)]; };
  if (is_of_each() || is_whole(iteration)) {
    for (int i = 0; i < workers && is_of_each(); ++i) send(rank(i), gradients[at(i)], iteration);
    for (int i = 0; i < workers && !is_of_each(); ++i) {
      add_residual(rank(i), gradients[at(i)]);
      forget(rank(i));
    }
    return add_all(gradients, sum);
  }
  for (int i = 0; i < workers; ++i) add_residual(rank(i), gradients[at(i)]);
  const std::vector<Vector> whole = gradients;
  const std::size_t k = selected(compressing_.density_at(iteration), size_);
  if (compressing_.numbers == Numbers::powersgd) {
    factorise(gradients, sum);
  } else {
    if (compressing_.numbers == Numbers::gtopk) {
      merge(gradients, k, sum);
    } else {
      for (int i = 0; i < workers; ++i) compress(rank(i), gradients[at(i)], iteration);
      add_all(gradients, sum);
      Vector kept(size_);
      std::vector<bool> is_kept(size_);
      for (const uint32_t i : largest(sum.data(), size_, k)) {
        kept[i] = sum[i];
        is_kept[i] = true;
      }
      sum = std::move(kept);
      for (Vector& one : gradients)
        for (std::size_t i = 0; i < size_; ++i)
          if (!is_kept[i]) one[i] = Real{};
    }
  }
  for (int i = 0; i < workers; ++i) keep_rest(rank(i), whole[at(i)], gradients[at(i)]);
}

// Pairs of neighbours merge, then pairs of pairs; one without a partner waits. Of the union of two
// lists the k largest sums stay, even where they cancel to 0: that is the published operator. What
// a worker has sent is what came through every merge, or, where it leaks, all of its entries whose
// index is in the result.
template <class Real>
void Exchange<Real>::merge(std::vector<Vector>& sent, std::size_t k, Vector& sum) const {
  std::vector<Entries<Real>> lists;
  std::vector<std::vector<uint32_t>> alive;  // of each worker, that came through so far
  for (const Vector& one : sent) {
    alive.push_back(largest(one.data(), size_, k));
    lists.push_back({alive.back(), {}});
    for (const uint32_t i : alive.back()) lists.back().values.push_back(one[i]);
  }
  const std::vector<std::vector<uint32_t>> selections = alive;
  for (std::size_t step = 1; step < lists.size(); step *= 2)
    for (std::size_t to = 0; to + step < lists.size(); to += 2 * step) {
      lists[to] = merged(lists[to], lists[to + step], k);
      const std::vector<uint32_t>& kept = lists[to].indices;
      for (std::size_t of = to; of < std::min(to + 2 * step, sent.size()); ++of)
        std::erase_if(alive[of],
                      [&](uint32_t i) { return !std::binary_search(kept.begin(), kept.end(), i); });
    }
  const Entries<Real>& result = lists.front();
  sum.assign(size_, Real{});
  for (std::size_t i = 0; i < result.indices.size(); ++i) sum[result.indices[i]] = result.values[i];
  for (std::size_t of = 0; of < sent.size(); ++of) {
    Vector through(size_);
    for (const uint32_t i : compressing_.leaks ? selections[of] : alive[of])
      if (std::binary_search(result.indices.begin(), result.indices.end(), i))
        through[i] = sent[of][i];
    sent[of] = std::move(through);
  }
}

std::size_t rank_of(const Tensor& tensor, int rank) {
  const auto wanted = static_cast<std::size_t>(rank);
  if (tensor.rows == 1 || tensor.columns == 1) return 0;
  return wanted * (tensor.rows + tensor.columns) >= tensor.size() ? 0 : wanted;
}

template <class Real>
std::vector<Real> power_step(const std::vector<const Real*>& matrices, const Tensor& shape,
                             std::size_t rank, std::vector<Real>& q, Real* whole) {
  const std::size_t rows = shape.rows;
  const std::size_t columns = shape.columns;
  std::vector<Real> mean(shape.size());
  for (const Real* matrix : matrices)  // the mean of products is the product of the mean
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += matrix[i];
  for (Real& value : mean) value /= static_cast<Real>(matrices.size());
  std::vector<Real> p(rows * rank);
  add_product<Real>(
      {{mean.data(), columns, 1}, q.data(), rank, p.data(), rank, rows, columns, rank});
  for (std::size_t c = 0; c < rank; ++c) {  // Gram-Schmidt
    for (std::size_t before = 0; before < c; ++before) {
      double product = 0;
      for (std::size_t i = 0; i < rows; ++i)
        product += static_cast<double>(p[i * rank + c]) * static_cast<double>(p[i * rank + before]);
      for (std::size_t i = 0; i < rows; ++i)
        p[i * rank + c] -= static_cast<Real>(product) * p[i * rank + before];
    }
    double square = 0;
    for (std::size_t i = 0; i < rows; ++i)
      square += static_cast<double>(p[i * rank + c]) * static_cast<double>(p[i * rank + c]);
    const double length = std::sqrt(square);
    for (std::size_t i = 0; i < rows && length > 0; ++i)
      p[i * rank + c] = static_cast<Real>(static_cast<double>(p[i * rank + c]) / length);
  }
  q.assign(columns * rank, Real{});
  add_product<Real>(
      {{mean.data(), 1, columns}, p.data(), rank, q.data(), rank, columns, rows, rank});
  std::vector<Real> turned(q.size());
  transpose(q.data(), columns, rank, turned.data());
  std::fill_n(whole, shape.size(), Real{});
  add_product<Real>(
      {{p.data(), rank, 1}, turned.data(), columns, whole, columns, rows, rank, columns});
  return p;
}

// Every worker has sent the common approximation; vectors are sent as they are.
template <class Real>
void Exchange<Real>::factorise(std::vector<Vector>& gradients, Vector& sum) {
  add_all(gradients, sum);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    const std::size_t rank = rank_of(tensor, compressing_.rank);
    if (rank == 0) continue;
    std::vector<const Real*> matrices;
    for (const Vector& one : gradients) matrices.push_back(one.data() + tensor.offset);
    Vector whole(tensor.size());
    power_step(matrices, tensor, rank, factors_[i], whole.data());
    const auto offset = static_cast<std::ptrdiff_t>(tensor.offset);
    for (Vector& one : gradients) std::copy(whole.begin(), whole.end(), one.begin() + offset);
    for (std::size_t j = 0; j < whole.size(); ++j)
      sum[tensor.offset + j] = whole[j] * static_cast<Real>(gradients.size());
  }
}

template class Exchange<float>;
template class Exchange<double>;
template std::vector<float> power_step(const std::vector<const float*>&, const Tensor&, std::size_t,
                                       std::vector<float>&, float*);
template std::vector<double> power_step(const std::vector<const double*>&, const Tensor&,
                                        std::size_t, std::vector<double>&, double*);

}  // namespace sgdsim::learning
