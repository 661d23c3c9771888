// From notes and results to sentences.
#include "study/step/warnings.h"

#include <algorithm>
#include <map>

#include "models/collective/nccl_box.h"
#include "models/collective/network_defaults.h"
#include "models/collective/registry.h"
#include "models/collective/simulate.h"
#include "sim/core/decimal.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_sentences = 10;  // a sweep must not bury its results

std::string extrapolation_of(const MessageCost& cost, const Transfer& transfer,
                             const Cluster& cluster) {
  if (cost.is_algorithm() && cost.job().size() > 1) {
    std::optional<Network> changed;
    return beyond_valid(cost.program_of(transfer, changed), cluster);
  }
  if (cost.covers(transfer.size)) return "";
  return "an exchange of " + to_text(transfer.size) +
         " is beyond the curve: an extrapolation from its last octave";
}

// Whether messages share what there is with others': wires, or ports.
bool meets(const Experiment& experiment) {
  return is_on_wires(experiment.fidelity) || experiment.meets_others_at_ports();
}

// Exchanges whose cost has no messages, and what was played for them.
void add_stand_ins(const Experiment& experiment, const StepResult& result,
                   std::vector<std::string>& warnings) {
  if (!meets(experiment)) return;  // only there are messages played for a formula
  const MessageCost cost = experiment.question().cost;
  std::map<std::string, std::size_t> played;
  for (const MessageRecord& message : result.messages) {
    const Encoded encoded = cost.encoded({message.size, message.first_layer, message.last_layer});
    for (int i = 0; i < encoded.transfer_count; ++i)
      ++played[cost.stand_in_of(encoded.transfers[static_cast<std::size_t>(i)])];
  }
  played.erase("");
  if (played.empty()) return;
  std::string text;
  for (const auto& [stand_in, count] : played)
    text += (text.empty() ? "" : ", ") + stand_in + " (" + std::to_string(count) +
            (count == 1 ? " exchange)" : " exchanges)");
  std::string warning = "NCCL's model is a formula, without messages: at fidelity " +
                        std::string(name_of(experiment.fidelity)) +
                        " the algorithms that it chooses are simulated: " + text;
  const int cards = experiment.cluster.cards_per_node();
  if (experiment.cluster.workers_per_node > 1 && cards > 1 && !has_rails(experiment.cluster))
    warning += "; each takes one way through a node, where NCCL has channels for all " +
               std::to_string(cards) + " network cards";
  warnings.push_back(std::move(warning));
}

// Exchanges of which only the time is known, where others' messages share wires.
void add_priced(const Experiment& experiment, const StepResult& result,
                std::vector<std::string>& warnings) {
  if (!meets(experiment) || result.messages.empty()) return;
  if (experiment.question().cost.plays()) return;
  warnings.push_back(experiment.collective + " is only a time, without messages: at fidelity " +
                     std::string(name_of(experiment.fidelity)) +
                     " its exchanges take that time, whatever else is on the " +
                     (is_on_wires(experiment.fidelity) ? "wires" : "ports"));
}

// Workers behind one card take turns there, which servers know on wires only.
void add_shared_cards(const Experiment& experiment, std::vector<std::string>& warnings) {
  const Cluster& cluster = experiment.cluster;
  const bool share = cluster.workers_per_node > cluster.cards_per_node() &&
                     cluster.workers_per_node < cluster.network.workers();
  if (experiment.cost.servers() == nullptr || !share || meets(experiment)) return;
  warnings.push_back("the " + std::to_string(cluster.workers_per_node) +
                     " workers of a node have a port each here, and share " +
                     std::to_string(cluster.cards_per_node()) +
                     (cluster.cards_per_node() == 1 ? " network card" : " network cards") +
                     ": pushes and pulls take longer; --fidelity flow counts that");
}

// Alone, messages of workers take turns at ports; beside others they share them.
void add_other_ports(const Experiment& experiment, std::vector<std::string>& warnings) {
  if (is_on_wires(experiment.fidelity) || !experiment.meets_others_at_ports()) return;
  const bool has_servers = experiment.cost.servers() != nullptr;
  const bool shares_anyway =
      !has_servers && experiment.cost.is_algorithm() && experiment.cost.job().options.shares_ports;
  if (shares_anyway) return;
  warnings.push_back(
      std::string("beside others, messages share the ports of workers; alone they take turns at "
                  "fidelity message, which may take longer or shorter by itself: compare with ") +
      (has_servers ? "--fidelity flow, with and without the others" : "--ports shared"));
}

// Of servers the time of one message behind one of its like is known; a small one beside large ones
// makes workers come otherwise.
void add_unlike_to_servers(const Experiment& experiment, const StepResult& result,
                           std::vector<std::string>& warnings) {
  constexpr int64_t alike = 4;
  const ParameterServers* servers = experiment.cost.servers();
  const std::vector<MessageRecord>& sent = result.messages;
  if (servers == nullptr || servers->barrier || meets(experiment) || sent.size() < 2) return;
  const bool is_formula = experiment.fidelity == Fidelity::closed_form;
  if (!is_formula && !starts_in_flight(experiment.cluster.kind)) return;
  const auto [least, most] = std::minmax_element(
      sent.begin(), sent.end(),
      [](const MessageRecord& a, const MessageRecord& b) { return a.size < b.size; });
  if (most->size.count() <= alike * least->size.count()) return;
  warnings.push_back(
      "messages to the servers differ in size, where the times of messages alike are known: such "
      "steps were up to a quarter shorter and a third longer than packets; " +
      std::string(is_formula && !starts_in_flight(experiment.cluster.kind)
                      ? "--fidelity message counts it"
                      : "--fidelity flow or packet counts it"));
}

// Formulas that no program reaches, or that know less than messages do.
void add_notes_of_formula(const Experiment& experiment, std::vector<std::string>& warnings) {
  if (experiment.fidelity != Fidelity::closed_form || !experiment.cost.is_algorithm()) return;
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.name == experiment.collective)
      for (std::string& note :
           notes_of_formula(algorithm, experiment.cost.job(), experiment.cluster.network))
        warnings.push_back(std::move(note));
}

// Exchanges that were never measured: beyond the curve, or beyond the calibrated cluster.
void add_extrapolations(const Experiment& experiment, const StepResult& result,
                        std::vector<std::string>& warnings) {
  const ValidSizes any;
  const ValidSizes& valid = experiment.cluster.valid;
  if (experiment.cost.is_algorithm() && valid.from == any.from && valid.to == any.to) return;
  const MessageCost cost = experiment.question().cost;
  std::string example;
  std::size_t beyond = 0;
  for (const MessageRecord& message : result.messages) {
    const Encoded encoded = cost.encoded({message.size, message.first_layer, message.last_layer});
    std::string why;
    for (int i = 0; i < encoded.transfer_count && why.empty(); ++i)
      why = extrapolation_of(cost, encoded.transfers[static_cast<std::size_t>(i)],
                             experiment.cluster);
    if (why.empty()) continue;
    if (beyond++ == 0) example = why;
  }
  if (beyond > 0)
    warnings.push_back(std::to_string(beyond) + " of " + std::to_string(result.messages.size()) +
                       " exchanges: " + example);
}

}  // namespace

std::vector<std::string> warnings_of(const Experiment& experiment, const StepResult& result) {
  std::vector<std::string> warnings;
  // Of contention that is not modelled, which it is at fidelity flow.
  static const std::vector<std::string> none;
  const bool flows = is_on_wires(experiment.fidelity);
  for (const auto* part : {&experiment.trace.notes, &experiment.notes,
                           flows ? &none : &experiment.cluster.notes, &result.warnings})
    warnings.insert(warnings.end(), part->begin(), part->end());
  add_stand_ins(experiment, result, warnings);
  add_priced(experiment, result, warnings);
  add_shared_cards(experiment, warnings);
  add_other_ports(experiment, warnings);
  add_notes_of_formula(experiment, warnings);
  add_unlike_to_servers(experiment, result, warnings);
  add_extrapolations(experiment, result, warnings);
  if (result.mean.overlapped > Duration())
    if (const std::optional<double> factor = experiment.unsaid_interference())
      warnings.push_back("computing is not slowed down while exchanges run; --set interference=" +
                         number_text(*factor) +
                         " allows for the multiprocessors that NCCL's kernels hold (published "
                         "slow-downs: 1.19 in the mean, 1.4 at most)");
  if (experiment.convergence) {
    const std::vector<std::string> unsaid = experiment.convergence->warnings_at(result.quality);
    warnings.insert(warnings.end(), unsaid.begin(), unsaid.end());
  }
  return warnings;
}

void WarningTally::add(const std::vector<std::string>& warnings, const std::string& name) {
  ++results_;
  for (const std::string& text : warnings) {
    const auto there = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.text == text; });
    if (there != entries_.end())
      ++there->count;
    else if (entries_.size() < most_sentences)
      entries_.push_back({text, name, 1});
    else
      ++left_out_;
  }
}

std::vector<std::string> WarningTally::lines(const std::string& results) const {
  std::vector<std::string> all;
  for (const Entry& entry : entries_) {
    std::string line;
    if (entry.count < results_)
      line = std::to_string(entry.count) + " of " + std::to_string(results_) + " " + results +
             " (first: " + entry.first + "): ";
    all.push_back(line + entry.text);
  }
  if (left_out_ > 0) all.push_back(std::to_string(left_out_) + " more warnings differ from these");
  return all;
}

void WarningTally::print(std::ostream& log, const std::string& results) const {
  for (const std::string& line : lines(results)) log << "sgdsim: warning: " << line << '\n';
}

}  // namespace sgdsim
