// The option table. A closed set of values is a list of pairs {text, what it sets}.
#include "models/collective/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

using Setter = void (*)(CollectiveOptions&, const std::string& value, const std::string& where);

struct Row {
  OptionKey key;
  Setter set;
};

// Sets `flag` to whether the second of the two accepted values was given.
void choose(bool& flag, const std::string& value, const std::string& no, const std::string& yes,
            const std::string& where) {
  if (value != no && value != yes) throw InputError(where, unknown_name("value", value, {no, yes}));
  flag = value == yes;
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

#define SGDSIM_FLAG(field, no, yes)                                      \
  [](CollectiveOptions& o, const std::string& v, const std::string& w) { \
    choose(o.field, v, no, yes, w);                                      \
  }

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {{"alpha", "port|wire", "alpha occupies both ports, or is flight time"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         bool wire = false;
         choose(wire, v, "port", "wire", w);
         o.alpha = wire ? AlphaRule::wire : AlphaRule::port;
       }},
      {{"ports", "turns|shared", "messages in progress take turns at a port, or share it"},
       SGDSIM_FLAG(shares_ports, "turns", "shared")},
      {{"send_buffer", "SIZE", "ports=shared: what a sender can hand over of each message"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         o.send_buffer = parse_bytes(v, w);
       }},
      {{"routing", "by_destination|hashed|split",
        "fidelity flow: which of several shortest routes"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         o.routing = routing_named(v, w);
       }},
      {{"chunks", "whole|fractional", "chunks of whole bytes, or of exactly n/P"},
       SGDSIM_FLAG(fractional_chunks, "whole", "fractional")},
      {{"duplex", "port|link", "one port per direction, or every directed link by itself"},
       SGDSIM_FLAG(link_duplex, "port", "link")},
      {{"gamma", "serial|overlap", "a fold extends the stage, or has an engine of its own"},
       SGDSIM_FLAG(gamma_overlaps, "serial", "overlap")},
      {{"lp_steps", "exact|paper", "P-2+m steps, or the paper's P-1+n/b (closed form only)"},
       SGDSIM_FLAG(lp_paper_steps, "exact", "paper")},
      {{"lp_allreduce", "overlapped|sequential", "finished blocks are sent back at once, or after"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         bool sequential = false;
         choose(sequential, v, "overlapped", "sequential", w);
         o.lp_allreduce_overlaps = !sequential;
       }},
      {{"lp_arbitration", "reduce-first|broadcast-first", "who wins a port (duplex=port)"},
       SGDSIM_FLAG(lp_broadcast_first, "reduce-first", "broadcast-first")},
      {{"lp_root", "last|first", "the chain's end that holds the result"},
       SGDSIM_FLAG(lp_root_first, "last", "first")},
      {{"lp_drain", "on|off", "the chain empties between messages, or they stream"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         bool off = false;
         choose(off, v, "on", "off", w);
         o.lp_drains = !off;
       }},
      {{"mst_reduce", "rendezvous|eager", "children one by one, or into private buffers"},
       SGDSIM_FLAG(mst_eager, "rendezvous", "eager")},
      {{"be_allgather", "ring|recursive-doubling", "the second half of a broadcast"},
       SGDSIM_FLAG(be_recursive_doubling, "ring", "recursive-doubling")},
      {{"be_barrier", "on|off", "the all-gather waits for the whole scatter, or for neighbours"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         bool off = false;
         choose(off, v, "on", "off", w);
         o.be_barrier = !off;
       }},
      {{"inner", "ALGORITHM", "hierarchical: inside a group"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         o.inner = algorithm_named(v, w).name;
       }},
      {{"outer", "ALGORITHM", "hierarchical: across groups"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         o.outer = algorithm_named(v, w).name;
       }},
      {{"hierarchical", "sharded|leader", "all members of a group talk outside, or one"},
       SGDSIM_FLAG(hierarchical_by_leader, "sharded", "leader")},
      {{"group", "N", "hierarchical: ranks per group; default: the GPUs of a node"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         o.group = whole_number(v, w);
       }},
      {{"direct", "rounds|at_once", "one message after another, or all pairs at the same time"},
       SGDSIM_FLAG(direct_at_once, "rounds", "at_once")},
      {{"dims", "AxB[xC]", "torus_ring: ranks per dimension; default: the cluster's"},
       [](CollectiveOptions& o, const std::string& v, const std::string& w) {
         o.dims = dimensions(v, w);
       }},
  };
  return table;
}
#undef SGDSIM_FLAG

// Those that concern every algorithm.
constexpr std::array<std::string_view, 5> general_options = {"alpha", "ports", "send_buffer",
                                                             "routing", "chunks"};

bool is_general(const std::string& key) {
  return std::find(general_options.begin(), general_options.end(), key) != general_options.end();
}

bool reads(const Algorithm& algorithm, const std::string& key) {
  return std::find(algorithm.options.begin(), algorithm.options.end(), key) !=
         algorithm.options.end();
}

}  // namespace

const std::vector<OptionKey>& option_keys() {
  static const std::vector<OptionKey> keys = [] {
    std::vector<OptionKey> list;
    for (const Row& row : rows()) list.push_back(row.key);
    return list;
  }();
  return keys;
}

void set_option(CollectiveOptions& options, const std::string& key, const std::string& value,
                const std::string& where) {
  std::vector<std::string> known;
  const std::string place = where + " " + key;
  for (const Row& row : rows()) {
    if (row.key.name == key) return row.set(options, value, place);
    known.emplace_back(row.key.name);
  }
  throw InputError(where, unknown_name("option", key, known));
}

void check_option_applies(const Algorithm& algorithm, const CollectiveOptions& options,
                          const std::string& key, const std::string& where) {
  if (key == "send_buffer" && !options.shares_ports && !options.direct_at_once)
    throw InputError(where, "option send_buffer has no effect without ports=shared");
  if (is_general(key) || reads(algorithm, key)) return;
  if (algorithm.name == "hierarchical" && (reads(algorithm_named(options.inner, where), key) ||
                                           reads(algorithm_named(options.outer, where), key)))
    return;
  std::vector<std::string> known(std::begin(general_options), std::end(general_options));
  for (const std::string_view option : algorithm.options) known.emplace_back(option);
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  throw InputError(where, "option " + key + " has no effect on " + std::string(algorithm.name) +
                              "; its options: " + list);
}

}  // namespace sgdsim
