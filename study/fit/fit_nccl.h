// `sgdsim fit --from-collective nccl`: the constants of NCCL's tuning model from logs of its
// collectives, so that a log of two nodes says what sixteen take.
//
// The cluster says what the logs do not: GPUs of a node, network cards and rates, from which NCCL's
// model has its channels. What is written is that cluster with the constants in its field `nccl`.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "models/link/nccl_fit.h"
#include "sim/core/json.h"
#include "sim/net/nccl_constants.h"
#include "study/fit/fit_question.h"

namespace sgdsim {

// A series and, point by point, what NCCL's model takes for it.
struct NcclLog {
  Series series;
  int nodes = 1;
  std::vector<NcclFitRow> rows;
  std::vector<NcclRow> chosen;
  std::vector<bool> is_held;
  PredictionError errors;
};

struct NcclHeldOut {
  std::string by;  // "sizes" or "ranks"
  std::string sentence;
  PredictionError errors;
};

struct NcclLogFit {
  std::string name;
  std::vector<std::string> sources;
  std::vector<std::string> notes;
  std::vector<NcclLog> logs;
  NcclFit fit;
  NcclSizes sizes;
  PredictionError errors;
  PredictionError own_errors;  // of NCCL's own constants
  std::optional<NcclHeldOut> held_out;
  Json file;  // the cluster with its constants
};

// "Tree/LL, Ring/Simple from 4 MiB".
std::string pairs_text(const NcclLog& log);

bool is_of_nccl(const FitArguments& arguments);
NcclLogFit fit_nccl_logs(const FitArguments& arguments);
Fields fields_of(const NcclEstimate& one);
Fields fields_of(const NcclLog& log);
// sgdsim/nccl-fit/1.
Json to_json(const NcclLogFit& fit);
Json schema_of_nccl_fits();
void print(std::ostream& out, const NcclLogFit& fit);

}  // namespace sgdsim
