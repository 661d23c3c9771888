// DLCP (arXiv 2008.08445), the forerunner of MLT: rates by marks, and less loss of parameters.
#include "models/transport/mlt.h"

namespace sgdsim::transport::dlcp {
namespace {

void read(Object& fields, const std::vector<double>&, PacketSetup& setup) {
  MltRules rules;
  rules.pull_loss_bound = {0.05};
  rules.falls_by_marks = true;
  read_mlt(fields, rules, setup);
}

}  // namespace

Transport describe() {
  return {"dlcp", "as mlt, with rates by marks and a tighter bound for parameters",
          set_mlt_defaults, read};
}

}  // namespace sgdsim::transport::dlcp
