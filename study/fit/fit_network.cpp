// The step is looked for where MPI sends, or where it is asked for.
#include "study/fit/fit_network.h"

#include "models/link/rendezvous.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "sim/net/cluster.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr const char* option = "--rendezvous";

bool is_asked(const FitArguments& arguments) {
  return !arguments.rendezvous.empty() && arguments.rendezvous != "off";
}
bool is_looked_for(const FitArguments& arguments) {
  return arguments.rendezvous == "auto" ||
         (arguments.rendezvous.empty() && arguments.network == "mpi");
}
std::string size_text(double size_B) { return to_text(Bytes(static_cast<int64_t>(size_B))); }

}  // namespace

void check_network(const FitArguments& arguments) {
  if (!arguments.network.empty())
    named_in(network_kinds, "network", arguments.network, "--network");
  if (is_asked(arguments) && !is_looked_for(arguments)) parse_bytes(arguments.rendezvous, option);
}

double acknowledged_on(const FitArguments& arguments) {
  if (arguments.network.empty()) return 0;
  const NetworkKind kind = named_in(network_kinds, "network", arguments.network, "--network");
  return sends_over_tcp(kind) ? usual_acknowledged : 0;
}

void apply_rendezvous(const FitArguments& arguments, int pieces, Fitted& one, FitAnswer& answer) {
  const bool is_open = is_looked_for(arguments);
  if (!is_asked(arguments) && !is_open) return;
  const std::vector<FitRow> rows = all_rows(one.inputs);
  if (!are_one_way(rows)) {
    if (is_asked(arguments))
      throw InputError(option,
                       "only times of one message on its way tell: -a linear of two ranks, or a "
                       "point-to-point test");
    answer.notes.emplace_back(
        "whether large messages wait for an answer (rendezvous) is not told by these rows: times "
        "of one message on its way tell");
    return;
  }
  if (is_open) {
    const auto found = find_rendezvous(rows, pieces);
    if (!found) return;
    one.rendezvous_B = found->from_B;
    answer.notes.push_back("messages of " + size_text(found->from_B) +
                           " or more wait for an answer (rendezvous): those of " +
                           size_text(found->eager_B) + " do not, those of " +
                           size_text(found->waits_B) + " do; --rendezvous SIZE or off says it");
  } else {
    one.rendezvous_B = static_cast<double>(parse_bytes(arguments.rendezvous, option).count());
  }
  for (FitInput& input : one.inputs)
    input.rows = with_rendezvous(std::move(input.rows), *one.rendezvous_B);
  // Waits of three start-ups would tell a start from alpha, which one-way times cannot.
  for (FitInput& input : one.inputs)
    for (FitRow& row : input.rows) row.starts = 0;
}

}  // namespace sgdsim
