// JSON or a table, by its first letter.
#include "study/traffic/traffic_file.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

#include "models/traffic/traffic.h"
#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/quantity.h"
#include "traces/flows_csv.h"
#include "traces/htsim_matrix.h"

namespace sgdsim {
namespace {

constexpr char traffic_schema[] = "sgdsim/traffic/1";

// The ways of links by the names of their ends.
class NamedWays {
 public:
  explicit NamedWays(const Resources& wires) {
    const std::size_t ways = wires.capacities().size();
    for (uint32_t way = 0; way < ways; ++way) {
      const ResourceName name = wires.name_of(way);
      links_[{name.from, name.to}].push_back(way);
      for (const std::string* end : {&name.from, &name.to}) vertices_[*end].push_back(way);
    }
  }
  // Both directions.
  std::vector<uint32_t> link(const Value& value) const {
    const std::vector<Value> ends = value.items();
    if (ends.size() != 2) value.fail("expected the names of two vertices");
    std::vector<uint32_t> found;
    for (const auto& pair :
         {std::pair(ends[0].text(), ends[1].text()), std::pair(ends[1].text(), ends[0].text())})
      if (const auto place = links_.find(pair); place != links_.end())
        found.insert(found.end(), place->second.begin(), place->second.end());
    if (found.empty()) {
      for (const Value& end : ends) vertex(end);  // which knows what is wrong
      value.fail("there is no link between \"" + ends[0].text() + "\" and \"" + ends[1].text() +
                 "\"");
    }
    return found;
  }
  // All at a vertex.
  const std::vector<uint32_t>& vertex(const Value& value) const {
    const auto place = vertices_.find(value.text());
    if (place != vertices_.end()) return place->second;
    std::vector<std::string> known;
    constexpr std::size_t shown = 20;
    for (const auto& [name, ways] : vertices_)
      if (known.size() < shown) known.push_back(name);
    if (vertices_.size() > shown) known.emplace_back("...");
    value.fail(unknown_name("vertex", value.text(), known));
  }

 private:
  std::map<std::pair<std::string, std::string>, std::vector<uint32_t>> links_;
  std::map<std::string, std::vector<uint32_t>> vertices_;
};

struct ChangeFields {
  Duration at;
  std::optional<Value> link, vertex;
  std::optional<double> bandwidth, loss;
};

Json schema_of_link_ends() { return list_schema(text_schema(), 2, 2); }

Fields fields_of(ChangeFields& o) {
  return Fields{
      Field("at", o.at, "when it happens").needed(),
      Field("link", o.link, "names of the two vertices that it joins; both directions change")
          .like(schema_of_link_ends),
      Field("vertex", o.vertex, "a vertex, all of whose links change").like(text_schema),
      Field("bandwidth", o.bandwidth,
            "from then on, the part of its bandwidth; 0: it is closed, and flows take "
            "other shortest routes, or wait")
          .from(0, 1000),
      Field("loss", o.loss,
            "in place of `bandwidth`, at fidelity packet: from then on, the chance of a "
            "packet to be lost there")
          .from(0, 1)}
      .exactly_one({"link", "vertex"}, "expected either a `link` (two names) or a `vertex`")
      .exactly_one({"bandwidth", "loss"}, "expected either a `bandwidth` or a `loss`",
                   "the field \"bandwidth\" is missing");
}

WireChange read_change(const Value& value, const NamedWays& names) {
  const auto given = read_record<ChangeFields>(value);
  WireChange change;
  change.at = Time() + given.at;
  change.resources = given.link ? names.link(*given.link) : names.vertex(*given.vertex);
  if (given.loss)
    change.loss = *given.loss;
  else
    change.factor = *given.bandwidth;
  return change;
}

struct TrafficFields {
  FileHead head;
  uint64_t seed = 1;
  std::optional<Value> flows, changes;
};

Json schema_of_changes() { return list_schema(schema_of_record<ChangeFields>()); }
Json schema_of_either() {
  return {{"anyOf",
           {{{"required", Json::array({"flows"})}}, {{"required", Json::array({"changes"})}}}}};
}

Fields fields_of(TrafficFields& o) {
  return (head_fields(o.head, traffic_schema) +
          Fields{Field("seed", o.seed, "seed of what is drawn").from(0, int64_t{1} << 62),
                 Field("flows", o.flows, "one generator, or several").like(schema_of_flows),
                 Field("changes", o.changes, "what happens to links").like(schema_of_changes)})
      .also(schema_of_either);
}

// Other than lists of flows.
bool has_generators(const Value& flows) {
  const auto draws = [](const Value& one) {
    return text_member(one.json(), "generator") != "listed";
  };
  if (!is_list(flows.json())) return draws(flows);
  bool found = false;
  flows.for_each_item([&](const Value& one) { found = found || draws(one); });
  return found;
}

// JSON or a table.
TrafficFile traffic_in(const std::string& text, const std::string& where, const Cluster& cluster,
                       const Resources& wires, std::optional<uint64_t> seed) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{')
    return read_traffic(Document::parse(text, where).root(), cluster, wires, seed);
  const int workers = cluster.network.workers();
  TrafficFile traffic;
  traffic.flows = is_htsim_matrix(text) ? parse_htsim_matrix(text, where, workers)
                                        : parse_flows_csv(text, where, workers);
  return traffic;
}

}  // namespace

TrafficFile read_traffic(const std::string& file, const Cluster& cluster, const Resources& wires,
                         std::optional<uint64_t> seed) {
  const bool is_inline = file.starts_with('{');
  const std::string where = is_inline ? "inline" : file;
  TrafficFile traffic = traffic_in(is_inline ? file : read_text(file), where, cluster, wires, seed);
  if (traffic.flows.empty()) throw InputError(where + ": /", "the field \"flows\" is missing");
  if (traffic.name.empty())
    traffic.name =
        file == "-" || is_inline ? "traffic" : std::filesystem::path(file).stem().string();
  return traffic;
}

TrafficFile read_traffic(const Value& value, const Cluster& cluster, const Resources& wires,
                         std::optional<uint64_t> seed) {
  TrafficFile traffic;
  const auto given = read_record<TrafficFields>(value);
  traffic.name = given.head.name;
  traffic.seed = seed.value_or(given.seed);
  if (!given.flows && !given.changes) value.fail("has neither `flows` nor `changes`");
  const OwnSeeds own_seeds = seed ? OwnSeeds::give_way : OwnSeeds::hold;
  traffic.has_generators = given.flows && has_generators(*given.flows);
  if (given.flows)
    traffic.flows = read_flows(*given.flows, cluster.network, traffic.seed, own_seeds);
  if (given.changes) {
    if (!wires.are_routes())
      given.changes->fail("links change on wires: --fidelity flow or packet");
    const NamedWays names(wires);
    for (const Value& change : given.changes->items())
      traffic.changes.push_back(read_change(change, names));
    std::stable_sort(traffic.changes.begin(), traffic.changes.end(),
                     [](const WireChange& a, const WireChange& b) { return a.at < b.at; });
  }
  return traffic;
}

Json schema_of_traffic_files() { return schema_of_record<TrafficFields>(); }

TrafficFile read_meanwhile(const std::string& traffic, const std::string& option,
                           const Cluster& cluster, const Resources& wires) {
  if (traffic.starts_with('{')) return traffic_in(traffic, option, cluster, wires, std::nullopt);
  return traffic_in(read_text(traffic), traffic, cluster, wires, std::nullopt);
}

std::string traffic_field(const std::string& traffic, const std::string& option) {
  if (traffic.starts_with('{')) {
    Document::parse(traffic, option);
    return traffic;
  }
  const std::string text = read_text(traffic);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') return text;
  constexpr int any = std::numeric_limits<int>::max();
  Json list = Json::array();
  for (const PlainFlow& flow : is_htsim_matrix(text) ? parse_htsim_matrix(text, traffic, any)
                                                     : parse_flows_csv(text, traffic, any))
    list.push_back({{"start", to_text(flow.start.since_start())},
                    {"from", flow.from},
                    {"to", flow.to},
                    {"size", to_text(flow.size)}});
  return Json({{"flows", {{"generator", "listed"}, {"list", std::move(list)}}}}).dump();
}

void check_traffic_option(const std::string& traffic, bool has_messages) {
  if (!traffic.empty() && !has_messages)
    throw InputError("--traffic",
                     "needs messages that it can meet: --fidelity message, flow or packet");
}

Field traffic_beside_field(std::string& traffic) {
  return {
      "traffic", traffic,
      "what else is on the wires (at fidelity message: at the ports, which are shared then), and "
      "links that fail (fidelities flow and packet): a traffic file, or JSON itself: "
      "{\"changes\": [...]}"};
}

}  // namespace sgdsim
