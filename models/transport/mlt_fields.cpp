// What a file says of MLT and DLCP: bounds and importance by layer, thresholds, rates and parts.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "models/transport/mlt.h"

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
    if (fields.has(name)) fields.at(name).fail(std::string("has no effect without part ") + letter);
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
void set_thresholds(Object& fields, PacketSetup& setup) {
  std::array<uint64_t, packet_queues>& above_B = setup.queues.mark_above_B;
  const double first_B = static_cast<double>(marked_packets) * setup.packet_B;
  const double last_B = std::max(first_B, 0.75 * static_cast<double>(setup.queues.port_limit_B));
  constexpr std::size_t queues = packet_queues - 1;
  for (std::size_t i = 0; i < queues; ++i)
    above_B[i + 1] = static_cast<uint64_t>(first_B + (last_B - first_B) * static_cast<double>(i) /
                                                         static_cast<double>(queues - 1));
  const auto field = fields.find("thresholds");
  if (!field) return;
  const std::vector<Value> items = field->items();
  if (items.size() != queues)
    field->fail("expected the thresholds of " + std::to_string(queues) + " queues, front first");
  for (std::size_t i = 0; i < queues; ++i) {
    const int64_t size_B = items[i].bytes().count();
    above_B[i + 1] = static_cast<uint64_t>(size_B);
  }
}

// A part, or a list of them.
PartsByDepth read_by_depth(Object& fields, const std::string& name, PartsByDepth otherwise) {
  const auto field = fields.find(name);
  if (!field) return otherwise;
  if (!field->json().is_array()) return {field->number(0, 1)};
  PartsByDepth parts;
  for (const Value& item : field->items()) parts.push_back(item.number(0, 1));
  if (parts.empty()) field->fail("expected at least one part");
  return parts;
}

}  // namespace

void set_mlt_defaults(PacketSetup& setup) {
  setup.packet_B = 1500;
  setup.header_B = 44;
  setup.spray = Spray::permuted;
  setup.queues.port_limit_B = 512'000;
}

void read_mlt_fields(Object& fields, MltRules& rules, PacketSetup& setup) {
  rules.loss_bound = read_by_depth(fields, "loss_bound", rules.loss_bound);
  PartsByDepth pulls = rules.loss_bound;
  for (double& bound : pulls) bound = std::min(bound, rules.pull_loss_bound.front());
  rules.pull_loss_bound = read_by_depth(fields, "pull_loss_bound", std::move(pulls));
  rules.important = read_by_depth(fields, "important", rules.important);
  rules.answer_every = read_count(fields, "answer_every", 1, rules.answer_every);
  if (fields.has("halve_after")) rules.halve_after = read_count(fields, "halve_after", 0, 0);
  if (const auto field = fields.find("ask_after")) {
    rules.ask_after = field->duration();
    if (rules.ask_after < Duration()) field->fail("expected 0 s or more");
  }
  rules.question_timeout = read_length(fields, "question_timeout", rules.question_timeout);
  if (const auto field = fields.find("forget_after")) {
    rules.forget_after = field->duration();
    if (*rules.forget_after < Duration()) field->fail("expected 0 s or more");
  }
  if (rules.falls_by_marks) {
    for (const char* name : {"short_trip", "long_trip", "fall"})
      if (fields.has(name)) fields.at(name).fail("has no effect: rates of dlcp fall by marks");
    rules.gain = read_part(fields, "gain", rules.gain);
  }
  rules.short_trip = read_length(fields, "short_trip", rules.short_trip);
  if (fields.has("long_trip")) rules.long_trip = read_length(fields, "long_trip", Duration());
  if (const auto field = fields.find("step")) rules.step_Bps = field->bandwidth().Bps();
  rules.fall = read_part(fields, "fall", rules.fall);
  rules.least_rate = read_part(fields, "least_rate", rules.least_rate);
  if (rules.least_rate <= 0) fields.at("least_rate").fail("a rate of 0 sends nothing");
  rules.seed = setup.seed;
  setup.queues.selects = true;
  set_thresholds(fields, setup);
  read_parts(fields, rules, setup);
  if (!rules.goes_by_depth) {
    // Marks stay where rates fall by them, as DCTCP has them.
    setup.queues.selects = false;
    setup.queues.mark_above_B = QueueRules::filled(
        rules.falls_by_marks ? uint64_t{marked_packets} * setup.packet_B : QueueRules::no_limit);
  }
}

}  // namespace sgdsim
