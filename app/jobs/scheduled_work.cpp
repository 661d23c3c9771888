// Every kind of work becomes a schedule of ranks, whose collectives are calls.
#include "app/jobs/scheduled_work.h"

#include <algorithm>
#include <filesystem>

#include "app/beside.h"
#include "app/layout/layout_files.h"
#include "app/step/collective_field.h"
#include "models/training/gpu_schedule.h"
#include "models/training/transformer_file.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "traces/chakra.h"
#include "traces/goal.h"

namespace sgdsim {
namespace {

constexpr int64_t most_times = 1'000'000;
constexpr std::size_t most_scheduled_operations = most_gpu_operations;

// A name, or a list of them.
AlgorithmChoice algorithms_in(Object& fields) {
  AlgorithmChoice choice;
  const auto given = fields.find("algorithm");
  if (!given) return choice;
  if (!given->json().is_array()) {
    choice.add(given->text(), given->where());
    return choice;
  }
  for (const Value& one : given->items()) choice.add(one.text(), one.where());
  return choice;
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// What collectives say about all that shares their network is not theirs to say.
void check_options(const CollectiveOptions& options, const Value& where) {
  const CollectiveOptions usual;
  if (options.alpha != usual.alpha || options.shares_ports || options.send_buffer.count() > 0 ||
      options.routing != usual.routing)
    where.fail(
        "the options alpha, ports, send_buffer and routing are of all that shares the network; "
        "leave them out here");
}

}  // namespace

std::optional<WorkOfJob> WorkOfJob::read(Object& fields, const std::optional<int64_t>& workers) {
  const auto schedule = fields.find("schedule");
  const auto layout = fields.find("layout");
  const auto collective = fields.find("collective");
  const int given = (schedule ? 1 : 0) + (layout ? 1 : 0) + (collective ? 1 : 0);
  if (given == 0) return std::nullopt;
  if (given > 1 || fields.has("experiment"))
    fields.value().fail("a job is one of: an experiment, a schedule, a layout, a collective");
  const auto times = fields.find("iterations");
  WorkOfJob work(fields.value(), times ? static_cast<int>(times->whole(1, most_times)) : 1);
  if (layout)
    work.work_ = read_parallel(*layout, workers);
  else if (collective)
    work.work_ = read_collective_work(*collective);
  else
    work.work_ = read_schedule(*schedule);
  return work;
}

WorkOfJob::Work WorkOfJob::read_schedule(const Value& value) {
  Chakra chakra;
  const auto add_file = [&](const Value& file) {
    chakra.files.push_back(beside(file.file(), file.text()));
  };
  const auto add_files = [&](const Value& files) {
    if (!files.json().is_array()) return add_file(files);
    files.for_each_item(add_file);
    if (chakra.files.empty()) files.fail("no files");
  };
  if (value.json().is_object()) {
    Object fields(value);
    add_files(fields.at("files"));
    if (const auto groups = fields.find("groups"))
      chakra.groups = beside(groups->file(), groups->text());
    chakra.algorithms = algorithms_in(fields);
    fields.done();
  } else {
    add_files(value);
  }
  if (chakra.files.size() > 1 || looks_like_chakra(chakra.files.front())) {
    chakra.files = files_by_rank(chakra.files);
    return chakra;
  }
  if (!chakra.groups.empty() || !chakra.algorithms.is_usual())
    value.fail("groups and algorithms are of Chakra traces; a GOAL schedule has neither");
  Goal goal{chakra.files.front(), read_goal(chakra.files.front())};
  if (const auto circle = goal.schedule.find_circle(); !circle.empty())
    value.fail(std::to_string(circle.size()) +
               " operations wait for each other in a circle; `sgdsim replay` names them");
  return goal;
}

WorkOfJob::Parallel WorkOfJob::read_parallel(const Value& value,
                                             const std::optional<int64_t>& workers) {
  Object fields(value);
  Parallel parallel;
  parallel.model = model_in(fields.at("model"));
  const auto gpu = fields.find("gpu");
  parallel.gpu = gpu ? gpu_in(*gpu) : load_gpu("h100");
  if (const auto precision = fields.find("precision"))
    parallel.precision = precision_named(precision->text(), precision->where());
  check_precision(parallel.gpu, parallel.precision, value.where());
  const Value text = fields.at("layout");
  int64_t batch = 0;
  if (const auto given = fields.find("global_batch")) batch = given->whole(1, most_global_batch);
  parallel.layout =
      completed(parse_layout(text.text(), text.where()), text.text(), workers.value_or(0), batch);
  check_sizes(parallel.layout, text.where());
  if (batch > 0 && parallel.layout.batch() != batch)
    text.fail("dp x mbs x ga is " + std::to_string(parallel.layout.batch()) +
              ", but global_batch is " + std::to_string(batch));
  const auto sequence = fields.find("sequence");
  parallel.sequence = sequence ? sequence->whole(1, most_sequence) : parallel.model.sequence;
  const std::string where = sequence ? sequence->where() : value.where();
  check_sequence(parallel.model, parallel.sequence, where);
  check_layout(parallel.model, parallel.layout, parallel.sequence, text.where());
  const auto memory = fields.find("memory");
  check_memory(parallel.model, parallel.layout, parallel.sequence,
               memory ? memory->bytes() : parallel.gpu.memory, usual_reserve, text.where());
  parallel.algorithms = algorithms_in(fields);
  parallel.notes = parallel.model.notes;
  fields.done();
  return parallel;
}

WorkOfJob::Collective WorkOfJob::read_collective_work(const Value& value) {
  Object fields(value);
  Collective collective;
  if (const auto operation = fields.find("operation"))
    collective.operation = operation_named(operation->text(), operation->where());
  const Value bytes = fields.at("bytes");
  collective.size = bytes.bytes();
  if (collective.size.count() == 0) bytes.fail("expected at least 1 B");
  collective.field = value.json();
  collective.field.erase("operation");
  collective.field.erase("bytes");
  if (!collective.field.contains("algorithm")) collective.field["algorithm"] = "ring";
  return collective;
}

std::optional<int64_t> WorkOfJob::ranks() const {
  if (const Goal* goal = std::get_if<Goal>(&work_)) return goal->schedule.ranks();
  if (const Chakra* chakra = std::get_if<Chakra>(&work_))
    return static_cast<int64_t>(chakra->files.size());
  if (const Parallel* parallel = std::get_if<Parallel>(&work_)) return parallel->layout.gpus();
  return std::nullopt;
}

ScheduledWork WorkOfJob::on(const Cluster& part) const {
  if (part.network.crowding().any()) where_.fail(crowding_is_for("schedules"));
  ScheduledWork work;
  if (const Goal* goal = std::get_if<Goal>(&work_)) work = of(*goal, part);
  if (const Chakra* chakra = std::get_if<Chakra>(&work_)) work = of(*chakra, part);
  if (const Parallel* parallel = std::get_if<Parallel>(&work_)) work = of(*parallel, part);
  if (const Collective* collective = std::get_if<Collective>(&work_)) work = of(*collective, part);
  work.times = times_;
  const std::size_t operations = work.schedule.operations().size();
  if (operations > most_scheduled_operations / static_cast<std::size_t>(times_))
    where_.fail("it has more than " + std::to_string(most_scheduled_operations) +
                " operations in all iterations; fewer iterations would fit");
  return work;
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
  question.algorithms = chakra.algorithms;
  question.network = &part.network;
  question.pays_folds = true;
  question.on_wires = true;
  if (chakra.files.size() % static_cast<std::size_t>(part.workers_per_node) == 0)
    question.workers_per_node = part.workers_per_node;
  const ChakraSchedule read(question);
  if (!read.problems().empty())
    where_.fail(read.problems().front() + "; `sgdsim replay` says more");
  return {.kind = "schedule",
          .what = file_name(chakra.files.front()),
          .schedule = read.schedule(),
          .notes = read.notes()};
}

ScheduledWork WorkOfJob::of(const Parallel& parallel, const Cluster& part) const {
  GroupTimes groups(part, parallel.layout.gpus(), parallel.algorithms);
  const TrainingStep step{parallel.model, parallel.layout, parallel.sequence, parallel.gpu,
                          parallel.precision};
  try {
    return {.kind = "layout",
            .what = to_text(parallel.layout),
            .schedule = gpu_schedule(step, part, groups).schedule,
            .notes = parallel.notes};
  } catch (const InputError& error) {
    where_.fail(error.what());
  }
}

ScheduledWork WorkOfJob::of(const Collective& collective, const Cluster& part) const {
  const Value place = where_.child("collective");
  const CollectiveField field =
      read_collective(Value(collective.field, place.file(), place.path()));
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
