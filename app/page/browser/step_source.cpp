// The step of a training, in a browser: the page has simulated it, and says how long it takes.
#include "study/goodput/step_source.h"

#include "study/goodput/spans.h"

namespace sgdsim {

StepSource StepSource::read(const Value& value, const std::optional<Value>&,
                            const std::function<void()>&) {
  StepSource source;
  source.step_s_ = span_of(value);
  if (source.step_s_ < 1e-9) value.fail("expected a step of at least 1 ns");
  return source;
}

double StepSource::factor_of(const Value& degraded) {
  degraded.fail("the step is a number: give `factor`");
}

}  // namespace sgdsim
