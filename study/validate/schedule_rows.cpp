// Cases of kind "schedule": what ranks did, message by message, on a cluster, by a transport of
// packets; and when operations of it ended. A schedule is played once, however many ends of it were
// measured.
#include <algorithm>
#include <memory>
#include <optional>

#include "models/transport/transport.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "sim/play/replay.h"
#include "study/beside.h"
#include "study/transport_choice.h"
#include "study/validate/case_kind.h"
#include "topologies/cluster_file.h"
#include "traces/goal.h"

namespace sgdsim {
namespace {

// One schedule, and what playing it gives.
class PlayedSchedule {
 public:
  PlayedSchedule(RankSchedule schedule, std::shared_ptr<const Cluster> cluster, MakeCarrier carrier,
                 std::string where)
      : schedule_(std::move(schedule)),
        cluster_(std::move(cluster)),
        carrier_(std::move(carrier)),
        where_(std::move(where)) {}

  const RankSchedule& schedule() const { return schedule_; }
  Duration end_of_all() {
    play_once();
    return *std::max_element(played_->ends.begin(), played_->ends.end()) - Time();
  }
  Duration end_of(uint32_t operation) {
    play_once();
    return played_->ended[operation] - Time();
  }

 private:
  void play_once() {
    if (played_) return;
    Replay question;
    question.schedule = &schedule_;
    question.network = &cluster_->network;
    const auto wires = cluster_->wires({});
    question.resources = wires.get();
    question.carrier = carrier_;
    question.records = true;
    Replayed played = play(question);
    if (played.operations < schedule_.operations().size())
      throw InputError(where_, "the schedule is stuck: " + std::to_string(played.operations) +
                                   " of " + std::to_string(schedule_.operations().size()) +
                                   " operations end; `sgdsim replay` says which do not");
    played_ = std::move(played);
  }

  RankSchedule schedule_;
  std::shared_ptr<const Cluster> cluster_;
  MakeCarrier carrier_;
  std::string where_;
  std::optional<Replayed> played_;
};

struct ScheduleCase {
  std::shared_ptr<const Cluster> cluster;
  MakeCarrier carrier;
};

RankSchedule read_schedule(const Value& field, const Cluster& cluster) {
  RankSchedule schedule = read_goal(beside(field.file(), field.text()));
  if (schedule.ranks() > static_cast<uint32_t>(cluster.network.workers()))
    field.fail(std::to_string(schedule.ranks()) + " ranks do not fit on a cluster of " +
               std::to_string(cluster.network.workers()) + " workers");
  if (schedule.operations().empty()) field.fail("expected a schedule with at least one operation");
  if (!schedule.find_circle().empty()) field.fail("operations wait for each other in a circle");
  return schedule;
}

uint32_t operation_at(const RankSchedule& schedule, const Value& field) {
  const auto line = static_cast<uint32_t>(field.whole(1, int64_t{UINT32_MAX}));
  const auto& all = schedule.operations();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const RankOperation& one) { return one.line == line; });
  if (found == all.end())
    field.fail("the schedule has no operation in line " + std::to_string(line));
  return static_cast<uint32_t>(found - all.begin());
}

struct EndFields {
  int64_t line = 0;
  Duration time;
};

Fields fields_of(EndFields& o) {
  return {Field("line", o.line, "line of the schedule in which the operation stands")
              .needed()
              .from(1, UINT32_MAX),
          measured_time_field(o.time, "when it ended, above 0")};
}

Json schema_of_ends() { return list_schema(schema_of_record<EndFields>()); }
Json schema_of_schedule_file() { return {{"type", "string"}, {"minLength", 1}}; }

struct ScheduleRow {
  std::optional<Value> schedule = {};
  std::optional<Value> ends = {};
};

Fields fields_of(ScheduleRow& o) {
  return {Field("schedule", o.schedule, "path of a schedule in GOAL, beside this file")
              .needed()
              .like(schema_of_schedule_file),
          Field("ends", o.ends,
                "when single operations ended; each is a row of its own, with the use of this one")
              .like(schema_of_ends)};
}

// The end of the whole schedule, and of operations of it.
void add_rows(const Value& value, const ScheduleCase& shared, std::vector<CaseRow>& rows) {
  Object fields(value);
  CaseRow all;
  read_outcome(fields, all);
  const auto given = read_record<ScheduleRow>(fields);
  fields.done();
  const Value& file = *given.schedule;
  const auto played = std::make_shared<PlayedSchedule>(
      read_schedule(file, *shared.cluster), shared.cluster, shared.carrier, value.where());
  double size_B = 0;
  for (const RankOperation& one : played->schedule().operations())
    if (one.verb == RankVerb::send) size_B += static_cast<double>(one.amount);
  all.size = Bytes(static_cast<int64_t>(size_B));
  all.point = file.text();
  all.inputs.schedule = file.text();
  all.predict = [played] { return Prediction{played->end_of_all(), {}}; };
  rows.push_back(all);
  if (!given.ends) return;
  all.quartiles.reset();
  for_each_record<EndFields>(*given.ends, [&](const EndFields& end, Object& object) {
    const uint32_t operation = operation_at(played->schedule(), object.at("line"));
    CaseRow row = all;
    row.measured = end.time;
    row.point += ", line " + std::to_string(end.line);
    row.inputs.line = end.line;
    row.predict = [played, operation] { return Prediction{played->end_of(operation), {}}; };
    rows.push_back(std::move(row));
  });
}

struct ScheduleCaseFields {
  std::optional<Value> cluster = {};
  std::optional<Value> transport = {};
  std::optional<Value> measured = {};
};

Json schema_of_played_cluster() { return reference("../cluster/1"); }

Fields fields_of(ScheduleCaseFields& o) {
  return {Field("cluster", o.cluster, "the machine, as in a cluster file (`sgdsim schema cluster`)")
              .needed()
              .like(schema_of_played_cluster),
          Field("transport", o.transport, "how packets are sent, as the field of an experiment")
              .needed()
              .like(schema_of_transports),
          Field("measured", o.measured, "what ran, and how long it took: schedules of ranks")
              .needed()
              .like(schema_of_case_rows<ScheduleRow>)};
}

std::vector<CaseRow> read_schedule_rows(Object& fields) {
  const auto given = read_record<ScheduleCaseFields>(fields);
  ScheduleCase shared;
  shared.cluster = std::make_shared<const Cluster>(read_cluster(*given.cluster).cluster);
  if (shared.cluster->network.crowding().any()) fields.value().fail(crowding_is_for("schedules"));
  check_transport(*given.transport);
  shared.carrier = carrier_of(*given.transport, {}, 1);
  std::vector<CaseRow> rows;
  given.measured->for_each_item([&](const Value& row) { add_rows(row, shared, rows); });
  return rows;
}

}  // namespace

CaseKind schedule_case() {
  return {"schedule", "what ranks did, message by message", options_of<ScheduleCaseFields>,
          read_schedule_rows};
}

}  // namespace sgdsim
