// What `sgdsim layout` found as JSON, sgdsim/layouts/1.
#include "models/training/memory.h"
#include "models/training/near_layouts.h"
#include "study/layout/layout_files.h"
#include "study/layout/layout_output.h"
#include "study/layout/step_residuals.h"
#include "study/layout/told_sites.h"
#include "study/transport_choice.h"
#include "study/wire_use.h"

namespace sgdsim {
namespace {

// ---- parts of a line

struct ToldMemory {
  StageMemory memory = {};
};
Fields fields_of(const ToldMemory& told) {
  const StageMemory& memory = told.memory;
  const auto in_gib = [](const char* name, double bytes, const char* says) {
    return Field(name, bytes / bytes_of_gib, says).at_least(0);
  };
  return {in_gib("weights_GiB", memory.weights_B, "weights"),
          in_gib("gradients_GiB", memory.all_gradients_B(), "gradients"),
          in_gib("optimizer_GiB", memory.optimizer_B, "states of the optimizer"),
          in_gib("gathered_GiB", memory.gathered_B, "what FSDP gathers"),
          in_gib("activations_GiB", memory.activations_B, "activations"),
          in_gib("recomputed_GiB", memory.recomputed_B, "activations of what is computed again"),
          in_gib("ends_GiB", memory.ends_B, "outputs of the embedding, and logits")};
}

// What is rare is told only where there is some.
std::optional<double> us_of(double s, bool is_rare) {
  return is_rare && s <= 0 ? std::nullopt : std::optional(s * 1e6);
}

struct ToldParts {
  StepParts parts = {};
};
Fields fields_of(const ToldParts& told) {
  Fields fields;
  for (const NamedPart& part : step_parts())
    fields =
        std::move(fields) +
        Fields{
            Field(part.key, us_of(told.parts.*part.member, part.is_rare), part.says).at_least(0)};
  return fields;
}

struct ToldHidden {
  HiddenParts hidden = {};
};
Fields fields_of(const ToldHidden& told) {
  Fields fields;
  for (const HiddenPart& one : hidden_parts)
    fields =
        std::move(fields) +
        Fields{Field(one.key, us_of(told.hidden.*one.hidden, one.is_rare), one.says).at_least(0)};
  return fields;
}

struct ToldBusy {
  double inside = 0;
  double across = 0;
};
Fields fields_of(const ToldBusy& told) {
  return {Field("inside", told.inside, "links inside its node").at_least(0),
          Field("across", told.across, "its way to other nodes").at_least(0)};
}

struct ToldRank {
  RankPlayed rank = {};
};
Fields fields_of(const ToldRank& told) {
  const RankPlayed& rank = told.rank;
  return {Field("busy_us", rank.busy.us(), "passes, by themselves").at_least(0),
          Field("waiting_us", rank.waiting.us(),
                "waiting for other ranks, with what is sent between them")
              .at_least(0),
          Field("exchange_us", rank.exchange.us(), "exchanges between replicas").at_least(0),
          Field("optimizer_us", rank.optimizer.us(), "the optimizer's step").at_least(0),
          Field("most_in_flight", rank.most_in_flight,
                "forward passes of chunks without their backward passes, at most")
              .at_least(0)};
}

// ---- what was simulated

// The shortest and the longest of the simulated steps.
Fields range_fields(const std::optional<std::pair<Duration, Duration>>& range) {
  const auto us = [&](Duration std::pair<Duration, Duration>::*end) {
    return range ? std::optional(((*range).*end).us()) : std::nullopt;
  };
  return {Field("fastest_us", us(&std::pair<Duration, Duration>::first),
                "the shortest of the simulated steps; fidelities message, flow and packet only")
              .at_least(0),
          Field("slowest_us", us(&std::pair<Duration, Duration>::second),
                "the longest of the simulated steps")
              .at_least(0)};
}

Fields wire_step_fields(const StepOnWires* played) {
  const auto if_played = [&](const auto& value) {
    return played != nullptr ? std::optional(value) : std::nullopt;
  };
  const StepOnWires none;
  const StepOnWires& step = played != nullptr ? *played : none;
  return Fields{
             Field("last_gpu", if_played(step.last_gpu),
                   "where GPUs send messages (fidelities flow and packet, or `traffic`): the GPU "
                   "that ends "
                   "last in the last step")
                 .at_least(0),
             Field("classes", step.classes > 0 ? std::optional(step.classes) : std::nullopt,
                   "fidelity flow: GPUs that were simulated for all, which are alike; absent: "
                   "every GPU was. From two million messages on, chunks of collectives that "
                   "differ by a byte count as equal")
                 .at_least(1),
             Field("followers", step.followers > 0 ? std::optional(step.followers) : std::nullopt,
                   "fidelity flow: GPUs that do what others do until replicas first exchange "
                   "gradients, and are simulated from then on; absent: there are none")
                 .at_least(1),
             Field("messages", if_played(step.messages), "the same: messages of all GPUs in a step")
                 .at_least(0),
             Field("wire_B", if_played(step.wire_B), "the same: bytes that they carry")
                 .at_least(0)} +
         use_fields_if_any(played != nullptr && !step.wires.kinds.empty() ? &step.wires : nullptr);
}

Fields pass_fields(const PlayedStep* played) {
  std::optional<std::vector<ToldRank>> ranks;
  if (played != nullptr) {
    ranks.emplace();
    for (const RankPlayed& rank : played->pipeline.ranks) ranks->push_back({rank});
  }
  return {
      Field("replicas_played", played != nullptr ? std::optional(played->replicas) : std::nullopt,
            "replicas that were simulated; those that are alike are simulated once")
          .at_least(1),
      Field("passes", played != nullptr ? std::optional(played->pipeline.passes) : std::nullopt,
            "passes of all ranks in a step, of one replica")
          .at_least(1),
      Field("ranks", std::move(ranks),
            "ranks of the pipeline in the last step, of the replica whose passes ended last; the "
            "four times of each add up to the step")
          .filled("rank")};
}

// ---- lines

struct ToldLayout {
  std::string layout = {};
  std::string family = {};
  FoundLayout found = {};
  StageMemory memory = {};
  StepParts parts = {};
  std::optional<std::string> changed = {};
  std::optional<ToldHidden> hidden = {};
  std::optional<ToldBusy> busy = {};
  LayoutRates rates = {};
  std::optional<std::vector<double>> interval_us = {};
  std::optional<std::vector<double>> mfu_interval = {};
  std::optional<std::vector<double>> days_interval = {};
  std::vector<std::string> beyond_published = {};
  const StepOnWires* on_wires = nullptr;
  const PlayedStep* played = nullptr;
};

Field ends_field(const char* name, const std::optional<std::vector<double>>& ends,
                 const char* says) {
  return Field(name, ends, says).at_least(0).entries(2, 2, "ends");
}

Fields fields_of(const ToldLayout& told) {
  const FoundLayout& one = told.found;
  std::optional<std::pair<Duration, Duration>> range;
  if (told.on_wires != nullptr) range = {told.on_wires->fastest, told.on_wires->slowest};
  if (told.played != nullptr) range = {told.played->fastest, told.played->slowest};
  return Fields{
             {"layout", told.layout, "the text that --layout takes"},
             {"family", told.family,
              "its kinds of parallelism: \"tp + pp + fsdp\"; \"replicas\" if none"},
             Field("step_us", one.time.us(), "time of a step").at_least(0),
             Field("step_ps", one.time.ps(), "the same in picoseconds").at_least(0),
             Field("mfu", one.mfu, "FLOP of the model, of the peak of all GPUs").at_least(0),
             Field("memory_GiB", one.memory_B / bytes_of_gib,
                   "memory of the largest stage, without the reserve")
                 .at_least(0),
             Field("host_GiB",
                   one.layout.offload.is_used() ? std::optional(told.memory.host_B / bytes_of_gib)
                                                : std::nullopt,
                   "what the host keeps for each GPU of the largest stage; with offload")
                 .at_least(0),
             {"memory_parts", ToldMemory{told.memory},
              "what that memory holds; the sum is memory_GiB"},
             {"limit", std::string(one.limit), "what takes most of the step"},
             {"parts", ToldParts{told.parts}, "what the step consists of; the sum is the step"},
             {"changed", told.changed,
              "with --near: the words that it has and the given layout has not, without "
              "replicas and micro-batches; empty for that one itself"},
             {"hidden", told.hidden,
              "exchanges that lie under something else and lengthen nothing, by what needs "
              "them; closed form only"},
             {"busy", told.busy,
              "the part of the step in which the links of a GPU carry bytes, by the closed "
              "form; where collectives are the usual ones"}} +
         fields_of(told.rates) +
         Fields{ends_field("interval_us", told.interval_us,
                           "between these, nine of ten comparable published steps would be; "
                           "fidelities closed_form and message"),
                ends_field("mfu_interval", told.mfu_interval, "the same for mfu"),
                ends_field("days_interval", told.days_interval, "the same for days"),
                Field("beyond_published", told.beyond_published,
                      "what of it goes beyond published runs; not there if nothing does")
                    .filled("sentence")
                    .if_any()} +
         range_fields(range) + wire_step_fields(told.on_wires) + pass_fields(told.played);
}

ToldLayout told_line(const LayoutQuestion& question, const LayoutLine& line) {
  const FoundLayout& one = line.found;
  ToldLayout told{.layout = to_text(one.layout),
                  .family = family_of(one.layout),
                  .found = one,
                  .memory = largest_memory(question.model, one.layout, question.space.sequence),
                  .parts = line.step.parts,
                  .rates = rates_of(question, one),
                  .beyond_published = beyond(question, line),
                  .on_wires = line.on_wires ? &*line.on_wires : nullptr,
                  .played = line.played ? &*line.played : nullptr};
  if (question.space.near) told.changed = changed_words(*question.space.near, one.layout);
  if (!question.plays()) {  // the closed form knows them
    const double step_s = line.step.time.s();
    told.hidden = ToldHidden{line.step.hidden};
    if (line.load) told.busy = {line.load->inside_s / step_s, line.load->across_s / step_s};
  }
  if (!question.has_interval()) return told;
  const StepResiduals& residuals = residuals_of(question);
  const double low_us = residuals.low * one.time.us();
  const double high_us = residuals.high * one.time.us();
  told.interval_us = {low_us, high_us};
  told.mfu_interval = {one.mfu / residuals.high, one.mfu / residuals.low};
  if (question.tokens > 0)
    told.days_interval = {days_of(question.step_size(), low_us),
                          days_of(question.step_size(), high_us)};
  return told;
}

// ---- the answer

Json schema_of_line() { return reference("#/$defs/layout"); }
Json schema_of_lines() { return list_schema(schema_of_line()); }
Json schema_of_breaks_of_layout() { return reference("../breaks/1"); }

// By program, but for `any`.
struct ToldPrograms {
  std::vector<std::pair<TrainingProgram, ToldLayout>> found = {};
};
Fields fields_of(const ToldPrograms& told) {
  Fields fields;
  for (const auto& [name, program] : training_programs) {
    if (program == TrainingProgram::any) continue;
    std::optional<ToldLayout> line;
    for (const auto& [whose, found] : told.found)
      if (whose == program) line = found;
    fields = std::move(fields) +
             Fields{Field(name.data(), std::move(line), "the fastest that this program can do")
                        .like(schema_of_line)};
  }
  return fields;
}

struct ToldAlgorithms {
  AlgorithmChoice choice = {};
};
Fields fields_of(const ToldAlgorithms& told) {
  Fields fields;
  for (const Operation operation : operations_of_layouts)
    fields = std::move(fields) + Fields{{name_of(operation).data(), told.choice.name_of(operation),
                                         "name of the algorithm"}};
  return fields;
}

std::vector<std::string> program_names() {
  std::vector<std::string> names;
  for (const auto& [name, program] : training_programs)
    if (program != TrainingProgram::any) names.emplace_back(name);
  return names;
}

struct ToldDocuments {
  double of_a_sequence = 1;
  double pairs_part = 1;
  double slowest_replica = 1;
};
Fields fields_of(const ToldDocuments& told) {
  return {Field("of_a_sequence", told.of_a_sequence,
                "documents, or parts of them, of a sequence in the mean")
              .at_least(1),
          Field("pairs_part", told.pairs_part,
                "squares of their lengths, of the square of the sequence")
              .from(0, 1),
          Field("slowest_replica", told.slowest_replica,
                "attention of the replica of the first layout that has most, of the mean")
              .at_least(1)};
}
std::optional<ToldDocuments> told_documents(const LayoutSpace& space, const LayoutAnswer& answer) {
  if (!space.documents) return std::nullopt;
  return ToldDocuments{space.documents->pieces(), space.documents->pairs_part(),
                       answer.best.empty()
                           ? 1
                           : space.documents->slowest(answer.best.front().found.layout.replicas)};
}

struct ToldLayouts {
  std::vector<ToldLayout> best = {};
  std::optional<ToldPrograms> programs = {};
  std::string interval_of = {};
  std::vector<std::string> warnings = {};
};

Fields asked_fields(const LayoutQuestion& question) {
  const LayoutSpace& space = question.space;
  return {Field("schema", std::string("sgdsim/layouts/1"), "kind and version of this object")
              .constant("sgdsim/layouts/1"),
          {"fidelity", question.fidelity,
           "how times were found: by formulas; by simulating passes and sends; by simulating "
           "every message of every GPU on shared wires; or every packet of it"},
          {"model", question.model.name, "its name"},
          {"cluster", question.cluster.cluster.name, "its name"},
          {"gpu", question.gpu.name, "its name"},
          {"precision", question.precision, "precision of matrix products in layers"},
          Field("gpus", question.step_size().gpus, "number of GPUs").at_least(1),
          Field("sequence", space.sequence, "tokens of a sequence").at_least(1),
          Field("global_batch", question.step_size().batch, "sequences of a step").at_least(1),
          Field("memory_B", space.memory.count(), "memory of a GPU").at_least(1),
          Field("reserve_B", space.reserve.count(), "part of it that layouts must leave free")
              .at_least(0),
          Field("flop_convention", std::string("halved"), "how mfu counts causal attention")
              .one_of({"halved", "whole"})};
}

Fields layout_fields(const LayoutQuestion& question, const LayoutAnswer& answer,
                     const ToldLayouts& told) {
  const LayoutSpace& space = question.space;
  const bool has_program = space.program != TrainingProgram::any;
  return asked_fields(question) +
         Fields{
             Field("candidates", answer.candidates, "layouts that divide").at_least(0),
             Field("fitting", answer.fitting, "those of them that fit into memory").at_least(0),
             Field("layouts", told.best,
                   "the best of each family, best first; with --lines the fastest ones")
                 .like(schema_of_lines),
             {"reach", question.reach.any() ? std::optional(question.reach) : std::nullopt,
              "what exchanges are taken to reach of links whose cluster file has no "
              "efficiency, because products run beside them"},
             Field("interference",
                   question.assumes_interference() ? std::optional(usual_interference.products)
                                                   : std::nullopt,
                   "how many times as long products are assumed to take beside exchanges, because "
                   "the GPU's file does not say it")
                 .from(1, 100),
             {"sites", told_sites(question, answer), "with --sites: what they exchange"},
             {"documents", told_documents(space, answer),
              "with --documents: what is packed into the sequences of a step"},
             {"near", space.near ? std::optional(to_text(*space.near)) : std::nullopt,
              "with --near: the layout of which one word at a time was changed"},
             Field("interval_of", told.interval_of, "what the intervals rest on").if_any(),
             Field("tokens", question.tokens > 0 ? std::optional(question.tokens) : std::nullopt,
                   "tokens of the whole training; with --tokens")
                 .at_least(1),
             Field("program",
                   has_program
                       ? std::optional(std::string(name_in(training_programs, space.program)))
                       : std::nullopt,
                   "the program whose layouts were tried, if one was asked for")
                 .one_of(program_names()),
             Field("played", question.plays() ? std::optional(answer.played) : std::nullopt,
                   "layouts that were simulated: those that are fastest in closed form; on "
                   "wires, the fastest of these by passes")
                 .at_least(1),
             transport_taken_field(question.transport),
             {"algorithms",
              question.algorithms.is_usual() ? std::nullopt
                                             : std::optional(ToldAlgorithms{question.algorithms}),
              "the algorithms of collectives, if others than the usual ones were chosen; auto: "
              "for every size the one that takes least"},
             {"programs", told.programs,
              "the fastest layouts that training programs can do, where no program was asked "
              "for"},
             {"margins", answer.margins,
              "how slow each kind of link may get until another layout is faster; with "
              "--margins"},
             Field("breaks", answer.breaks,
                   "what the first layout loses with each part of the machine slower or gone; "
                   "with --breaks")
                 .like(schema_of_breaks_of_layout),
             Field("warnings", told.warnings, "what makes the answer less certain").if_any()};
}

}  // namespace

Fields fields_of(const Margin& margin) {
  return {{"part", margin.part, "the field of the cluster that describes the link"},
          {"says", margin.says, "the same for people"},
          Field("left", margin.left,
                "the part of its rate below which another layout is faster; missing: not down to "
                "a twentieth")
              .from(0, 1),
          {"layout", margin.left ? std::optional(margin.layout) : std::nullopt, "that layout"}};
}

Json to_json(const LayoutQuestion& question, const LayoutAnswer& answer) {
  ToldLayouts told{.warnings = warnings_of(question, answer)};
  if (question.has_interval()) told.interval_of = text_of(residuals_of(question));
  for (const LayoutLine& line : answer.best) told.best.push_back(told_line(question, line));
  if (!answer.programs.empty()) told.programs.emplace();
  for (const auto& [program, line] : answer.programs)
    told.programs->found.emplace_back(program, told_line(question, line));
  return written(layout_fields(question, answer, told));
}

Json schema_of_layout_answers() {
  const LayoutQuestion question{};
  const LayoutAnswer answer{};
  const ToldLayouts told{};
  Json json = record_schema(layout_fields(question, answer, told));
  json["$defs"]["layout"] = {{"description", "one layout"}};
  json["$defs"]["layout"].update(schema_of_record<ToldLayout>());
  return json;
}

}  // namespace sgdsim
