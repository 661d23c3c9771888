// Every kind of work becomes a schedule of ranks, whose collectives are calls.
#include "study/jobs/scheduled_work.h"

#include <algorithm>
#include <filesystem>

#include "models/collective/network_defaults.h"
#include "models/training/gpu_schedule.h"
#include "models/training/transformer_file.h"
#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/quantity.h"
#include "study/beside.h"
#include "study/layout/layout_files.h"
#include "study/step/collective_field.h"
#include "traces/chakra.h"
#include "traces/goal.h"

namespace sgdsim {
namespace {

constexpr int64_t most_times = 1'000'000;
constexpr std::size_t most_scheduled_operations = most_gpu_operations;

Json schema_of_words_list() { return any_of({text_schema(), list_schema(text_schema())}); }

// A name, or a list of them.
Field algorithm_field(std::optional<Value>& algorithm) {
  return Field("algorithm", algorithm, "algorithms of collectives, as --algorithm of commands")
      .like(schema_of_words_list);
}
AlgorithmChoice algorithms_in(const std::optional<Value>& given, AlgorithmChoice choice = {}) {
  if (!given) return choice;
  if (!given->json().is_array()) {
    choice.add(given->text(), given->where());
    return choice;
  }
  for (const Value& one : given->items()) choice.add(one.text(), one.where());
  return choice;
}

struct ChakraFields {
  std::optional<Value> files, groups, algorithm;
};

Fields fields_of(ChakraFields& o) {
  return {Field("files", o.files, "a path, or several").needed().like(schema_of_words_list),
          Field("groups", o.groups, "path of a JSON file with the ranks of each group")
              .like(text_schema),
          algorithm_field(o.algorithm)};
}

Json schema_of_schedule() {
  return any_of({text_schema(), list_schema(text_schema()), schema_of_record<ChakraFields>()});
}

struct LayoutOfJob {
  std::optional<Value> model, layout, gpu;
  Precision precision = Precision::bf16;
  std::optional<int64_t> sequence, global_batch;
  std::optional<Bytes> memory;
  std::optional<Value> algorithm;
  std::string documents;
};

Json schema_of_model_in() { return any_of({text_schema(), reference("../model/1")}); }
Json schema_of_gpu_in() { return any_of({text_schema(), reference("../gpu/1")}); }

Fields fields_of(LayoutOfJob& o) {
  return {Field("model", o.model,
                "a name of `sgdsim list models`, the path of a model file, or the model")
              .needed()
              .like(schema_of_model_in),
          Field("layout", o.layout,
                "the short text, as tp8 dp2 zero1; what it does not say of dp and ga follows from "
                "`workers` and global_batch")
              .needed()
              .like(text_schema),
          Field("gpu", o.gpu, "a name of `sgdsim list gpus`, a path, or the GPU")
              .otherwise("the cluster's, or h100")
              .like(schema_of_gpu_in),
          {"documents", o.documents,
           "lengths of the documents that are packed into sequences, as 512x100,4096x3, or a file "
           "of them"},
          {"precision", o.precision, "precision of matrix products"},
          Field("sequence", o.sequence, "tokens of a sequence")
              .from(1, most_sequence)
              .otherwise("the model's own"),
          Field("global_batch", o.global_batch, "sequences of a step").from(1, most_global_batch),
          Field("memory", o.memory, "memory of a GPU").otherwise("that of the GPU file"),
          algorithm_field(o.algorithm)};
}

struct CollectiveOfJob {
  std::string operation = "allreduce";
  Bytes bytes;
};

Json schema_of_operation() { return one_of_schema(operation_names()); }

Fields fields_of(CollectiveOfJob& o) {
  return {
      Field("operation", o.operation, "one of `sgdsim list operations`").like(schema_of_operation),
      Field("bytes", o.bytes, "its size, as 64 MiB").needed().also([](const Value& size) {
        if (size.bytes().count() == 0) size.fail("expected at least 1 B");
      })};
}

Json schema_of_collective_work() {
  CollectiveOfJob usual;
  return schema_of_played_collectives(fields_of(usual));
}

}  // namespace

Fields fields_of(WorkFields& o) {
  return {Field("schedule", o.schedule,
                "instead of an experiment: what ranks do, as `sgdsim replay` reads it: the path of "
                "a GOAL file, the paths of a Chakra trace's files, or an object")
              .like(schema_of_schedule),
          Field("layout", o.layout,
                "instead of an experiment: a training step of a layout, as `sgdsim layout` "
                "simulates it on wires")
              .like(schema_of_record<LayoutOfJob>),
          Field("collective", o.collective,
                "instead of an experiment: a collective of all workers of the job")
              .like(schema_of_collective_work),
          Field("iterations", o.iterations,
                "of a schedule, layout or collective: how often it is done, one after the other")
              .from(1, most_times)};
}

namespace {

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// What collectives say about all that shares their network is not theirs to say.
void check_options(const CollectiveOptions& options, const Value& where) {
  const bool says = std::any_of(options.given.begin(), options.given.end(), [](const auto& key) {
    return key == "alpha" || key == "ports" || key == "send_buffer" || key == "routing";
  });
  if (says)
    where.fail(
        "the options alpha, ports, send_buffer and routing are of all that shares the network; "
        "leave them out here");
}

}  // namespace

std::optional<WorkOfJob> WorkOfJob::read(Object& fields, const std::optional<int64_t>& workers,
                                         const Cluster& cluster) {
  const bool says_iterations = fields.has("iterations");
  const auto given = read_record<WorkFields>(fields);
  const int works = (given.schedule ? 1 : 0) + (given.layout ? 1 : 0) + (given.collective ? 1 : 0);
  if (works == 0) {
    if (says_iterations)
      fields.value().fail(
          "iterations is of a schedule, layout or collective; beside an experiment "
          "write \"set\": [\"iterations=" +
          std::to_string(given.iterations) + "\"]");
    return std::nullopt;
  }
  if (works > 1 || fields.has("experiment")) fields.value().fail(one_work);
  WorkOfJob work(fields.value(), given.iterations);
  if (given.layout)
    work.work_ = read_parallel(*given.layout, workers, cluster);
  else if (given.collective)
    work.work_ = read_collective_work(*given.collective);
  else
    work.work_ = read_schedule(*given.schedule);
  return work;
}

WorkOfJob::Work WorkOfJob::read_schedule(const Value& value) {
  Chakra chakra;
  bool names_algorithms = false;
  const auto add_file = [&](const Value& file) {
    chakra.files.push_back(beside(file.file(), file.text()));
  };
  const auto add_files = [&](const Value& files) {
    if (!files.json().is_array()) return add_file(files);
    files.for_each_item(add_file);
    if (chakra.files.empty()) files.fail("no files");
  };
  if (value.json().is_object()) {
    const auto given = read_record<ChakraFields>(value);
    add_files(*given.files);
    if (given.groups) chakra.groups = beside(given.groups->file(), given.groups->text());
    names_algorithms = given.algorithm.has_value();
    chakra.algorithm = given.algorithm;
    chakra.algorithms = algorithms_in(given.algorithm);
  } else {
    add_files(value);
  }
  if (chakra.files.size() > 1 || looks_like_chakra(chakra.files.front())) {
    chakra.files = files_by_rank(chakra.files);
    return chakra;
  }
  if (!chakra.groups.empty() || names_algorithms)
    value.fail("groups and algorithms are of Chakra traces; a GOAL schedule has neither");
  Goal goal{chakra.files.front(), read_goal(chakra.files.front())};
  if (const auto circle = goal.schedule.find_circle(); !circle.empty())
    value.fail(std::to_string(circle.size()) +
               " operations wait for each other in a circle; `sgdsim replay` names them");
  return goal;
}

WorkOfJob::Parallel WorkOfJob::read_parallel(const Value& value,
                                             const std::optional<int64_t>& workers,
                                             const Cluster& cluster) {
  const auto given = read_record<LayoutOfJob>(value);
  Parallel parallel;
  parallel.model = model_in(*given.model);
  FoundGpu gpu = given.gpu ? FoundGpu{gpu_in(*given.gpu)} : gpu_for("", cluster);
  parallel.gpu = std::move(gpu.gpu);
  parallel.precision = given.precision;
  check_precision(parallel.gpu, parallel.precision, value.where());
  const Value& text = *given.layout;
  const int64_t batch = given.global_batch.value_or(0);
  parallel.layout =
      completed(parse_layout(text.text(), text.where()), text.text(), workers.value_or(0), batch);
  check_sizes(parallel.layout, text.where());
  if (batch > 0 && parallel.layout.batch() != batch)
    text.fail("dp x mbs x ga is " + std::to_string(parallel.layout.batch()) +
              ", but global_batch is " + std::to_string(batch));
  parallel.sequence = given.sequence.value_or(parallel.model.sequence);
  check_sequence(parallel.model, parallel.sequence,
                 given.sequence ? value.child("sequence").where() : value.where());
  const std::string attention =
      settle_attention(parallel.gpu, parallel.model, says_attention(text.text()), parallel.layout);
  check_layout(parallel.model, parallel.layout, parallel.sequence, text.where());
  check_memory(parallel.model, parallel.layout, parallel.sequence,
               given.memory.value_or(parallel.gpu.memory), usual_reserve, text.where(),
               parallel.gpu.runs_flash);
  parallel.documents = load_documents(given.documents, parallel.model, parallel.sequence,
                                      parallel.layout.batch(), value.where() + "/documents");
  parallel.algorithms = algorithms_in(given.algorithm);
  parallel.notes = notes_on(parallel.model, parallel.sequence);
  if (!attention.empty()) parallel.notes.push_back(attention);
  if (!gpu.note.empty()) parallel.notes.push_back(gpu.note);
  if (parallel.layout.gpus() > 1 && parallel.gpu.assumes_interference)
    parallel.notes.push_back(interference_text());
  if (parallel.algorithms.has_nccl()) parallel.notes.emplace_back(nccl_stand_in_note);
  return parallel;
}

namespace {

// Not what costs an exchange without messages.
void check_known(const Value& collective) {
  const std::vector<std::string> known{"operation", "bytes", "algorithm",
                                       "options",   "block", "launch"};
  for (const auto& [name, field] : collective.entries())
    if (std::find(known.begin(), known.end(), name) == known.end())
      collective.fail(unknown_name("field", name, known));
}

}  // namespace

WorkOfJob::Collective WorkOfJob::read_collective_work(const Value& value) {
  Object fields(value);
  check_known(value);
  const auto given = read_record<CollectiveOfJob>(fields);
  Collective collective;
  const auto operation = fields.find("operation");
  collective.operation =
      operation_named(given.operation, operation ? operation->where() : value.where());
  collective.size = given.bytes;
  collective.field = value.json();
  collective.field.erase("operation");
  collective.field.erase("bytes");
  return collective;
}

std::optional<int64_t> WorkOfJob::ranks() const {
  if (const Goal* goal = std::get_if<Goal>(&work_)) return goal->schedule.ranks();
  if (const Chakra* chakra = std::get_if<Chakra>(&work_))
    return static_cast<int64_t>(chakra->files.size());
  if (const Parallel* parallel = std::get_if<Parallel>(&work_)) return parallel->layout.gpus();
  return std::nullopt;
}

ScheduledWork WorkOfJob::on(const Cluster& part, const UsualReach& reach) const {
  if (part.network.crowding().any()) where_.fail(crowding_is_for("schedules"));
  ScheduledWork work;
  if (const Goal* goal = std::get_if<Goal>(&work_)) work = of(*goal, part);
  if (const Chakra* chakra = std::get_if<Chakra>(&work_)) work = of(*chakra, part);
  if (const Parallel* parallel = std::get_if<Parallel>(&work_)) work = of(*parallel, part, reach);
  if (const Collective* collective = std::get_if<Collective>(&work_)) work = of(*collective, part);
  work.times = times_;
  const std::size_t operations = work.schedule.operations().size();
  if (operations > most_scheduled_operations / static_cast<std::size_t>(times_))
    where_.fail("it has more than " + std::to_string(most_scheduled_operations) +
                " operations in all iterations; fewer iterations would fit");
  if (std::holds_alternative<Parallel>(work_) &&
      messages_of(work.schedule) > most_step_messages / times_)
    where_.fail(too_many_messages("GPUs, micro-batches or iterations"));
  return work;
}

bool WorkOfJob::goes_by_node() const {
  constexpr char by_node[] = "hierarchical";
  if (const Chakra* chakra = std::get_if<Chakra>(&work_))
    return std::any_of(operation_names().begin(), operation_names().end(),
                       [&](const std::string& name) {
                         return chakra->algorithms.name_of(operation_named(name, "")) == by_node;
                       });
  const Collective* collective = std::get_if<Collective>(&work_);
  return collective != nullptr && text_member(collective->field, "algorithm") == by_node &&
         !collective->field.contains(Json::json_pointer("/options/group"));
}

ScheduledWork WorkOfJob::of(const Goal& goal, const Cluster&) const {
  return {.kind = "schedule", .what = file_name(goal.file), .schedule = goal.schedule};
}

ScheduledWork WorkOfJob::of(const Chakra& chakra, const Cluster& part) const {
  ChakraQuestion question;
  question.files = chakra.files;
  question.has_groups = !chakra.groups.empty();
  if (question.has_groups)
    question.groups = read_rank_groups(chakra.groups, static_cast<uint32_t>(chakra.files.size()));
  question.algorithms = algorithms_in(chakra.algorithm, usual_algorithms(part));
  question.network = &part.network;
  question.cluster = &part;
  question.pays_folds = true;
  question.on_wires = true;
  question.shares = true;
  question.alpha = usual_alpha(part.kind);
  const ChakraSchedule read(question);
  if (!read.problems().empty())
    where_.fail(read.problems().front() + "; `sgdsim replay` says more");
  return {.kind = "schedule",
          .what = file_name(chakra.files.front()),
          .schedule = read.schedule(),
          .notes = read.notes()};
}

ScheduledWork WorkOfJob::of(const Parallel& parallel, const Cluster& part,
                            const UsualReach& reach) const {
  AlgorithmChoice algorithms = parallel.algorithms;
  algorithms.nccl = nccl_view(reach, parallel.gpu);
  GroupTimes groups(part, parallel.layout.gpus(), algorithms);
  const TrainingStep step{parallel.model, parallel.layout,    parallel.sequence,
                          parallel.gpu,   parallel.precision, parallel.documents.get()};
  try {
    return {.kind = "layout",
            .what = to_text(parallel.layout),
            .schedule = gpu_schedule(step, part, groups).schedule,
            .notes = parallel.notes};
  } catch (const InputError& error) {
    where_.fail(error.what());
  }
}

namespace {

// What people run among these workers, where nothing is named; and nothing is paid for a launch, as
// `sgdsim collective` counts: it is a call alone, and not one of a program's steps.
Json on_part(Json field, const Cluster& part, Operation operation) {
  if (!field.contains("algorithm")) field["algorithm"] = usual_algorithm(part, operation);
  if (field["algorithm"] == "nccl" && !field.contains("launch")) field["launch"] = "0 us";
  return field;
}

}  // namespace

ScheduledWork WorkOfJob::of(const Collective& collective, const Cluster& part) const {
  const Value place = where_.child("collective");
  const Json asked = on_part(collective.field, part, collective.operation);
  CollectiveField field = read_collective(Value(asked, place.file(), place.path()));
  field.on_wires = true;
  check_options(field.options, place);
  if (!field.nccl && field.algorithms.empty())
    place.fail("it has no messages: name an algorithm of `sgdsim list algorithms`");
  const auto workers = static_cast<uint32_t>(part.network.workers());
  const Transfer transfer{collective.operation, collective.size, {}};
  const MessageCost cost = field.cost(part, collective.operation).with_messages();
  std::optional<Network> network;
  ScheduledWork work{.kind = "collective",
                     .what = std::string(name_of(collective.operation)) + " of " +
                             to_text(collective.size) + " by " + field.name,
                     .schedule = RankSchedule(workers)};
  std::vector<int> members;
  for (uint32_t rank = 0; rank < workers; ++rank) members.push_back(static_cast<int>(rank));
  const uint32_t group = work.schedule.add_group(members);
  const uint32_t program =
      work.schedule.add_program(workers > 1 ? cost.program_of(transfer, network) : Program(), true);
  for (uint32_t rank = 0; rank < workers; ++rank) {
    std::vector<RankOperation> call = {RankOperation::of({group, 0, program, rank})};
    std::vector<RankSchedule::Requirement> nothing;
    work.schedule.write(rank, call, nothing);
  }
  if (const std::string instead = cost.stand_in_of(transfer); !instead.empty())
    work.notes.push_back("NCCL's model is a formula, without messages: " + instead +
                         " is simulated");
  return work;
}

}  // namespace sgdsim
