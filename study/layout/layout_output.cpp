// Tables of layouts, for people.
#include "study/layout/layout_output.h"

#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "models/training/near_layouts.h"
#include "sim/core/quantity.h"
#include "study/goodput/spans.h"
#include "study/layout/layout_end.h"
#include "study/layout/layout_files.h"
#include "study/layout/step_residuals.h"
#include "study/layout/told_sites.h"
#include "study/table.h"
#include "study/transport_choice.h"
#include "study/wire_use.h"

namespace sgdsim {
namespace {

void print_load(std::ostream& out, const LayoutLine& line) {
  if (!line.load) return;
  const double step_s = line.step.time.s();
  const double inside = line.load->inside_s / step_s;
  const double across = line.load->across_s / step_s;
  if (inside <= 0 && across <= 0) return;
  out << "Links carry bytes: inside a node " << part_text(inside) << " of the step, to other nodes "
      << part_text(across) << "; the busiest are "
      << (inside >= across ? "those inside" : "those to other nodes") << '\n';
}

// What of this part lies under something else; nothing where the part is never hidden.
std::optional<double> hidden_s(const HybridStep& step, double StepParts::*part) {
  for (const HiddenPart& one : hidden_parts)
    if (one.part == part) return step.hidden.*one.hidden;
  return {};
}

// What a rank waits for when it is played is one part; the closed form knows what is hidden.
void print_parts(std::ostream& out, const HybridStep& step, Fidelity fidelity) {
  const bool is_formula = fidelity == Fidelity::closed_form;
  std::vector<std::string> head = {"part", "time", "of the step"};
  if (is_formula) head.emplace_back("hidden");
  Table table(head);
  const double all = step.parts.all();
  for (const NamedPart& part : step_parts()) {
    const double seconds = step.parts.*part.member;
    const std::optional<double> hidden = hidden_s(step, part.member);
    if (seconds <= 0 && hidden.value_or(0) <= 0) continue;
    const bool is_waiting = fidelity == Fidelity::message && part.member == &StepParts::bubble;
    std::vector<std::string> cells = {is_waiting ? "waiting for other ranks" : part.name,
                                      short_duration(seconds * 1e6, 4),
                                      rounded(100 * seconds / all, 3) + " %"};
    if (is_formula) cells.push_back(hidden ? short_duration(*hidden * 1e6, 4) : "");
    table.add(std::move(cells));
  }
  table.print(out);
}

std::string of_interval(const std::string& low, const std::string& high) {
  return " (" + low + " to " + high + ")";
}

std::string end_text(const TrainingEnd& end) {
  std::string text = days_text(end.days) + ", " + part_text(end.productive) +
                     " of it productive, saved every " + span_text(end.interval_s) + " of work";
  if (end.stall_s > 0) text += " (each save stops it for " + span_text(end.stall_s) + ")";
  return text + beyond_days(end);
}

// Small models are nearly always under-predicted: the interval need not hold the prediction.
void print_first(std::ostream& out, const LayoutQuestion& question, const LayoutAnswer& answer) {
  const LayoutLine& line = answer.best.front();
  const FoundLayout& one = line.found;
  const LayoutRates rates = rates_of(question, line.found);
  const StepSize size = question.step_size();
  const bool has_interval = question.has_interval();
  const StepResiduals& residuals = residuals_of(question);
  const double low_us = residuals.low * one.time.us();
  const double high_us = residuals.high * one.time.us();
  Table table({answer.is_given ? "layout" : "fastest layout", to_text(one.layout)});
  table.add({"step",
             short_duration(one.time.us(), 5) +
                 (has_interval ? of_interval(short_duration(low_us, 4), short_duration(high_us, 4))
                               : "")});
  table.add({"speed of a GPU", rounded(rates.tokens_per_s) + " tokens/s, " +
                                   rounded(rates.flops / 1e12) + " TFLOP/s"});
  table.add(
      {"MFU", part_text(one.mfu) + (has_interval ? of_interval(part_text(one.mfu / residuals.high),
                                                               part_text(one.mfu / residuals.low))
                                                 : "")});
  table.add({"memory of a GPU", gib_text(one.memory_B) + " of " + to_text(question.space.memory) +
                                    ", with " + to_text(question.space.reserve) +
                                    " in reserve: fits"});
  if (one.layout.offload.is_used())
    table.add(
        {"memory of its host",
         gib_text(largest_memory(question.model, one.layout, question.space.sequence).host_B) +
             " for each GPU"});
  if (rates.days)
    table.add({tokens_text(size.tokens) + " tokens",
               days_text(*rates.days) +
                   (has_interval ? of_interval(days_text(days_of(size, low_us)),
                                               days_text(days_of(size, high_us)))
                                 : "") +
                   ", " + gpu_hours_text(*rates.gpu_hours) + " GPU-hours, " +
                   std::to_string(size.steps()) + " steps"});
  if (rates.end) table.add({"with failures", end_text(*rates.end)});
  table.print(out, 2);
  if (has_interval)
    out << "In brackets: where nine of ten such steps would be, each source counted alike, by\n"
        << text_of(residuals) << '\n';
}

// A mark where a layout goes beyond what was published.
void add_line(Table& table, const LayoutQuestion& question, const std::string& name,
              const LayoutLine& line) {
  const LayoutRates rates = rates_of(question, line.found);
  std::vector<std::string> cells = {
      name,
      to_text(line.found.layout) + (beyond(question, line).empty() ? "" : " *"),
      short_duration(line.found.time.us(), 5),
      rounded(rates.tokens_per_s),
      part_text(line.found.mfu),
      gib_text(line.found.memory_B)};
  if (rates.days) cells.push_back(days_text(*rates.days));
  if (rates.end) cells.push_back(days_text(rates.end->days));
  cells.push_back(line.found.limit);
  table.add(std::move(cells));
}

std::string changed_text(const Layout& near, const LayoutLine& line) {
  const std::string words = changed_words(near, line.found.layout);
  return words.empty() ? "nothing" : words;
}

void print_lines(std::ostream& out, const LayoutQuestion& question, const LayoutAnswer& answer) {
  const auto& near = question.space.near;
  std::vector<std::string> head = {
      near ? "changed" : "kind", "layout", "step", "tokens/s/GPU", "MFU", "memory"};
  if (question.tokens > 0) head.push_back(tokens_text(question.tokens) + " tokens");
  if (question.training) head.emplace_back("with failures");
  head.emplace_back("largest part");
  Table table(head);
  bool is_marked = false;
  for (const LayoutLine& line : answer.best) {
    add_line(table, question, near ? changed_text(*near, line) : family_of(line.found.layout),
             line);
    is_marked = is_marked || !beyond(question, line).empty();
  }
  for (const auto& [program, line] : answer.programs) {
    add_line(table, question, "by " + std::string(title_of(program)), line);
    is_marked = is_marked || !beyond(question, line).empty();
  }
  out << '\n';
  table.print(out, 2);
  if (is_marked) out << "* beyond published runs: no prediction was compared with such a step\n";
}

void print_range(std::ostream& out, const LayoutQuestion& question, Duration fastest,
                 Duration slowest) {
  if (question.play.iterations > 1)
    out << "\nThe mean of " << question.play.iterations << " steps, which took from "
        << short_duration(fastest.us(), 5) << " to " << short_duration(slowest.us(), 5) << '\n';
}

const char* what_is_played(const LayoutQuestion& question) {
  if (question.meets_at_ports())
    return "Every GPU is simulated; all messages share the ports of GPUs, nodes and racks";
  switch (question.fidelity) {
    case Fidelity::message:
      return "Passes and sends are simulated; collectives are of the closed form";
    case Fidelity::flow:
      return "Every GPU is simulated; all messages share the wires";
    case Fidelity::packet:
      return "Every GPU is simulated; all messages go as packets";
    default:
      return "Times are of the closed form";
  }
}

std::string algorithms_text(const AlgorithmChoice& algorithms) {
  std::string text;
  for (const Operation operation : operations_of_layouts)
    text += (text.empty() ? "" : ", ") + std::string(name_of(operation)) + " by " +
            algorithms.name_of(operation);
  return text;
}

void print_margins(std::ostream& out, const std::vector<Margin>& margins) {
  constexpr double percent = 100;
  out << '\n';
  for (const Margin& one : margins)
    if (one.left)
      out << "Flips when " << one.says << " reaches less than " << rounded(percent * *one.left, 3)
          << " %: then " << one.layout << " is faster\n";
    else
      out << "Does not flip while " << one.says << " reaches 5 % or more\n";
  if (margins.empty()) out << "No other layout fits: nothing to flip to\n";
}

void print_documents(std::ostream& out, const PackedDocuments& documents,
                     const LayoutAnswer& answer) {
  out << "A sequence has " << rounded(documents.pieces(), 4) << " documents or parts of them, and "
      << part_text(documents.pairs_part())
      << " of the pairs of one; the replica with most attention has "
      << rounded(documents.slowest(answer.best.front().found.layout.replicas), 4)
      << " times the mean\n";
}

// Of the last step; of many ranks the first and the last ones.
void print_ranks(std::ostream& out, const PlayedStep& played) {
  const auto& ranks = played.pipeline.ranks;
  if (ranks.size() == 1) return;
  out << "\nRanks of the pipeline\n\n";
  Table table({"rank", "passes", "waiting", "replicas", "optimizer", "in flight"});
  constexpr std::size_t most = 32;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (ranks.size() > most && r == most / 2) {
      table.add({"...", "", "", "", "", ""});
      r = ranks.size() - most / 2;
    }
    const RankPlayed& rank = ranks[r];
    table.add({std::to_string(r), short_duration(rank.busy.us(), 4),
               short_duration(rank.waiting.us(), 4), short_duration(rank.exchange.us(), 4),
               short_duration(rank.optimizer.us(), 4), std::to_string(rank.most_in_flight)});
  }
  table.print(out);
}

}  // namespace

const StepResiduals& residuals_of(const LayoutQuestion& question) {
  return step_residuals(question.plays(), class_of(parameters_of(question.model).total,
                                                   question.model.experts.has_value()));
}

std::vector<std::string> beyond(const LayoutQuestion& question, const LayoutLine& line) {
  return beyond_published(question.model, line.found.layout, question.space.sequence);
}

LayoutRates rates_of(const LayoutQuestion& question, const FoundLayout& layout) {
  LayoutRates rates = rates_of(question.step_size(), layout.time, layout.mfu,
                               question.gpu.peak(question.precision));
  if (question.training) rates.end = end_of(question, layout);
  return rates;
}

// Of the step of the first layout, what the GPU's file adds to each layer and pass.
std::vector<std::string> notes_on_gaps(const LayoutQuestion& question, const LayoutLine& line) {
  constexpr double worth_saying = 0.1;
  const Layout& layout = line.found.layout;
  const StageLayers held = layers_of_stage(question.model, layout, line.step.slowest_stage);
  const auto again = std::accumulate(held.again.begin(), held.again.end(), int64_t{0});
  const auto passes = static_cast<double>((2 * held.layers() + again) * layout.micro_batches);
  const double part = passes * question.gpu.layer.s() / line.step.time.s();
  if (part < worth_saying) return {};
  return {
      part_text(part, 2) + " of the step are the " + to_text(question.gpu.layer) +
      " that the file of " + question.gpu.name +
      " adds to each layer and pass, fitted on measured steps: a program with fewer gaps between "
      "kernels takes less; `layer` of the file sets it"};
}

std::vector<std::string> warnings_of(const LayoutQuestion& question, const LayoutAnswer& answer) {
  std::vector<std::string> all = question.notes;
  all.insert(all.end(), answer.notes.begin(), answer.notes.end());
  for (const LayoutLine& line : answer.best)
    if (line.on_wires && line.on_wires->least_delivered < 1)
      all.push_back(to_text(line.found.layout) + ": " +
                    delivered_warning(line.on_wires->least_delivered));
  if (question.meets_at_ports())
    all.emplace_back(
        "beside others, GPUs send their messages and share ports; alone their collectives have "
        "prices at fidelity message: compare with --fidelity flow, with and without the others");
  const auto of_model = notes_on(question.model, question.space.sequence);
  all.insert(all.end(), of_model.begin(), of_model.end());
  if (question.space.sites) {
    const auto of_sites = notes_on(*question.space.sites);
    all.insert(all.end(), of_sites.begin(), of_sites.end());
  }
  // They are about what formulas leave out.
  const auto& notes = question.cluster.cluster.notes;
  if (!question.sends()) all.insert(all.end(), notes.begin(), notes.end());
  const auto of_gaps = notes_on_gaps(question, answer.best.front());
  all.insert(all.end(), of_gaps.begin(), of_gaps.end());
  const std::vector<std::string> why = beyond(question, answer.best.front());
  for (std::size_t i = 0; i < why.size(); ++i)
    all.push_back((answer.is_given ? "this layout" : "the fastest layout") +
                  std::string(" goes beyond published runs: ") + why[i]);
  return all;
}

void print(std::ostream& out, const LayoutQuestion& question, const LayoutAnswer& answer) {
  const LayoutSpace& space = question.space;
  out << question.model.name << " on " << question.step_size().gpus << " x " << question.gpu.name
      << " (" << question.cluster.cluster.name << "), " << name_of(question.precision) << ", "
      << question.step_size().batch
      << (question.step_size().batch == 1 ? " sequence of " : " sequences of ") << space.sequence
      << " a step (" << tokens_text(question.step_size().of_step()) << " tokens)\n"
      << what_is_played(question) << "; FLOP count causal attention halved\n";
  if (!question.algorithms.is_usual())
    out << "Collectives: " << algorithms_text(question.algorithms) << '\n';
  if (const auto sites = told_sites(question, answer)) out << text_of(*sites) << '\n';
  if (space.documents) print_documents(out, *space.documents, answer);
  if (question.reach.any()) out << reach_text(question.reach) << '\n';
  if (question.assumes_interference()) out << interference_text() << '\n';
  if (!answer.is_given)
    out << answer.candidates << " layouts "
        << (space.near ? "near " + to_text(*space.near) + " " : "")
        << (space.program == TrainingProgram::any
                ? ""
                : "of " + std::string(title_of(space.program)) + " ")
        << "divide, " << answer.fitting << " of them fit into " << to_text(space.memory) << " less "
        << to_text(space.reserve) << '\n';
  if (!answer.is_given && answer.by_passes > 0)
    out << "The " << answer.by_passes
        << " that are fastest in closed form were simulated by passes, "
        << "and " << answer.played
        << (question.meets_at_ports() ? " of them at ports\n" : " of them on wires\n");
  else if (!answer.is_given && answer.played > 0)
    out << answer.played << " of them were simulated: those that are fastest in closed form\n";
  out << '\n';
  print_first(out, question, answer);
  if (!answer.is_given) print_lines(out, question, answer);
  out << "\nThe step of " << (answer.is_given ? "this layout" : "the fastest one") << "\n\n";
  const LayoutLine& first = answer.best.front();
  print_parts(out, first.step, question.fidelity);
  print_load(out, first);
  if (answer.margins) print_margins(out, *answer.margins);
  if (answer.breaks) print(out, *answer.breaks);
  if (first.played) {
    print_range(out, question, first.played->fastest, first.played->slowest);
    print_ranks(out, *first.played);
  }
  if (first.on_wires) {
    print_range(out, question, first.on_wires->fastest, first.on_wires->slowest);
    out << "\n"
        << first.on_wires->messages << " messages of " << rounded(first.on_wires->wire_B)
        << " B together; GPU " << first.on_wires->last_gpu << " ends last\n";
    if (first.on_wires->classes > 0)
      out << first.on_wires->classes << " GPUs stand for all, which are alike"
          << (first.on_wires->equal_chunks ? " but for a byte of some chunks\n" : "\n");
    if (first.on_wires->followers > 0)
      out << first.on_wires->followed << " GPUs stand for " << first.on_wires->followers
          << " until replicas exchange gradients, which are alike until then"
          << (first.on_wires->equal_chunks ? " but for a byte of some chunks\n" : "\n");
    if (!first.on_wires->wires.kinds.empty()) {
      out << '\n';
      print_use(out, first.on_wires->wires);
    }
  }
}

}  // namespace sgdsim
