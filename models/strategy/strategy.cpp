// What strategies share: reading by name, groups of layers, the recurrence of one channel.
#include "models/strategy/strategy.h"

#include <algorithm>

#include "models/strategy/registry.h"
#include "sim/core/error.h"

namespace sgdsim {

Strategy read_strategy(const Value& value) {
  if (value.json().is_string()) return strategy_named(value.text(), value.where());
  Object fields(value);
  const Value name = fields.at("name");
  Strategy strategy = part_named(strategies(), "strategy", name.text(), name.where()).read(fields);
  strategy.name = name.text();
  fields.done();
  return strategy;
}

Json schema_of_strategies() { return schema_of_parts(texts_of(strategies())); }

Strategy strategy_named(const std::string& name, const std::string& where) {
  const StrategyKind& kind = part_named(strategies(), "strategy", name, where);
  const Json empty = Json::object();
  Object fields(Value(empty, where, ""));
  Strategy strategy = kind.read(fields);
  strategy.name = name;
  return strategy;
}

bool is_bound(std::string_view strategy) {
  return std::any_of(strategies().begin(), strategies().end(), [&](const StrategyKind& kind) {
    return kind.is_bound && kind.name == strategy;
  });
}

std::vector<int> layers_with_gradients(const Trace& trace) {
  std::vector<int> layers;
  for (std::size_t l = trace.layers.size(); l-- > 0;)
    if (trace.layers[l].gradient.count() > 0) layers.push_back(static_cast<int>(l));
  return layers;
}

PlannedMessage message_of(const Trace& trace, int first_layer, int last_layer) {
  PlannedMessage message{first_layer, last_layer, {}, {}, 0};
  for (int l = first_layer; l <= last_layer; ++l)
    message.size += trace.layers[static_cast<std::size_t>(l)].gradient;
  return message;
}

std::vector<PlannedMessage> layer_by_layer(const Trace& trace) {
  std::vector<PlannedMessage> messages;
  for (const int l : layers_with_gradients(trace)) messages.push_back(message_of(trace, l, l));
  return messages;
}

std::vector<PlannedMessage> all_in_one(const Trace& trace) {
  const std::vector<int> layers = layers_with_gradients(trace);
  if (layers.empty()) return {};
  return {message_of(trace, layers.back(), layers.front())};
}

Duration end_in_order(const std::vector<PlannedMessage>& messages, const MessageCost& cost,
                      const std::vector<Duration>& ready) {
  Duration end;
  for (const PlannedMessage& message : messages) {
    const Duration there = ready[static_cast<std::size_t>(message.first_layer)];
    end = std::max({end, there, message.not_before}) + cost.of(message.size);
  }
  return end;
}

}  // namespace sgdsim
