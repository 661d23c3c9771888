// What `sgdsim layout` found, for people and for programs.
#pragma once

#include <array>
#include <iosfwd>
#include <optional>

#include "models/collective/simulate.h"
#include "models/training/layout_search.h"
#include "models/training/link_load.h"
#include "models/training/played_step.h"
#include "models/training/step_on_wires.h"
#include "study/layout/layout_rates.h"
#include "study/layout/usual_reach.h"
#include "study/need/breaks.h"
#include "study/traffic/traffic_file.h"
#include "topologies/cluster_file.h"

namespace sgdsim {

struct StepResiduals;

inline constexpr std::array<Operation, 4> operations_of_layouts{
    Operation::allreduce, Operation::reduce_scatter, Operation::allgather, Operation::alltoall};

// Everything that is asked, read and checked.
struct LayoutQuestion {
  Transformer model;
  ClusterFile cluster;
  Gpu gpu;
  Precision precision = Precision::bf16;
  LayoutSpace space = {};
  AlgorithmChoice algorithms = {};
  std::vector<std::string> notes = {};  // of reading the layout
  Fidelity fidelity = Fidelity::closed_form;
  int64_t tokens = 0;  // of the whole training; 0: not asked
  std::optional<FailingTraining> training = {};
  LayoutPlay play = {};
  StepWires wires = {};  // where GPUs send messages
  TrafficFile traffic = {};
  std::string transport = {};  // on wires; empty: messages share them evenly
  // The cluster as its file has it, with settings, for questions about others like it.
  Json cluster_json = {};
  UsualReach reach = {};  // that was written into it
  std::string cluster_place = {};
  bool asks_margins = false;
  bool plays() const { return fidelity != Fidelity::closed_form; }
  // Every GPU sends its own messages: on wires, or at ports beside others.
  bool sends() const { return is_on_wires(fidelity) || meets_at_ports(); }
  bool meets_at_ports() const { return !is_on_wires(fidelity) && !traffic.flows.empty(); }
  // No published step was compared with steps on shared wires.
  bool has_interval() const { return !sends(); }
  bool assumes_interference() const { return space.gpus > 1 && gpu.assumes_interference; }
  int64_t sites() const { return space.sites ? space.sites->sites : 1; }
  // Of all sites together.
  StepSize step_size() const {
    return {space.gpus * sites(), space.batch * sites(), space.sequence, tokens};
  }
  TrainingStep step_of(const Layout& layout) const {
    return {
        model, layout, space.sequence, gpu, precision, space.documents.get(), space.all_sites()};
  }
};

struct LayoutLine {
  FoundLayout found;
  HybridStep step;
  std::optional<PlayedStep> played = {};     // fidelity message, with nobody beside it
  std::optional<StepOnWires> on_wires = {};  // where GPUs send messages
  // Closed form, where collectives are the usual ones: how long links carry bytes.
  std::optional<GroupTimes::Busy> load = {};
};

// At this part of the rate of a kind of link another layout is as fast as the fastest one.
struct Margin {
  std::string part;  // "nic"
  std::string says;
  std::optional<double> left;  // nothing: down to a twentieth none is
  std::string layout;          // the other one
};
Fields fields_of(const Margin& margin);

// What lies under something else, by the part of the step that it would lengthen.
struct HiddenPart {
  const char* key;
  const char* says;
  double HiddenParts::*hidden;
  double StepParts::*part;
  bool is_rare = false;  // told only where there is some
};
inline constexpr std::array<HiddenPart, 6> hidden_parts{
    {{"context_us", "of context parallelism, under attention", &HiddenParts::context,
      &StepParts::context},
     {"expert_us", "of experts, under the other pass of a pair or shared experts",
      &HiddenParts::expert, &StepParts::expert},
     {"sends_us", "between stages, under other chunks", &HiddenParts::sends, &StepParts::sends},
     {"data_us", "of replicas, under passes", &HiddenParts::data, &StepParts::data},
     {"offload_us",
      "copies of activations to the host and back, under passes; where there are some",
      &HiddenParts::offload, &StepParts::offload, true},
     {"sites_us", "between sites, under steps; where there are some", &HiddenParts::sites,
      &StepParts::sites, true}}};

struct LayoutAnswer {
  int64_t candidates = 0;
  int64_t fitting = 0;
  int64_t by_passes = 0;  // played at fidelity message, before some were played on wires
  int64_t played = 0;
  std::vector<std::string> notes = {};  // of layouts that could not be played
  bool is_given = false;                // the layout was; else it was looked for
  std::vector<LayoutLine> best;
  // The fastest ones that training programs can do, where nothing narrower was asked.
  std::vector<std::pair<TrainingProgram, LayoutLine>> programs = {};
  std::optional<Breaks> breaks = {};                // of the first one, if that was asked
  std::optional<std::vector<Margin>> margins = {};  // the same
};

LayoutRates rates_of(const LayoutQuestion& question, const FoundLayout& layout);
std::vector<std::string> warnings_of(const LayoutQuestion& question, const LayoutAnswer& answer);
// Between what parts of its time nine of ten comparable published steps would be.
const StepResiduals& residuals_of(const LayoutQuestion& question);
std::vector<std::string> beyond(const LayoutQuestion& question, const LayoutLine& line);
// sgdsim/layouts/1.
Json to_json(const LayoutQuestion& question, const LayoutAnswer& answer);
Json schema_of_layout_answers();
void print(std::ostream& out, const LayoutQuestion& question, const LayoutAnswer& answer);

}  // namespace sgdsim
