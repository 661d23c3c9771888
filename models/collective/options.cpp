// The general options, and how the values of any option are read.
#include "models/collective/options.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/number_list.h"
#include "sim/core/quantity.h"
#include "sim/core/refusal.h"

namespace sgdsim {
namespace {

using Setter = void (*)(CollectiveOptions&, const std::string& value, const std::string& where);
using Taker = void (*)(CollectiveOptions&, const CollectiveOptions& others);

// Of every algorithm.
struct General {
  OptionKey key;
  Setter set;
  Taker take;
};

// Whether the second of "no|yes" was given.
bool is_second(std::string_view values, const std::string& value, const std::string& where) {
  const std::size_t bar = values.find('|');
  const std::string no(values.substr(0, bar));
  const std::string yes(values.substr(bar + 1));
  if (value != no && value != yes) throw InputError(where, unknown_name("value", value, {no, yes}));
  return value == yes;
}

int whole_number(std::string_view text, const std::string& where) {
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size() || number < 1)
    throw InputError(where, "expected a whole number from 1 on, got \"" + std::string(text) + "\"");
  return number;
}

std::vector<int> dimensions(std::string_view text, const std::string& where) {
  std::vector<int> dims;
  while (true) {
    const std::size_t cross = text.find('x');
    dims.push_back(whole_number(text.substr(0, cross), where));
    if (cross == text.npos) return dims;
    text.remove_prefix(cross + 1);
  }
}

const std::vector<General>& general_options() {
  static const std::vector<General> table = {
      {{"alpha", "port|wire", "alpha occupies both ports, or is flight time"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         o.alpha = is_second("port|wire", v, w) ? AlphaRule::wire : AlphaRule::port;
       },
       [](CollectiveOptions& o, const CollectiveOptions& others) { o.alpha = others.alpha; }},
      {{"ports", "turns|shared", "messages in progress take turns at a port, or share it"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         o.shares_ports = is_second("turns|shared", v, w);
       },
       [](CollectiveOptions& o, const CollectiveOptions& others) {
         o.shares_ports = others.shares_ports;
       }},
      {{"send_buffer", "SIZE", "ports=shared: what a sender can hand over of each message"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         o.send_buffer = parse_bytes(v, w);
       },
       [](CollectiveOptions& o, const CollectiveOptions& others) {
         o.send_buffer = others.send_buffer;
       }},
      {{"routing", "by_destination|hashed|split",
        "fidelity flow: which of several shortest routes"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         o.routing = routing_named(v, w);
       },
       [](CollectiveOptions& o, const CollectiveOptions& others) { o.routing = others.routing; }},
      {{"chunks", "whole|fractional", "chunks of whole bytes, or of exactly n/P"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         o.fractional_chunks = is_second("whole|fractional", v, w);
       },
       [](CollectiveOptions& o, const CollectiveOptions& others) {
         o.fractional_chunks = others.fractional_chunks;
       }},
  };
  return table;
}

// The type of an option says how its values are read.
OptionValue value_of(const AlgorithmOption& option, const std::string& text,
                     const std::string& where) {
  if (std::holds_alternative<bool>(option.otherwise))
    return is_second(option.key.values, text, where);
  if (std::holds_alternative<int>(option.otherwise)) return whole_number(text, where);
  if (std::holds_alternative<std::string>(option.otherwise))
    return std::string(algorithm_named(text, where).name);
  return dimensions(text, where);
}

const AlgorithmOption* option_of(const Algorithm& algorithm, const std::string& key) {
  for (const AlgorithmOption& option : algorithm.options)
    if (option.key.name == key) return &option;
  return nullptr;
}

}  // namespace

bool is_general_option(const std::string& key) {
  return std::any_of(general_options().begin(), general_options().end(),
                     [&](const General& option) { return option.key.name == key; });
}

void take_general_options(CollectiveOptions& options, const CollectiveOptions& others) {
  const auto says = [](const CollectiveOptions& one, std::string_view key) {
    return std::find(one.given.begin(), one.given.end(), key) != one.given.end();
  };
  for (const General& option : general_options()) {
    if (!says(others, option.key.name) || says(options, option.key.name)) continue;
    option.take(options, others);
    options.given.emplace_back(option.key.name);
  }
}

const std::vector<OptionKey>& option_keys() {
  static const std::vector<OptionKey> keys = [] {
    std::vector<OptionKey> list;
    for (const General& option : general_options()) list.push_back(option.key);
    for (const Algorithm& algorithm : algorithms())
      for (const AlgorithmOption& option : algorithm.options)
        if (std::none_of(list.begin(), list.end(),
                         [&](const OptionKey& one) { return one.name == option.key.name; }))
          list.push_back(option.key);
    return list;
  }();
  return keys;
}

Json schema_of_options(const std::vector<OptionKey>& keys) {
  Json json = {{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
  for (const OptionKey& key : keys) {
    Json& option = json["properties"][std::string(key.name)];
    option["description"] = key.meaning;
    std::vector<std::string> words;
    std::istringstream values{std::string(key.values)};
    for (std::string word; std::getline(values, word, '|');) words.push_back(word);
    if (words.size() > 1)
      option["enum"] = words;
    else
      option["type"] = {"string", "integer"};
  }
  return json;
}

void set_option(CollectiveOptions& options, const std::string& key, const std::string& value,
                const std::string& where) {
  const std::string place = where + " " + key;
  options.given.push_back(key);
  for (const General& option : general_options())
    if (option.key.name == key) return option.set(options, value, place);
  for (const Algorithm& algorithm : algorithms())
    if (const AlgorithmOption* option = option_of(algorithm, key))
      return options.own.set(*option, value_of(*option, value, place));
  std::vector<std::string> known;
  for (const OptionKey& option : option_keys()) known.emplace_back(option.name);
  throw InputError(where, unknown_name("option", key, known));
}

bool reads_option(const Algorithm& algorithm, const std::string& key, Operation operation) {
  const AlgorithmOption* option = option_of(algorithm, key);
  if (option == nullptr || option->key.operations.empty()) return true;
  const std::vector<std::string> readers = split_list(std::string(option->key.operations));
  return std::find(readers.begin(), readers.end(), name_of(operation)) != readers.end();
}

void check_option_applies(const Algorithm& algorithm, const CollectiveOptions& options,
                          const std::string& key, const std::string& where) {
  if (key == "send_buffer" && !options.shares_ports && !options.of(sends_at_once))
    throw InputError(where, idle_word("option send_buffer", "without ports=shared"));
  if (is_general_option(key) || option_of(algorithm, key) != nullptr) return;
  if (algorithm.parts != nullptr)
    for (const std::string& part : algorithm.parts(options))
      if (option_of(algorithm_named(part, where), key) != nullptr) return;
  std::string list;
  for (const General& option : general_options())
    list += (list.empty() ? "" : ", ") + std::string(option.key.name);
  for (const AlgorithmOption& option : algorithm.options)
    list += ", " + std::string(option.key.name);
  throw InputError(where, idle_word("option " + key, "on " + std::string(algorithm.name) +
                                                         "; its options: " + list));
}

}  // namespace sgdsim
