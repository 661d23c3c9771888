// JSON or a table, by its first letter.
#include "app/traffic/traffic_file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

#include "models/traffic/traffic.h"
#include "sim/core/error.h"
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

WireChange read_change(const Value& value, const NamedWays& names) {
  Object fields(value);
  WireChange change;
  change.at = Time() + fields.at("at").duration();
  const auto link = fields.find("link");
  const auto vertex = fields.find("vertex");
  if (link.has_value() == vertex.has_value())
    value.fail("expected either a `link` (two names) or a `vertex`");
  change.resources = link ? names.link(*link) : names.vertex(*vertex);
  if (const auto loss = fields.find("loss")) {
    change.loss = loss->number(0, 1);
    if (fields.has("bandwidth")) value.fail("expected either a `bandwidth` or a `loss`");
  } else {
    constexpr double most_factor = 1000;
    change.factor = fields.at("bandwidth").number(0, most_factor);
  }
  fields.done();
  return change;
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
  TrafficFile traffic = traffic_in(read_text(file), file, cluster, wires, seed);
  if (traffic.flows.empty()) throw InputError(file + ": /", "the field \"flows\" is missing");
  if (traffic.name.empty())
    traffic.name = file == "-" ? "traffic" : std::filesystem::path(file).stem().string();
  return traffic;
}

TrafficFile read_traffic(const Value& value, const Cluster& cluster, const Resources& wires,
                         std::optional<uint64_t> seed) {
  TrafficFile traffic;
  Object fields(value);
  if (const auto schema = fields.find("schema"); schema && schema->text() != traffic_schema)
    schema->fail("expected \"" + std::string(traffic_schema) + "\", got \"" + schema->text() +
                 "\"");
  if (const auto name = fields.find("name")) traffic.name = name->text();
  for (const char* about : {"description", "source"})
    if (const auto field = fields.find(about)) field->text();
  uint64_t own = 1;
  if (const auto field = fields.find("seed"))
    own = static_cast<uint64_t>(field->whole(0, int64_t{1} << 62));
  const auto flows = fields.find("flows");
  const auto changes = fields.find("changes");
  if (!flows && !changes) value.fail("has neither `flows` nor `changes`");
  if (flows) traffic.flows = read_flows(*flows, cluster.network, seed.value_or(own));
  if (changes) {
    const NamedWays names(wires);
    for (const Value& change : changes->items())
      traffic.changes.push_back(read_change(change, names));
    std::stable_sort(traffic.changes.begin(), traffic.changes.end(),
                     [](const WireChange& a, const WireChange& b) { return a.at < b.at; });
  }
  fields.done();
  return traffic;
}

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

void check_traffic_option(const std::string& traffic, bool on_wires) {
  if (!traffic.empty() && !on_wires)
    throw InputError("--traffic", "needs wires that are shared: --fidelity flow or packet");
}

void add_traffic_option(CLI::App& command, std::string& traffic) {
  command.add_option("--traffic", traffic,
                     "fidelities flow and packet: what else is on the wires, and links that fail: "
                     "a traffic file, or JSON itself: {\"changes\": [...]}");
}

}  // namespace sgdsim
