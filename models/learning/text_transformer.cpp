// Characters of English text, the next one of each of 64: a transformer with two layers, width 48
// and four heads (69,024 weights), normalised before each part. The text is a part of this
// project's own pages as they were once; its last tenth is held out. Its gradients are
// heavy-tailed: the rows of rare characters are mostly 0.
#include <array>
#include <cmath>

#include "models/learning/dense_network.h"
#include "models/learning/kernels.h"
#include "models/learning/registry.h"
#include "models/learning/text.h"

namespace sgdsim::learning::text_transformer {
namespace {

constexpr std::size_t letters = 96;  // the end of a line, and what can be printed
constexpr std::size_t length = 64;
constexpr std::size_t width = 48;
constexpr std::size_t heads = 4;
constexpr std::size_t head_width = width / heads;
constexpr std::size_t layer_count = 2;
constexpr DenseShape joined{width, 3 * width};  // queries, keys, values
constexpr DenseShape output{width, width};
constexpr DenseShape up{width, 4 * width};
constexpr DenseShape down{4 * width, width};
constexpr DenseShape last{width, letters};
constexpr std::size_t norm_size = 2 * width;  // factors, then what is added

// Where the weights of a layer are, counted from its first.
constexpr std::size_t joined_at = norm_size;
constexpr std::size_t output_at = joined_at + joined.size();
constexpr std::size_t second_norm_at = output_at + output.size();
constexpr std::size_t up_at = second_norm_at + norm_size;
constexpr std::size_t down_at = up_at + up.size();
constexpr std::size_t layer_size = down_at + down.size();
constexpr std::size_t places_at = letters * width;
constexpr std::size_t layers_at = places_at + length * width;
constexpr std::size_t last_norm_at = layers_at + layer_count * layer_size;
constexpr std::size_t last_at = last_norm_at + norm_size;
constexpr std::size_t all_weights = last_at + last.size();

template <class Real>
struct Normed {
  std::vector<Real> values;    // of mean 0 and variance 1
  std::vector<Real> inverses;  // of deviations, by row
  std::vector<Real> results;
};

template <class Real>
Normed<Real> normed(const Real* weights, const std::vector<Real>& x) {
  const std::size_t rows = x.size() / width;
  Normed<Real> on{std::vector<Real>(x.size()), std::vector<Real>(rows),
                  std::vector<Real>(x.size())};
  for (std::size_t row = 0; row < rows; ++row) {
    const Real* from = x.data() + row * width;
    const double mean = sum_of(from, width) / width;
    double square = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const double away = static_cast<double>(from[i]) - mean;
      square += away * away;
    }
    const double inverse = 1 / std::sqrt(square / width + 1e-5);
    on.inverses[row] = static_cast<Real>(inverse);
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t at = row * width + i;
      on.values[at] = static_cast<Real>((static_cast<double>(from[i]) - mean) * inverse);
      on.results[at] = on.values[at] * weights[i] + weights[width + i];
    }
  }
  return on;
}

// Adds to the gradient of x.
template <class Real>
void normed_backward(const Real* weights, const Normed<Real>& on,
                     const std::vector<Real>& of_result, Real* gradient, std::vector<Real>& of_x) {
  for (std::size_t row = 0; row < on.inverses.size(); ++row) {
    const Real* values = on.values.data() + row * width;
    const Real* result = of_result.data() + row * width;
    std::array<Real, width> inner;
    double sum = 0;
    double product = 0;
    for (std::size_t i = 0; i < width; ++i) {
      gradient[i] += result[i] * values[i];
      gradient[width + i] += result[i];
      inner[i] = result[i] * weights[i];
      sum += static_cast<double>(inner[i]);
      product += static_cast<double>(inner[i]) * static_cast<double>(values[i]);
    }
    const auto mean = static_cast<Real>(sum / width);
    const auto slope = static_cast<Real>(product / width);
    for (std::size_t i = 0; i < width; ++i)
      of_x[row * width + i] += on.inverses[row] * (inner[i] - mean - values[i] * slope);
  }
}

// Of one head: `all` has queries, keys and values in rows of 3 * width.
template <class Real>
void attend(const Real* all, Real* chances, Real* result) {
  std::array<Real, head_width * length> keys;
  for (std::size_t i = 0; i < length; ++i)
    for (std::size_t j = 0; j < head_width; ++j)
      keys[j * length + i] = all[i * 3 * width + width + j];
  std::fill_n(chances, length * length, Real{});
  add_product<Real>(
      {{all, 3 * width, 1}, keys.data(), length, chances, length, length, head_width, length});
  const double scale = 1 / std::sqrt(static_cast<double>(head_width));
  std::array<double, length> powers;
  for (std::size_t i = 0; i < length; ++i) {
    Real* row = chances + i * length;
    const auto highest = static_cast<double>(*std::max_element(row, row + i + 1));
    double sum = 0;
    for (std::size_t j = 0; j <= i; ++j)
      powers[j] = (static_cast<double>(row[j]) - highest) * scale;
    exp_all(powers.data(), i + 1);
    for (std::size_t j = 0; j <= i; ++j) sum += powers[j];
    for (std::size_t j = 0; j < length; ++j)
      row[j] = j <= i ? static_cast<Real>(powers[j] / sum) : Real{};
  }
  add_product<Real>({{chances, length, 1},
                     all + 2 * width,
                     3 * width,
                     result,
                     width,
                     length,
                     length,
                     head_width});
}

template <class Real>
void attend_backward(const Real* all, const Real* chances, const Real* of_result, Real* of_all) {
  std::array<Real, head_width * length> values;
  for (std::size_t i = 0; i < length; ++i)
    for (std::size_t j = 0; j < head_width; ++j)
      values[j * length + i] = all[i * 3 * width + 2 * width + j];
  std::vector<Real> of_scores(length * length);
  add_product<Real>({{of_result, width, 1},
                     values.data(),
                     length,
                     of_scores.data(),
                     length,
                     length,
                     head_width,
                     length});
  const auto scale = static_cast<Real>(1 / std::sqrt(static_cast<double>(head_width)));
  for (std::size_t i = 0; i < length; ++i) {
    const Real* row = chances + i * length;
    Real* own = of_scores.data() + i * length;
    double mean = 0;
    for (std::size_t j = 0; j <= i; ++j)
      mean += static_cast<double>(row[j]) * static_cast<double>(own[j]);
    for (std::size_t j = 0; j < length; ++j)
      own[j] = row[j] * (own[j] - static_cast<Real>(mean)) * scale;
  }
  const std::size_t step = 3 * width;
  add_product<Real>(
      {{of_scores.data(), length, 1}, all + width, step, of_all, step, length, length, head_width});
  add_product<Real>(
      {{of_scores.data(), 1, length}, all, step, of_all + width, step, length, length, head_width});
  add_product<Real>({{chances, 1, length},
                     of_result,
                     width,
                     of_all + 2 * width,
                     step,
                     length,
                     length,
                     head_width});
}

template <class Real>
struct Layer {
  std::vector<Real> x;
  Normed<Real> first;
  std::vector<Real> joint;
  std::vector<Real> chances;
  std::vector<Real> attended;
  std::vector<Real> middle;  // x after attention
  Normed<Real> second;
  std::vector<Real> hidden;
};

template <class Real>
void add_to(std::vector<Real>& x, const std::vector<Real>& more) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += more[i];
}

// x becomes what the layer makes of it.
template <class Real>
Layer<Real> layer_forward(const Real* weights, std::vector<Real>& x, std::size_t samples) {
  const std::size_t rows = samples * length;
  Layer<Real> on;
  on.x = x;
  on.first = normed(weights, x);
  on.joint.resize(rows * 3 * width);
  dense(joined, weights + joined_at, on.first.results.data(), rows, on.joint.data());
  on.chances.resize(samples * heads * length * length);
  on.attended.resize(rows * width);
  for (std::size_t i = 0; i < samples * heads; ++i)
    attend(on.joint.data() + i / heads * length * 3 * width + i % heads * head_width,
           on.chances.data() + i * length * length,
           on.attended.data() + i / heads * length * width + i % heads * head_width);
  std::vector<Real> more(rows * width);
  dense(output, weights + output_at, on.attended.data(), rows, more.data());
  add_to(x, more);
  on.middle = x;
  on.second = normed(weights + second_norm_at, x);
  on.hidden.resize(rows * up.outputs);
  dense(up, weights + up_at, on.second.results.data(), rows, on.hidden.data());
  relu(on.hidden.data(), on.hidden.size());
  dense(down, weights + down_at, on.hidden.data(), rows, more.data());
  add_to(x, more);
  return on;
}

// of_x: of what it made, then of what it was given.
template <class Real>
void layer_backward(const Real* weights, const Layer<Real>& on, std::size_t samples, Real* gradient,
                    std::vector<Real>& of_x) {
  const std::size_t rows = samples * length;
  std::vector<Real> of_hidden(on.hidden.size());
  dense_backward(down, weights + down_at, on.hidden.data(), of_x.data(), rows, gradient + down_at,
                 of_hidden.data());
  relu_backward(on.hidden.data(), of_hidden.data(), of_hidden.size());
  std::vector<Real> inner(rows * width);
  dense_backward(up, weights + up_at, on.second.results.data(), of_hidden.data(), rows,
                 gradient + up_at, inner.data());
  normed_backward(weights + second_norm_at, on.second, inner, gradient + second_norm_at, of_x);
  dense_backward(output, weights + output_at, on.attended.data(), of_x.data(), rows,
                 gradient + output_at, inner.data());
  std::vector<Real> of_joint(on.joint.size());
  for (std::size_t i = 0; i < samples * heads; ++i) {
    const std::size_t at = i / heads * length * 3 * width + i % heads * head_width;
    attend_backward(on.joint.data() + at, on.chances.data() + i * length * length,
                    inner.data() + i / heads * length * width + i % heads * head_width,
                    of_joint.data() + at);
  }
  dense_backward(joined, weights + joined_at, on.first.results.data(), of_joint.data(), rows,
                 gradient + joined_at, inner.data());
  normed_backward(weights, on.first, inner, gradient, of_x);
}

class Network {
 public:
  Network(std::vector<uint8_t> text, std::size_t held_out)
      : text_(std::move(text)), held_out_(held_out) {}

  template <class Real>
  std::vector<Real> start(uint64_t seed) const {
    std::vector<Real> weights(all_weights);
    Draws draws(seed, drawn_for::weights, 0, 1);
    for (std::size_t i = 0; i < layers_at; ++i)
      weights[i] = static_cast<Real>(0.3 * draws.normal());
    for (std::size_t i = 0; i < layer_count; ++i) {
      Real* layer = weights.data() + layers_at + i * layer_size;
      const uint64_t number = 10 * (i + 1);
      std::fill_n(layer, width, Real{1});
      std::fill_n(layer + second_norm_at, width, Real{1});
      start_dense(joined, 1, seed, number, layer + joined_at);
      start_dense(output, 0.5, seed, number + 1, layer + output_at);
      start_dense(up, 2, seed, number + 2, layer + up_at);
      start_dense(down, 0.5, seed, number + 3, layer + down_at);
    }
    std::fill_n(weights.data() + last_norm_at, width, Real{1});
    start_dense(last, 0.1, seed, 1, weights.data() + last_at);
    return weights;
  }

  template <class Real>
  double gradient(const Real* weights, const Batch& batch, Real* gradient) const {
    const auto samples = static_cast<std::size_t>(batch.samples);
    std::vector<std::size_t> from;
    for (std::size_t i = 0; i < samples; ++i) {
      Draws draws(batch.seed, static_cast<uint64_t>(batch.worker),
                  static_cast<uint64_t>(batch.iteration), i);
      from.push_back(draws.below(static_cast<uint32_t>(text_.size() - held_out_ - length)));
    }
    std::vector<Layer<Real>> layers;
    Normed<Real> end;
    std::vector<Real> logits = forward(weights, from, &layers, end);
    const std::size_t rows = samples * length;
    const double scale = 1 / static_cast<double>(rows);
    const double loss = softmax_loss(logits.data(), labels(from).data(), rows, letters, scale);
    std::fill_n(gradient, all_weights, Real{});
    std::vector<Real> inner(rows * width);
    dense_backward(last, weights + last_at, end.results.data(), logits.data(), rows,
                   gradient + last_at, inner.data());
    std::vector<Real> of_x(rows * width);
    normed_backward(weights + last_norm_at, end, inner, gradient + last_norm_at, of_x);
    for (std::size_t i = layer_count; i-- > 0;) {
      const std::size_t at = layers_at + i * layer_size;
      layer_backward(weights + at, layers[i], samples, gradient + at, of_x);
    }
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t i = 0; i < width; ++i) {
        const std::size_t letter = text_[from[row / length] + row % length];
        gradient[letter * width + i] += of_x[row * width + i];
        gradient[places_at + row % length * width + i] += of_x[row * width + i];
      }
    return loss * scale;
  }

  // Windows that lie evenly in what is held out.
  template <class Real>
  Score evaluate(const Real* weights) const {
    constexpr std::size_t windows = 32;
    constexpr std::size_t at_once = 8;
    Judged all;
    const std::size_t first = text_.size() - held_out_;
    for (std::size_t i = 0; i < windows; i += at_once) {
      std::vector<std::size_t> from;
      for (std::size_t j = i; j < i + at_once; ++j)
        from.push_back(first + j * (held_out_ - length - 1) / windows);
      Normed<Real> end;
      const std::vector<Real> logits = forward<Real>(weights, from, nullptr, end);
      const Judged one = judged(logits.data(), labels(from).data(), at_once * length, letters);
      all.loss += one.loss;
      all.right += one.right;
    }
    constexpr double count = windows * length;
    return {all.loss / count, static_cast<double>(all.right) / count};
  }

 private:
  std::vector<uint8_t> labels(const std::vector<std::size_t>& from) const {
    std::vector<uint8_t> all;
    for (const std::size_t first : from)
      for (std::size_t i = 1; i <= length; ++i) all.push_back(text_[first + i]);
    return all;
  }

  template <class Real>
  std::vector<Real> forward(const Real* weights, const std::vector<std::size_t>& from,
                            std::vector<Layer<Real>>* layers, Normed<Real>& end) const {
    const std::size_t rows = from.size() * length;
    std::vector<Real> x(rows * width);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t i = 0; i < width; ++i)
        x[row * width + i] = weights[text_[from[row / length] + row % length] * width + i] +
                             weights[places_at + row % length * width + i];
    for (std::size_t i = 0; i < layer_count; ++i) {
      Layer<Real> layer = layer_forward(weights + layers_at + i * layer_size, x, from.size());
      if (layers != nullptr) layers->push_back(std::move(layer));
    }
    end = normed(weights + last_norm_at, x);
    std::vector<Real> logits(rows * letters);
    dense(last, weights + last_at, end.results.data(), rows, logits.data());
    return logits;
  }

  std::vector<uint8_t> text_;
  std::size_t held_out_;
};

std::vector<Tensor> tensors() {
  std::vector<Tensor> all = {{"letters", letters, width, 0}, {"places", length, width, 0}};
  const auto add_dense = [&all](const std::string& name, const DenseShape& shape) {
    all.push_back({name, shape.inputs, shape.outputs, 0});
    all.push_back({name + " biases", 1, shape.outputs, 0});
  };
  for (std::size_t i = 1; i <= layer_count; ++i) {
    const std::string layer = "layer " + std::to_string(i) + " ";
    all.push_back({layer + "first norm", 1, norm_size, 0});
    add_dense(layer + "queries, keys, values", joined);
    add_dense(layer + "output", output);
    all.push_back({layer + "second norm", 1, norm_size, 0});
    add_dense(layer + "up", up);
    add_dense(layer + "down", down);
  }
  all.push_back({"last norm", 1, norm_size, 0});
  add_dense("last", last);
  return all;
}

Task read(Object&) {
  std::vector<uint8_t> text;
  for (const char letter : learning_texts().front().text)
    text.push_back(letter >= ' ' && letter <= '~' ? static_cast<uint8_t>(letter - ' ' + 1) : 0);
  const std::size_t held_out = text.size() / 10;
  Task task = task_around(std::make_shared<const Network>(std::move(text), held_out), tensors());
  task.has_accuracy = true;
  task.rate = 0.3;
  task.samples = 32;
  task.iterations = 500;
  return task;
}

}  // namespace

TaskKind describe() {
  return {"text_transformer", "a transformer with two layers guesses the next character",
          no_options, read};
}

}  // namespace sgdsim::learning::text_transformer
