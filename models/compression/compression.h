// Sending less: what a group of gradients becomes before it is exchanged.
//
// A compression is one file and one line in registry.h. It says what is exchanged in place of the
// gradients, and what the worker computes before and after. It says nothing about when: every
// strategy and every collective combine with it.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective/collective.h"
#include "models/learning/compressing.h"
#include "models/server/tensor_part.h"
#include "sim/core/part.h"
#include "sim/work/trace.h"

namespace sgdsim {

// The gradients of one message. Planners ask about sizes that belong to no layers yet.
struct Group {
  Bytes size;
  int first_layer = -1;
  int last_layer = -1;
  int first_piece = 0;  // of the layer, where it is cut into pieces
  Bytes piece = {};     // their size; 0: it is not
};

// One collective; `size` as collectives count it: an all-gather's is what a worker ends up with.
struct Transfer {
  Operation operation = Operation::allreduce;
  Bytes size;
  Folding folding;
  bool fractional = false;  // chunks of exactly size / P
  TensorPart part = {};
};

struct Encoded {
  std::array<Transfer, 2> transfers;  // one after the other
  int transfer_count = 0;
  Duration compress;     // on the worker's compute stream, before the exchange
  Duration decompress;   // there, before the update
  Duration local;        // on every worker, at the start of the exchange: copies between device and
                         // host, decoding that belongs to the exchange
  double elements = 0;   // of the group
  double sent = 0;       // of them, by each worker
  double delivered = 0;  // of the sum, that can be updated by it, at most
};

// `density` of the elements are sent for `iterations` measured ones; the last step has no end.
struct DensityStep {
  double density = 1;
  int iterations = 0;
};
double density_at(const std::vector<DensityStep>& steps, int iteration);
// The number of the step that holds; 0 if there is none.
std::size_t density_step_at(const std::vector<DensityStep>& steps, int iteration);

struct Compression {
  std::string name;
  Operation operation = Operation::allreduce;
  std::string algorithm;               // its collective; empty: that of the experiment
  std::vector<DensityStep> densities;  // empty: there is no choice of density
  bool is_by_layer = false;            // what is sent of some bytes depends on whose they are
  std::function<Encoded(const Group&, double density)> encode;
  learning::Compressing numbers;   // what it does to them
  std::vector<std::string> notes;  // what a result must repeat as a warning
};

struct CompressionContext {
  const Trace& trace;
  int workers = 1;
  TeamCost worst;  // pair of workers
};

struct CompressionKind {
  std::string_view name;
  std::string_view summary;
  PartOptions (*options)();
  Compression (*read)(Object& fields, const CompressionContext& context);
};

Field feedback_field(bool& feedback);
// Takes `name` and the compression's own fields from the object.
Compression read_compression(Object& fields, const CompressionContext& context);
// `general`: what a compression may have besides, as properties.
Json schema_of_compressions(const Json& general);

}  // namespace sgdsim
