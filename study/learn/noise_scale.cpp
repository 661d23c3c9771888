// Windows over the iterations, means over seeds.
#include "study/learn/noise_scale.h"

#include <algorithm>
#include <cmath>

#include "study/table.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_windows = 8;

// What is added up over iterations: both terms, so that their ratio is one of means.
struct Terms {
  double gradient_squared = 0;
  double covariance_trace = 0;

  double samples() const {
    return gradient_squared > 0 ? std::max(0., covariance_trace) / gradient_squared : HUGE_VAL;
  }
};

// E |g|^2 = |G|^2 + trace / samples, for a worker's samples and for those of all.
Terms terms_of(double of_workers, double of_mean, double small, double large) {
  return {(large * of_mean - small * of_workers) / (large - small),
          (of_workers - of_mean) / (1 / small - 1 / large)};
}

Terms terms_within(const learning::Lesson& lesson, const LearnQuestion& question, std::size_t begin,
                   std::size_t end) {
  double of_workers = 0;
  double of_mean = 0;
  double count = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const learning::NoisePoint& point = lesson.noise[i];
    const auto iterations =
        static_cast<double>(point.iteration - (i == 0 ? 0 : lesson.noise[i - 1].iteration));
    of_workers += iterations * point.of_workers;
    of_mean += iterations * point.of_mean;
    count += iterations;
  }
  const double small = question.samples;
  return terms_of(of_workers / count, of_mean / count, small, small * question.workers);
}

NoiseWindow window_of(const LearnQuestion& question,
                      const std::vector<const learning::Lesson*>& lessons, std::size_t begin,
                      std::size_t end) {
  NoiseWindow window;
  window.from = begin == 0 ? 0 : lessons.front()->noise[begin - 1].iteration;
  window.to = lessons.front()->noise[end - 1].iteration;
  std::vector<double> samples;
  std::vector<double> losses;
  for (const learning::Lesson* lesson : lessons) {
    const Terms terms = terms_within(*lesson, question, begin, end);
    window.gradient_squared += terms.gradient_squared / static_cast<double>(lessons.size());
    window.covariance_trace += terms.covariance_trace / static_cast<double>(lessons.size());
    samples.push_back(terms.samples());
    losses.push_back(lesson->curve[end].loss);  // the curve has a point at 0 before all others
  }
  window.samples = over_seeds(samples);
  window.loss = over_seeds(losses).median;
  return window;
}

// Iterations with `factor` times the samples, over those now: S(B) = S_min (1 + noise / B).
double iterations_with(double factor, double noise_scale, double samples) {
  if (!std::isfinite(noise_scale)) return 1 / factor;
  return (1 + noise_scale / (factor * samples)) / (1 + noise_scale / samples);
}

std::string samples_text(const OverSeeds& samples) {
  const auto text = [](double value) {
    return std::isfinite(value) ? rounded(value, 3) : std::string("beyond");
  };
  if (samples.low == samples.high) return text(samples.median);
  return text(samples.median) + " (" + text(samples.low) + " to " + text(samples.high) + ")";
}

}  // namespace

NoiseScale noise_scale_of(const LearnQuestion& question, const Learned& learned) {
  NoiseScale noise;
  const std::vector<const learning::Lesson*>& lessons = learned.methods.front().chosen().lessons;
  std::size_t points = lessons.front()->noise.size();
  for (const learning::Lesson* lesson : lessons) {
    if (!lesson->ended.empty())
      throw InputError("--noise-scale",
                       "dense training " + lesson->ended + ": choose a smaller --rate");
    points = std::min(points, lesson->noise.size());
  }
  const std::size_t windows = std::min(most_windows, points);
  for (std::size_t i = 0; i < windows; ++i)
    noise.windows.push_back(
        window_of(question, lessons, i * points / windows, (i + 1) * points / windows));
  noise.whole = window_of(question, lessons, 0, points);
  return noise;
}

double noise_scale_until(const LearnQuestion& question,
                         const std::vector<const learning::Lesson*>& lessons,
                         const std::vector<double>& iterations) {
  Terms all;
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    const std::vector<learning::NoisePoint>& noise = lessons[i]->noise;
    const auto within = static_cast<std::size_t>(
        std::count_if(noise.begin(), noise.end(), [&](const learning::NoisePoint& point) {
          return static_cast<double>(point.iteration) <= iterations[i];
        }));
    if (!std::isfinite(iterations[i]) || within == 0) continue;
    const Terms own = terms_within(*lessons[i], question, 0, within);
    all.gradient_squared += own.gradient_squared;
    all.covariance_trace += own.covariance_trace;
  }
  return all.samples();
}

void print_noise(std::ostream& out, const LearnQuestion& question, const NoiseScale& noise) {
  const double samples = static_cast<double>(question.samples) * question.workers;
  out << "\ngradient noise of dense training, " << std::to_string(std::llround(samples))
      << " samples an iteration: the noise scale is the number of\nsamples at which noise and mean "
         "gradient are alike\n\n";
  Table table({"iterations", "loss", "noise scale (samples)", "iterations with half", "twice",
               "8 times the samples"});
  const auto add = [&](const std::string& name, const NoiseWindow& window) {
    const auto with = [&](double factor) {
      return "x " + rounded(iterations_with(factor, window.samples.median, samples), 3);
    };
    table.add(
        {name, rounded(window.loss, 4), samples_text(window.samples), with(0.5), with(2), with(8)});
  };
  for (const NoiseWindow& window : noise.windows)
    add(std::to_string(window.from) + " to " + std::to_string(window.to), window);
  add("all", noise.whole);
  table.print(out);
  out << "\n\"beyond\": these iterations show noise only. Factors are S(B) = S_min (1 + noise / "
         "B), "
         "with the best rate of\neach number of samples; a small task's noise is not that of the "
         "trace's model.\n";
}

}  // namespace sgdsim
