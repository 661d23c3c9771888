// A schedule is played once, however many ends of it were measured.
#include "study/validate/schedule_rows.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "sim/play/replay.h"
#include "study/beside.h"
#include "study/transport_choice.h"
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

// The end of the whole schedule, and of operations of it.
void add_rows(const Value& value, const ScheduleCase& shared,
              void (*read_outcome)(Object& fields, CaseRow& row), std::vector<CaseRow>& rows) {
  Object fields(value);
  CaseRow all;
  read_outcome(fields, all);
  const Value file = fields.at("schedule");
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
  const auto ends = fields.find("ends");
  fields.done();
  if (!ends) return;
  all.quartiles.reset();
  for (const Value& one : ends->items()) {
    Object end(one);
    const uint32_t operation = operation_at(played->schedule(), end.at("line"));
    CaseRow row = all;
    row.measured = end.at("time").duration();
    if (row.measured == Duration()) end.at("time").fail("expected a time above 0");
    end.done();
    const std::string line = std::to_string(played->schedule().operations()[operation].line);
    row.point += ", line " + line;
    row.inputs.line = std::stoi(line);
    row.predict = [played, operation] { return Prediction{played->end_of(operation), {}}; };
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::vector<CaseRow> read_schedule_rows(Object& fields,
                                        void (*read_outcome)(Object& fields, CaseRow& row)) {
  ScheduleCase shared;
  shared.cluster = std::make_shared<const Cluster>(read_cluster(fields.at("cluster")).cluster);
  if (shared.cluster->network.crowding().any()) fields.value().fail(crowding_is_for("schedules"));
  const Value transport = fields.at("transport");
  check_transport(transport);
  shared.carrier = carrier_of(transport, {}, 1);
  std::vector<CaseRow> rows;
  for (const Value& row : fields.at("measured").items()) add_rows(row, shared, read_outcome, rows);
  return rows;
}

}  // namespace sgdsim
