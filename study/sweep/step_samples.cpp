// Reading points, without playing them.
#include "study/sweep/step_samples.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/core/error.h"
#include "study/advise/apart.h"
#include "study/sweep/sweep_point.h"

namespace sgdsim {
namespace {

constexpr int64_t values_read = 100;  // of one axis

// Other fields say how samples are trained, and not how many there are.
bool may_change_samples(const Sweep& sweep, const Axis& axis) {
  constexpr std::array<std::string_view, 3> parts = {"cluster", "trace", "accumulation"};
  const std::vector<std::string> fields = fields_of(sweep, axis.field());
  return std::any_of(fields.begin(), fields.end(), [&](const std::string& field) {
    const std::string part = field.substr(0, field.find('.'));
    return std::find(parts.begin(), parts.end(), part) != parts.end();
  });
}

class Samples {
 public:
  explicit Samples(const Sweep& sweep) : sweep_(sweep), reader_(sweep) {}

  void look_along(const std::vector<std::size_t>& group) {
    const int64_t size = sweep_.axes[group.front()].size();
    const int64_t count = std::min(size, values_read);
    Choice choice(sweep_.axes.size(), 0);
    for (int64_t i = 0; i < count && !(found_.differ && !found_.are_known); ++i) {
      for (const std::size_t axis : group)
        choice[axis] = count == 1 ? 0 : i * (size - 1) / (count - 1);
      read(choice);
    }
  }
  void look_at_base() {
    Experiment base;
    take([&]() -> const Experiment& { return base = read_experiment(sweep_.base); });
  }
  const StepSamples& found() const { return found_; }

 private:
  void read(const Choice& choice) {
    take([&]() -> const Experiment& { return reader_.read(choice); });
  }

  template <typename Read>
  void take(const Read& read) {
    try {
      const Experiment& experiment = read();
      const int64_t samples = experiment.samples();
      found_.are_known = found_.are_known && experiment.trace.batch > 0;
      found_.differ = found_.differ || (first_ > 0 && samples != first_);
      if (first_ == 0) first_ = samples;
    } catch (const InputError&) {
      // Such a point has no result.
    }
  }

  const Sweep& sweep_;
  PointReader reader_;
  StepSamples found_;
  int64_t first_ = 0;  // of the first point that can be read
};

}  // namespace

namespace {

std::vector<std::string> fields_of_axes(const Sweep& sweep) {
  std::vector<std::string> fields;
  for (const Axis& axis : sweep.axes) fields.push_back(axis.field());
  return fields;
}

StepSamples samples_along(const Sweep& sweep, const std::vector<std::string>& axes,
                          bool with_base) {
  Samples samples(sweep);
  if (with_base) samples.look_at_base();
  for (const std::vector<std::size_t>& group : sweep.groups) {
    const bool is_asked = std::any_of(group.begin(), group.end(), [&](std::size_t a) {
      const Axis& axis = sweep.axes[a];
      return std::find(axes.begin(), axes.end(), axis.field()) != axes.end() &&
             may_change_samples(sweep, axis);
    });
    if (is_asked) samples.look_along(group);
  }
  return samples.found();
}

}  // namespace

StepSamples step_samples(const Sweep& sweep, const std::vector<std::string>& axes) {
  return samples_along(sweep, axes, false);
}

StepSamples step_samples(const Sweep& sweep) { return step_samples(sweep, fields_of_axes(sweep)); }

StepSamples step_samples_beside_base(const Sweep& sweep) {
  return samples_along(sweep, fields_of_axes(sweep), sweep.stands_alone);
}

std::string warn_of_samples(const std::string& column, const StepSamples& samples) {
  if (!samples.differ || !is_step_time(column)) return "";
  return "the points that are compared have different numbers of samples in a step, so that the "
         "shortest step need not be the fastest training: --maximize " +
         std::string(throughput_column) + " compares samples a second" +
         (samples.are_known ? "" : ", and needs traces that say their `batch`");
}

}  // namespace sgdsim
