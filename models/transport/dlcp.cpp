// DLCP (arXiv 2008.08445), the forerunner of MLT: rates by marks, and less loss of parameters.
#include "models/transport/mlt.h"

namespace sgdsim::transport::dlcp {
namespace {

MltRules rules() {
  MltRules rules;
  rules.pull_loss_bound = {0.05};
  rules.falls_by_marks = true;
  return rules;
}

PartOptions options() {
  MltOptions usual{.rules = rules()};
  return options_in(fields_of(usual));
}

void read(Object& fields, const std::vector<double>&, PacketSetup& setup) {
  read_mlt(fields, rules(), setup);
}

}  // namespace

Transport describe() {
  return {"dlcp", "as mlt, with rates by marks and a tighter bound for parameters",
          set_mlt_defaults, options, read};
}

}  // namespace sgdsim::transport::dlcp
