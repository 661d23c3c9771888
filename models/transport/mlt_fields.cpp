// What a file says of MLT and DLCP: bounds and importance by layer, thresholds, rates and parts.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "models/transport/mlt.h"
#include "sim/core/refusal.h"

namespace sgdsim {
namespace {

constexpr uint32_t marked_packets = 65;  // or more wait

// Which of bounded loss, queues by layer and ways are used: "ABC".
void read_parts(Object& fields, MltRules& rules, PacketSetup& setup) {
  const auto field = fields.find("parts");
  if (!field) return;
  std::string left = field->text();
  const auto take = [&](char letter) {
    const std::size_t place = left.find(letter);
    if (place == std::string::npos) return false;
    left.erase(place, 1);
    return true;
  };
  // A part that is not used has no fields.
  const auto refuse = [&](char letter, const char* name) {
    if (fields.has(name))
      throw no_effect(fields.at(name).where(), std::string("without part ") + letter);
  };
  if (!take('A')) {
    for (const char* name : {"loss_bound", "pull_loss_bound"}) refuse('A', name);
    rules.loss_bound = rules.pull_loss_bound = {0.0};
  }
  rules.goes_by_depth = take('B');
  if (!rules.goes_by_depth)
    for (const char* name : {"important", "thresholds"}) refuse('B', name);
  if (!take('C')) {
    refuse('C', "spray");
    setup.spray = Spray::per_flow;
  }
  if (!left.empty())
    field->fail("expected some of A (bounded loss), B (queues by layer) and C (all ways), got \"" +
                field->text() + "\"");
}

// What counts grows from the first queue of data to the last one.
void set_thresholds(const std::vector<Bytes>& thresholds, PacketSetup& setup) {
  std::array<uint64_t, packet_queues>& above_B = setup.queues.mark_above_B;
  const double first_B = static_cast<double>(marked_packets) * setup.packet_B;
  const double last_B = std::max(first_B, 0.75 * static_cast<double>(setup.queues.port_limit_B));
  constexpr std::size_t queues = packet_queues - 1;
  for (std::size_t i = 0; i < queues; ++i)
    above_B[i + 1] = static_cast<uint64_t>(first_B + (last_B - first_B) * static_cast<double>(i) /
                                                         static_cast<double>(queues - 1));
  if (thresholds.empty()) return;
  for (std::size_t i = 0; i < queues; ++i)
    above_B[i + 1] = static_cast<uint64_t>(thresholds[i].count());
}

void check_thresholds(const Value& list) {
  if (list.size() != packet_queues - 1)
    list.fail("expected the thresholds of " + std::to_string(packet_queues - 1) +
              " queues, front first");
}

}  // namespace

void set_mlt_defaults(PacketSetup& setup) {
  setup.packet_B = 1500;
  setup.header_B = 44;
  setup.spray = Spray::permuted;
  setup.queues.port_limit_B = 512'000;
}

Fields fields_of(MltOptions& o) {
  MltRules& rules = o.rules;
  Fields fields = {
      Field("loss_bound", rules.loss_bound,
            "part of the packets that need not come, or parts by layer, front layers first")
          .from(0, 1)
          .filled("part")
          .or_one(),
      Field("pull_loss_bound", o.pull_loss_bound, "the same of parameters that are pulled")
          .from(0, 1)
          .filled("part")
          .or_one()
          .otherwise(rules.falls_by_marks ? "0.05, but not above loss_bound"
                                          : "0.1, but not above loss_bound"),
      Field("important", rules.important,
            "part of the packets that are dropped last, or parts by layer")
          .from(0, 1)
          .filled("part")
          .or_one(),
      Field("answer_every", rules.answer_every, "packets for which a receiver answers once")
          .from(1U, most_packets),
      Field("halve_after", rules.halve_after,
            "packets without an answer after which a rate is halved; 0: never")
          .from(0U, most_packets)
          .otherwise("those of six answers"),
      {"ask_after", rules.ask_after, "time after the last packet until a sender asks what lacks"},
      Field("question_timeout", rules.question_timeout, "time until it asks again")
          .also(check_some_time),
      Field("forget_after", rules.forget_after,
            "time with nothing to send after which a connection begins anew")
          .otherwise("question_timeout"),
      Field("step", o.step, "by which a rate rises").otherwise("0.0016 of the line's"),
      Field("least_rate", rules.least_rate, "least rate, as a part of the line's").from(0, 1),
      Field("thresholds", o.thresholds,
            "bytes above which packets of each queue that need not come are dropped, front first")
          .also(check_thresholds)
          .otherwise("from 65 packets to 3/4 of the buffer"),
      {"parts", o.parts,
       "which of bounded loss (A), queues by layer and importance (B), and all ways (C) are used"}};
  if (rules.falls_by_marks)
    return std::move(fields) +
           Fields{Field("gain", rules.gain, "weight of the latest marks in their mean").from(0, 1)};
  return std::move(fields) +
         Fields{Field("short_trip", rules.short_trip, "a round trip below which a rate rises")
                    .also(check_some_time)
                    .otherwise("where the fullest port is full to a 64th"),
                Field("long_trip", rules.long_trip, "a round trip above which a rate falls")
                    .also(check_some_time)
                    .otherwise("where the fullest port is full to 0.7"),
                Field("fall", rules.fall, "how much a rate falls").from(0, 1)};
}

void read_mlt_fields(Object& fields, MltRules& rules, PacketSetup& setup) {
  if (rules.falls_by_marks)
    for (const char* name : {"short_trip", "long_trip", "fall"})
      if (fields.has(name))
        throw no_effect(fields.at(name).where(), "where rates fall by marks, as those of dlcp");
  MltOptions options{.rules = rules};
  read_fields(fields, fields_of(options));
  rules = options.rules;
  PartsByDepth pulls = rules.loss_bound;
  for (double& bound : pulls) bound = std::min(bound, rules.pull_loss_bound.front());
  rules.pull_loss_bound = options.pull_loss_bound.value_or(std::move(pulls));
  if (options.step) rules.step_Bps = options.step->Bps();
  if (rules.least_rate <= 0) fields.at("least_rate").fail("a rate of 0 sends nothing");
  rules.seed = setup.seed;
  setup.queues.selects = true;
  set_thresholds(options.thresholds, setup);
  read_parts(fields, rules, setup);
  if (!rules.goes_by_depth) {
    // Marks stay where rates fall by them, as DCTCP has them.
    setup.queues.selects = false;
    setup.queues.mark_above_B = QueueRules::filled(
        rules.falls_by_marks ? uint64_t{marked_packets} * setup.packet_B : QueueRules::no_limit);
  }
}

}  // namespace sgdsim
