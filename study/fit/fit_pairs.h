// `sgdsim fit --from-collective pairs`: a message between every two ranks, as sgdsim-calibrate
// --probe pairs measures it, becomes a cluster with a link of its own for each pair and direction.
//
// A line of start-up and time per byte is fitted to each pair. The cluster is an explicit graph
// whose workers are joined directly, so that a pair costs what was measured, and nothing else does.
//
// When it is wrong: links that pairs share (a bus, a socket) are not shared in the cluster, and
// where both directions of a pair slow each other down a warning says by how much.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "models/link/fit.h"
#include "sim/core/json.h"
#include "study/fit/fit_question.h"

namespace sgdsim {

struct MeasuredPair {
  int from = 0;
  int to = 0;
  double alpha_us = 0;  // of its line
  double GBps = 0;
  double rms = 0;  // of the line's relative errors
  // What the largest message takes with another the other way, over what it takes alone.
  std::optional<double> both_ways;
};

struct PairsFit {
  std::string name;
  std::vector<std::string> sources;
  std::vector<std::string> notes;
  int ranks = 0;
  std::vector<MeasuredPair> pairs;
  PredictionError errors;
  Json file;  // the cluster
};

bool is_of_pairs(const FitArguments& arguments);
PairsFit fit_pairs(const FitArguments& arguments);
Fields fields_of(const MeasuredPair& one);
// sgdsim/pairs-fit/1.
Json to_json(const PairsFit& fit);
Json schema_of_pairs_fits();
void print(std::ostream& out, const PairsFit& fit);

}  // namespace sgdsim
