// Tables and JSON of layouts.
#include "app/layout/layout_output.h"

#include "app/layout/layout_files.h"
#include "app/layout/step_residuals.h"
#include "app/table.h"
#include "app/transport_choice.h"
#include "app/wire_use.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

constexpr double bytes_of_gib = 1024.0 * 1024 * 1024;

const StepResiduals& residuals_of(const LayoutQuestion& question) {
  return step_residuals(question.plays(), parameters_of(question.model).total);
}

void add_wires(Json& json, const StepOnWires& played) {
  json["fastest_us"] = played.fastest.us();
  json["slowest_us"] = played.slowest.us();
  json["last_gpu"] = played.last_gpu;
  json["messages"] = played.messages;
  json["wire_B"] = played.wire_B;
  add_use(json, played.wires);
}

Json line_json(const LayoutQuestion& question, const LayoutLine& line) {
  const FoundLayout& one = line.found;
  Json parts = Json::object();
  for (const NamedPart& part : step_parts()) parts[part.key] = line.step.parts.*part.member * 1e6;
  Json json = {{"layout", to_text(one.layout)},
               {"step_us", one.time.us()},
               {"step_ps", one.time.ps()},
               {"mfu", one.mfu},
               {"memory_GiB", one.memory_B / bytes_of_gib},
               {"limit", one.limit},
               {"parts", std::move(parts)}};
  if (question.wants_interval) {
    const StepResiduals& residuals = residuals_of(question);
    json["interval_us"] =
        Json::array({residuals.p10 * one.time.us(), residuals.p90 * one.time.us()});
  }
  if (line.on_wires) add_wires(json, *line.on_wires);
  if (!line.played) return json;
  const PlayedStep& played = *line.played;
  json["fastest_us"] = played.fastest.us();
  json["slowest_us"] = played.slowest.us();
  json["replicas_played"] = played.replicas;
  json["passes"] = played.pipeline.passes;
  for (const RankPlayed& rank : played.pipeline.ranks)
    json["ranks"].push_back({{"busy_us", rank.busy.us()},
                             {"waiting_us", rank.waiting.us()},
                             {"exchange_us", rank.exchange.us()},
                             {"optimizer_us", rank.optimizer.us()},
                             {"most_in_flight", rank.most_in_flight}});
  return json;
}

// What a rank waits for when it is played is one part.
void print_parts(std::ostream& out, const HybridStep& step, bool is_played) {
  Table table({"part", "time", "of the step"});
  const double all = step.parts.all();
  for (const NamedPart& part : step_parts()) {
    const double seconds = step.parts.*part.member;
    if (seconds > 0)
      table.add(
          {is_played && part.member == &StepParts::bubble ? "waiting for other ranks" : part.name,
           short_duration(seconds * 1e6, 4), rounded(100 * seconds / all, 3) + " %"});
  }
  table.print(out);
}

// Small models are nearly always under-predicted: the interval need not hold the prediction.
void print_interval(std::ostream& out, const StepResiduals& residuals, Duration time) {
  out << "By " << text_of(residuals) << ", four of five such steps take from "
      << short_duration(residuals.p10 * time.us(), 5) << " to "
      << short_duration(residuals.p90 * time.us(), 5) << "\n\n";
}

void print_range(std::ostream& out, const LayoutQuestion& question, Duration fastest,
                 Duration slowest) {
  if (question.play.iterations > 1)
    out << "\nThe mean of " << question.play.iterations << " steps, which took from "
        << short_duration(fastest.us(), 5) << " to " << short_duration(slowest.us(), 5) << '\n';
}

const char* what_is_played(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::message:
      return "Passes and sends are played; collectives are of the closed form";
    case Fidelity::flow:
      return "Every GPU is played; all messages share the wires";
    case Fidelity::packet:
      return "Every GPU is played; all messages go as packets";
    default:
      return "Times are of the closed form";
  }
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

std::vector<std::string> warnings_of(const LayoutQuestion& question, const LayoutAnswer& answer) {
  std::vector<std::string> all = question.notes;
  all.insert(all.end(), answer.notes.begin(), answer.notes.end());
  for (const LayoutLine& line : answer.best)
    if (line.on_wires && line.on_wires->least_delivered < 1)
      all.push_back(to_text(line.found.layout) + ": " +
                    delivered_warning(line.on_wires->least_delivered));
  const auto& of_model = question.model.notes;
  all.insert(all.end(), of_model.begin(), of_model.end());
  const auto& notes = question.cluster.cluster.notes;
  all.insert(all.end(), notes.begin(), notes.end());
  return all;
}

Json to_json(const LayoutQuestion& question, const LayoutAnswer& answer) {
  const LayoutSpace& space = question.space;
  Json json = {{"schema", "sgdsim/layouts/1"},
               {"fidelity", name_of(question.fidelity)},
               {"model", question.model.name},
               {"cluster", question.cluster.cluster.name},
               {"gpu", question.gpu.name},
               {"precision", name_of(question.precision)},
               {"gpus", space.gpus},
               {"sequence", space.sequence},
               {"global_batch", space.batch},
               {"memory_B", space.memory.count()},
               {"reserve_B", space.reserve.count()},
               {"flop_convention", "halved"},
               {"candidates", answer.candidates},
               {"fitting", answer.fitting},
               {"layouts", Json::array()}};
  if (question.wants_interval) json["interval_of"] = text_of(residuals_of(question));
  if (question.plays()) json["played"] = answer.played;
  if (!question.transport.empty()) json["transport"] = question.transport;
  for (const LayoutLine& line : answer.best) json["layouts"].push_back(line_json(question, line));
  if (const auto warnings = warnings_of(question, answer); !warnings.empty())
    json["warnings"] = warnings;
  return json;
}

void print(std::ostream& out, const LayoutQuestion& question, const LayoutAnswer& answer) {
  const LayoutSpace& space = question.space;
  out << question.model.name << " on " << space.gpus << " x " << question.gpu.name << " ("
      << question.cluster.cluster.name << "), " << name_of(question.precision) << ", "
      << space.batch << " sequences of " << space.sequence << " a step\n"
      << what_is_played(question.fidelity) << "; MFU counts causal attention halved\n";
  if (!answer.is_given)
    out << answer.candidates << " layouts divide, " << answer.fitting << " of them fit into "
        << to_text(space.memory) << " less " << to_text(space.reserve) << '\n';
  if (!answer.is_given && answer.by_passes > 0)
    out << "The " << answer.by_passes << " that are fastest in closed form were played by passes, "
        << "and " << answer.played << " of them on wires\n";
  else if (!answer.is_given && answer.played > 0)
    out << "The " << answer.played << " that are fastest in closed form were played\n";
  out << '\n';
  Table table({"layout", "step", "MFU", "memory", "largest part"});
  for (const LayoutLine& line : answer.best)
    table.add({to_text(line.found.layout), short_duration(line.found.time.us(), 5),
               rounded(100 * line.found.mfu, 3) + " %", gib_text(line.found.memory_B),
               line.found.limit});
  table.print(out);
  out << "\nThe step of " << (answer.is_given ? "this layout" : "the fastest one") << "\n\n";
  const LayoutLine& first = answer.best.front();
  if (question.wants_interval) print_interval(out, residuals_of(question), first.found.time);
  print_parts(out, first.step, question.fidelity == Fidelity::message);
  if (first.played) {
    print_range(out, question, first.played->fastest, first.played->slowest);
    print_ranks(out, *first.played);
  }
  if (first.on_wires) {
    print_range(out, question, first.on_wires->fastest, first.on_wires->slowest);
    out << "\n"
        << first.on_wires->messages << " messages of " << rounded(first.on_wires->wire_B)
        << " B together; GPU " << first.on_wires->last_gpu << " ends last\n\n";
    print_use(out, first.on_wires->wires);
  }
}

}  // namespace sgdsim
