// Tables and a picture of characters.
#include "study/learn/learn_answer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "study/learn/learn_batches.h"
#include "study/learn/learn_fields.h"
#include "study/learn/learn_sweep.h"
#include "study/learn/noise_scale.h"
#include "study/table.h"

namespace sgdsim {
namespace {

std::string not_within_iterations(const LearnQuestion& question) {
  return "not within " + std::to_string(question.iterations);
}

std::string as_count(double value) { return std::to_string(std::llround(value)); }
std::string lesson_time(double us) { return short_duration(us, 4); }
std::string short_ratio(double ratio) { return rounded(ratio, 3); }

std::string mean_of_ends(const LearnedRate& rate, const LearnTarget& target) {
  double sum = 0;
  for (const learning::Lesson* lesson : rate.lessons) {
    if (!lesson->ended.empty() || lesson->curve.empty()) return "diverged";
    sum += target.is_accuracy ? lesson->curve.back().accuracy : lesson->curve.back().loss;
  }
  return rounded(sum / static_cast<double>(rate.lessons.size()), 4);
}

// ---- a picture of characters

constexpr int picture_columns = 72;
constexpr int picture_rows = 14;

struct Extent {
  double latest_us = 0;
  double least = 0;
  double most = 0;
};

const learning::Lesson& first_lesson(const LearnedMethod& method) {
  return *method.chosen().lessons.front();
}

// A loss beyond twice the first one is drawn at the upper edge.
Extent extent_of(const LearnQuestion& question, const Learned& learned) {
  Extent extent;
  const learning::Lesson& dense = first_lesson(learned.methods.front());
  extent.most = extent.least = dense.curve.empty() ? 1 : dense.curve.front().loss;
  for (std::size_t i = 0; i < learned.methods.size(); ++i)
    for (const learning::CurvePoint& point : first_lesson(learned.methods[i]).curve) {
      extent.latest_us = std::max(
          extent.latest_us, question.methods[i].ends_us[static_cast<std::size_t>(point.iteration)]);
      extent.least = std::min(extent.least, point.loss);
    }
  return extent;
}

void print_picture(std::ostream& out, const LearnQuestion& question, const Learned& learned) {
  const Extent extent = extent_of(question, learned);
  const double height = extent.most - extent.least;
  if (!(height > 0) || !(extent.latest_us > 0)) return;
  std::vector<std::string> grid(picture_rows, std::string(picture_columns, ' '));
  for (std::size_t i = learned.methods.size(); i-- > 0;)
    for (const learning::CurvePoint& point : first_lesson(learned.methods[i]).curve) {
      const double end = question.methods[i].ends_us[static_cast<std::size_t>(point.iteration)];
      const double across = end / extent.latest_us * (picture_columns - 1);
      const double down =
          std::clamp((extent.most - point.loss) / height, 0., 1.) * (picture_rows - 1);
      grid[static_cast<std::size_t>(std::lround(down))]
          [static_cast<std::size_t>(std::lround(across))] = static_cast<char>('a' + i % 26);
    }
  out << "\nloss over simulated time, seed " << question.seeds.front() << ":";
  for (std::size_t i = 0; i < question.methods.size(); ++i)
    out << ' ' << static_cast<char>('a' + i % 26) << ' ' << question.methods[i].label
        << (i + 1 < question.methods.size() ? "," : "\n");
  for (std::size_t row = 0; row < grid.size(); ++row) {
    std::string label = row == 0                 ? rounded(extent.most, 3)
                        : row + 1 == grid.size() ? rounded(extent.least, 3)
                                                 : "";
    label.resize(8, ' ');
    std::string line = grid[row];
    line.erase(line.find_last_not_of(' ') + 1);
    out << label << '|' << line << '\n';
  }
  out << "        +" << std::string(picture_columns, '-') << "\n         0" << std::string(58, ' ')
      << short_duration(extent.latest_us, 4) << '\n';
}

void print_notes(std::ostream& out, const LearnQuestion& question, const Learned& learned) {
  for (std::size_t i = 0; i < learned.methods.size(); ++i) {
    const LearnedMethod& method = learned.methods[i];
    const std::string& label = question.methods[i].label;
    if (const std::string ended = end_of(method.chosen()); !ended.empty())
      out << label << ": " << ended << '\n';
    if (method.is_at_edge) out << label << ": " << edge_of_ladder << '\n';
    const OverSeeds& against = method.against_dense;
    if (i > 0 && against.low < 1 && against.high > 1)
      out << label << ": faster than dense with some seeds and slower with others\n";
    for (const std::string& note : question.methods[i].notes) out << label << ": " << note << '\n';
  }
}

}  // namespace

std::string goal_text(const LearnTarget& target) {
  return (target.is_accuracy ? "accuracy " : "loss ") + rounded(target.value);
}

std::string range_of_seeds(const OverSeeds& values, std::string (*text)(double)) {
  if (!std::isfinite(values.median)) return "";
  if (values.low == values.high) return text(values.median);
  return text(values.median) + " (" + text(values.low) + " to " +
         (std::isfinite(values.high) ? text(values.high) : "never") + ")";
}

std::string end_of(const LearnedRate& rate) {
  for (const learning::Lesson* lesson : rate.lessons)
    if (!lesson->ended.empty()) return lesson->ended;
  return {};
}

void print_learned(std::ostream& out, const LearnQuestion& question, const Learned& learned) {
  out << question.name << ": " << question.task.name << " (" << question.task.weights()
      << " weights) to " << goal_text(learned.target);
  if (learned.target_is_chosen) out << ", which dense reaches in half of the iterations";
  out << "; " << question.workers << " workers with " << question.samples << " samples each, "
      << question.seeds.size() << (question.seeds.size() == 1 ? " seed" : " seeds") << ", "
      << question.iterations << " iterations\n\n";
  Table table({"method", "iteration", "rate", "iterations to target", "time to target", "x dense",
               learned.target.is_accuracy ? "last accuracy" : "last loss"});
  for (std::size_t i = 0; i < learned.methods.size(); ++i) {
    const LearnedMethod& method = learned.methods[i];
    const LearnedRate& chosen = method.chosen();
    const bool reached = std::isfinite(chosen.iterations_to_target.median);
    table.add({question.methods[i].label, short_duration(question.methods[i].iteration_us, 4),
               rounded(chosen.rate, 4),
               reached ? range_of_seeds(chosen.iterations_to_target, as_count)
                       : not_within_iterations(question),
               reached ? range_of_seeds(chosen.time_to_target_us, lesson_time) : "-",
               std::isfinite(method.against_dense.median)
                   ? range_of_seeds(method.against_dense, short_ratio)
                   : "-",
               mean_of_ends(chosen, learned.target)});
  }
  table.print(out);
  print_picture(out, question, learned);
  out << "\nmedian (range) over seeds. Small models: how many more iterations a method needs is "
         "theirs, not\nthat of the trace's model. "
      << learned.lessons.size() << " lessons learned of " << learned.asked << " asked.\n";
  print_notes(out, question, learned);
  if (question.measures_noise) print_noise(out, question, noise_scale_of(question, learned));
}

Answer answer_learn(const Value& asked, const Watch& watch) {
  LearnWords words = words_of(asked, learn_fields);
  std::vector<std::string> inputs;
  if (!words.batches.empty())
    return {batches_json(learn_batches(read_batch_question(words, inputs), watch))};
  if (!words.axes.empty()) {
    LearnSweep sweep(words, watch, inputs);
    return answer_points(sweep.points(), [&](int64_t number) { return sweep.answer(number); });
  }
  Stopper stopper(watch);
  const LearnQuestion question = read_learn_question(words, &stopper, inputs);
  return {learned_json(question, learn_all(question, watch))};
}

}  // namespace sgdsim
