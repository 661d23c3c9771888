// A step of no time would never fill a run.
#include "app/goodput/step_source.h"

#include "app/goodput/spans.h"

namespace sgdsim {

double step_of(Object& fields) {
  const Value value = fields.at("step");
  const double step_s = span_of(value);
  if (step_s < 1e-9) value.fail("expected a step of at least 1 ns, got \"" + value.text() + "\"");
  return step_s;
}

}  // namespace sgdsim
