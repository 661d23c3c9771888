// Digits of a 5 x 7 font on 16 x 16 pixels, shifted, slanted and noisy, and a small convolutional
// network: 3 x 3 to 8 channels, ReLU, the largest of 2 x 2, 3 x 3 to 16 channels, ReLU, dense to 10
// (11,498 weights). A convolution is a dense layer on the patches around all pixels.
#include <array>

#include "models/learning/dense_network.h"
#include "models/learning/registry.h"

namespace sgdsim::learning::glyphs_cnn {
namespace {

constexpr std::size_t side = 16;
constexpr std::size_t half = side / 2;
constexpr std::size_t pixels = side * side;
constexpr std::size_t classes = 10;
constexpr std::size_t first_channels = 8;
constexpr std::size_t second_channels = 16;
constexpr DenseShape first_shape{9, first_channels};
constexpr DenseShape second_shape{9 * first_channels, second_channels};
constexpr DenseShape last_shape{half * half * second_channels, classes};

// Rows of the digits from top to bottom, the leftmost pixel in the highest of five bits.
constexpr std::array<std::array<uint8_t, 7>, classes> font = {{
    {0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e},
    {0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e},
    {0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f},
    {0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e},
    {0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02},
    {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e},
    {0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e},
    {0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08},
    {0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e},
    {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c},
}};

double ink(std::size_t digit, double column, double row) {
  if (column < 0 || column >= 5 || row < 0 || row >= 7) return 0;
  const unsigned bits = font[digit][static_cast<std::size_t>(row)];
  return (bits >> (4U - static_cast<unsigned>(column))) & 1U ? 1 : 0;
}

// Twice as large as the font, about; moved by up to two pixels, slanted by up to 0.3.
Samples drawn(double noise, uint64_t seed, uint64_t part, std::size_t count) {
  Samples samples;
  samples.width = pixels;
  for (std::size_t i = 0; i < count; ++i) {
    Draws draws(seed, part, 1, i);
    const std::size_t digit = draws.below(classes);
    const double scale = 1.7 + 0.5 * draws.uniform();
    const double slant = 0.6 * draws.uniform() - 0.3;
    const double right = half + 4 * draws.uniform() - 2;
    const double down = half + 4 * draws.uniform() - 2;
    for (std::size_t y = 0; y < side; ++y)
      for (std::size_t x = 0; x < side; ++x) {
        const double v = static_cast<double>(y) + 0.5 - down;
        const double u = static_cast<double>(x) + 0.5 - right + slant * v;
        const double value = ink(digit, u / scale + 2.5, v / scale + 3.5);
        samples.values.push_back(static_cast<float>(value - 0.2 + noise * draws.normal()));
      }
    samples.labels.push_back(static_cast<uint8_t>(digit));
  }
  return samples;
}

// For every pixel of images of `size` x `size` with channels: those of its 3 x 3 neighbours, 0
// beyond the edge. visit(place in the patches, place in the images).
template <class Visit>
void for_each_neighbour(std::size_t rows, std::size_t size, std::size_t channels,
                        const Visit& visit) {
  std::size_t patch = 0;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t y = 0; y < size; ++y)
      for (std::size_t x = 0; x < size; ++x)
        for (std::size_t dy = 0; dy < 3; ++dy)
          for (std::size_t dx = 0; dx < 3; ++dx, patch += channels)
            if (y + dy >= 1 && y + dy <= size && x + dx >= 1 && x + dx <= size)
              visit(patch, ((row * size + y + dy - 1) * size + x + dx - 1) * channels);
}

template <class Real>
std::vector<Real> patches(const std::vector<Real>& images, std::size_t rows, std::size_t size,
                          std::size_t channels) {
  std::vector<Real> all(rows * size * size * 9 * channels);
  for_each_neighbour(rows, size, channels, [&](std::size_t patch, std::size_t image) {
    for (std::size_t c = 0; c < channels; ++c) all[patch + c] = images[image + c];
  });
  return all;
}

class Network {
 public:
  Network(Samples training, Samples held_out)
      : training_(std::move(training)), held_out_(std::move(held_out)) {}

  template <class Real>
  std::vector<Real> start(uint64_t seed) const {
    std::vector<Real> weights(first_shape.size() + second_shape.size() + last_shape.size());
    start_dense(first_shape, 2, seed, 0, weights.data());
    start_dense(second_shape, 2, seed, 1, weights.data() + first_shape.size());
    start_dense(last_shape, 1, seed, 2, weights.data() + first_shape.size() + second_shape.size());
    return weights;
  }

  template <class Real>
  double gradient(const Real* weights, const Batch& batch, Real* gradient) const {
    const auto rows = static_cast<std::size_t>(batch.samples);
    std::vector<uint8_t> labels(rows);
    std::vector<Real> images(rows * pixels);
    pick(training_, batch, images.data(), labels.data());
    Layers<Real> on = forward(weights, images, rows);
    const double scale = 1 / static_cast<double>(rows);
    const double loss = softmax_loss(on.logits.data(), labels.data(), rows, classes, scale);
    const std::size_t second_at = first_shape.size();
    const std::size_t last_at = second_at + second_shape.size();
    std::fill_n(gradient, last_at + last_shape.size(), Real{});
    std::vector<Real> of_second(on.second.size());
    dense_backward(last_shape, weights + last_at, on.second.data(), on.logits.data(), rows,
                   gradient + last_at, of_second.data());
    relu_backward(on.second.data(), of_second.data(), of_second.size());
    std::vector<Real> of_patches(on.second_patches.size());
    dense_backward(second_shape, weights + second_at, on.second_patches.data(), of_second.data(),
                   rows * half * half, gradient + second_at, of_patches.data());
    std::vector<Real> of_pooled(on.largest.size());
    for_each_neighbour(rows, half, first_channels, [&](std::size_t patch, std::size_t image) {
      for (std::size_t c = 0; c < first_channels; ++c)
        of_pooled[image + c] += of_patches[patch + c];
    });
    std::vector<Real> of_first(on.first.size());
    for (std::size_t i = 0; i < of_pooled.size(); ++i) of_first[on.largest[i]] = of_pooled[i];
    relu_backward(on.first.data(), of_first.data(), of_first.size());
    dense_backward<Real>(first_shape, weights, on.first_patches.data(), of_first.data(),
                         rows * pixels, gradient, nullptr);
    return loss * scale;
  }

  template <class Real>
  Score evaluate(const Real* weights) const {
    return score<Real>(held_out_, classes, [&](const Real* values, std::size_t rows) {
      return forward(weights, std::vector<Real>(values, values + rows * pixels), rows).logits;
    });
  }

 private:
  template <class Real>
  struct Layers {
    std::vector<Real> first_patches;
    std::vector<Real> first;           // after ReLU
    std::vector<std::size_t> largest;  // of each 2 x 2: where it is in `first`
    std::vector<Real> second_patches;
    std::vector<Real> second;
    std::vector<Real> logits;
  };

  template <class Real>
  static Layers<Real> forward(const Real* weights, const std::vector<Real>& images,
                              std::size_t rows) {
    Layers<Real> on;
    on.first_patches = patches(images, rows, side, 1);
    on.first.resize(rows * pixels * first_channels);
    dense(first_shape, weights, on.first_patches.data(), rows * pixels, on.first.data());
    relu(on.first.data(), on.first.size());
    std::vector<Real> pooled(on.first.size() / 4);
    on.largest.resize(pooled.size());
    pool(on.first, rows, pooled, on.largest);
    on.second_patches = patches(pooled, rows, half, first_channels);
    on.second.resize(rows * half * half * second_channels);
    dense(second_shape, weights + first_shape.size(), on.second_patches.data(), rows * half * half,
          on.second.data());
    relu(on.second.data(), on.second.size());
    on.logits.resize(rows * classes);
    dense(last_shape, weights + first_shape.size() + second_shape.size(), on.second.data(), rows,
          on.logits.data());
    return on;
  }

  // Of equal ones the first.
  template <class Real>
  static void pool(const std::vector<Real>& images, std::size_t rows, std::vector<Real>& pooled,
                   std::vector<std::size_t>& largest) {
    std::size_t place = 0;
    for (std::size_t row = 0; row < rows * half; ++row)  // two rows of pixels
      for (std::size_t x = 0; x < half; ++x)
        for (std::size_t c = 0; c < first_channels; ++c, ++place) {
          std::size_t best = (2 * row * side + 2 * x) * first_channels + c;
          const std::size_t corner = best;
          for (const std::size_t step : {std::size_t{1}, side, side + 1})
            if (images[corner + step * first_channels] > images[best])
              best = corner + step * first_channels;
          largest[place] = best;
          pooled[place] = images[best];
        }
  }

  Samples training_;
  Samples held_out_;
};

struct Options {
  double noise = 0.5;
  DataSize data{.training = 10'000, .held_out = 1'000, .most_training = 1'000'000};
};

Fields fields_of(Options& o) {
  return Fields{Field("noise", o.noise, "deviation of the noise on every pixel").from(0, 100)} +
         fields_of(o.data);
}

Task read(Object& fields) {
  const auto options = read_record<Options>(fields);
  const double noise = options.noise;
  const DataSize& data = options.data;
  const auto network =
      std::make_shared<const Network>(drawn(noise, data.seed, drawn_for::data, data.training),
                                      drawn(noise, data.seed, drawn_for::held_out, data.held_out));
  Task task = task_around(network, {{"convolution 1", first_shape.inputs, first_channels, 0},
                                    {"biases 1", 1, first_channels, 0},
                                    {"convolution 2", second_shape.inputs, second_channels, 0},
                                    {"biases 2", 1, second_channels, 0},
                                    {"dense", last_shape.inputs, classes, 0},
                                    {"biases 3", 1, classes, 0}});
  task.has_accuracy = true;
  task.rate = 0.1;
  return task;
}

}  // namespace

TaskKind describe() {
  return {"glyphs_cnn", "a small convolutional network reads noisy, slanted digits",
          options_of<Options>, read};
}

}  // namespace sgdsim::learning::glyphs_cnn
