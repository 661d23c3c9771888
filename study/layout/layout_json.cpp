// JSON of layouts: sgdsim/layouts/1.
#include <optional>

#include "models/training/memory.h"
#include "models/training/near_layouts.h"
#include "study/layout/layout_parts.h"
#include "study/wire_use.h"

namespace sgdsim {
namespace {

constexpr double bytes_of_gib = 1024.0 * 1024 * 1024;

void add_wires(Json& json, const StepOnWires& played) {
  json["fastest_us"] = played.fastest.us();
  json["slowest_us"] = played.slowest.us();
  json["last_gpu"] = played.last_gpu;
  if (played.classes > 0) json["classes"] = played.classes;
  json["messages"] = played.messages;
  json["wire_B"] = played.wire_B;
  add_use(json, played.wires);
}

Json memory_parts(const LayoutQuestion& question, const Layout& layout) {
  const StageMemory memory = largest_memory(question.model, layout, question.space.sequence);
  return {{"weights_GiB", memory.weights_B / bytes_of_gib},
          {"gradients_GiB", memory.all_gradients_B() / bytes_of_gib},
          {"optimizer_GiB", memory.optimizer_B / bytes_of_gib},
          {"gathered_GiB", memory.gathered_B / bytes_of_gib},
          {"activations_GiB", memory.activations_B / bytes_of_gib},
          {"recomputed_GiB", memory.recomputed_B / bytes_of_gib},
          {"ends_GiB", memory.ends_B / bytes_of_gib}};
}

void add_interval(Json& json, const LayoutQuestion& question, const FoundLayout& one) {
  const StepResiduals& residuals = residuals_of(question);
  const double low_us = residuals.low * one.time.us();
  const double high_us = residuals.high * one.time.us();
  json["interval_us"] = {low_us, high_us};
  json["mfu_interval"] = {one.mfu / residuals.high, one.mfu / residuals.low};
  if (question.tokens > 0)
    json["days_interval"] = {days_of(question.step_size(), low_us),
                             days_of(question.step_size(), high_us)};
}

// The closed form knows them.
void add_exchanges(Json& json, const LayoutLine& line) {
  for (const HiddenPart& one : hidden_parts)
    if (!one.is_rare || line.step.hidden.*one.hidden > 0)
      json["hidden"][one.key] = line.step.hidden.*one.hidden * 1e6;
  if (!line.load) return;
  const double step_s = line.step.time.s();
  json["busy"] = {{"inside", line.load->inside_s / step_s},
                  {"across", line.load->across_s / step_s}};
}

Json line_json(const LayoutQuestion& question, const LayoutLine& line) {
  const FoundLayout& one = line.found;
  Json parts = Json::object();
  for (const NamedPart& part : step_parts())
    if (!part.is_rare || line.step.parts.*part.member > 0)
      parts[part.key] = line.step.parts.*part.member * 1e6;
  Json json = {{"layout", to_text(one.layout)},
               {"family", family_of(one.layout)},
               {"step_us", one.time.us()},
               {"step_ps", one.time.ps()},
               {"mfu", one.mfu},
               {"memory_GiB", one.memory_B / bytes_of_gib},
               {"memory_parts", memory_parts(question, one.layout)},
               {"limit", one.limit},
               {"parts", std::move(parts)}};
  if (one.layout.offload.is_used())
    json["host_GiB"] =
        largest_memory(question.model, one.layout, question.space.sequence).host_B / bytes_of_gib;
  if (question.space.near) json["changed"] = changed_words(*question.space.near, one.layout);
  if (!question.plays()) add_exchanges(json, line);
  add_rates(json, rates_of(question, line.found));
  if (question.has_interval()) add_interval(json, question, one);
  if (const auto why = beyond(question, line); !why.empty()) json["beyond_published"] = why;
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

Json algorithms_json(const AlgorithmChoice& algorithms) {
  Json json = Json::object();
  for (const Operation operation : operations_of_layouts)
    json[std::string(name_of(operation))] = algorithms.name_of(operation);
  return json;
}

Json margins_json(const std::vector<Margin>& margins) {
  Json json = Json::array();
  for (const Margin& one : margins) {
    json.push_back({{"part", one.part}, {"says", one.says}});
    if (one.left) json.back().update({{"left", *one.left}, {"layout", one.layout}});
  }
  return json;
}

}  // namespace

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
  if (space.documents)
    json["documents"] = {
        {"of_a_sequence", space.documents->pieces()},
        {"pairs_part", space.documents->pairs_part()},
        {"slowest_replica", space.documents->slowest(answer.best.front().found.layout.replicas)}};
  if (question.reach.inside) json["reach"]["inside"] = *question.reach.inside;
  if (question.reach.between) json["reach"]["between"] = *question.reach.between;
  if (space.near) json["near"] = to_text(*space.near);
  if (question.has_interval()) json["interval_of"] = text_of(residuals_of(question));
  if (question.tokens > 0) json["tokens"] = question.tokens;
  if (space.program != TrainingProgram::any)
    json["program"] = name_in(training_programs, space.program);
  if (question.plays()) json["played"] = answer.played;
  if (!question.transport.empty()) json["transport"] = question.transport;
  if (!question.algorithms.is_usual()) json["algorithms"] = algorithms_json(question.algorithms);
  for (const LayoutLine& line : answer.best) json["layouts"].push_back(line_json(question, line));
  for (const auto& [program, line] : answer.programs)
    json["programs"][std::string(name_in(training_programs, program))] = line_json(question, line);
  if (answer.margins) json["margins"] = margins_json(*answer.margins);
  if (answer.breaks) json["breaks"] = to_json_by_fields(*answer.breaks);
  if (const auto warnings = warnings_of(question, answer); !warnings.empty())
    json["warnings"] = warnings;
  return json;
}

}  // namespace sgdsim
