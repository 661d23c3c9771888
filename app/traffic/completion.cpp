// Sums, sorts and percentiles.
#include "app/traffic/completion.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "app/table.h"
#include "sim/core/nearest_rank.h"

namespace sgdsim {
namespace {

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  return {.mean = sum / static_cast<double>(values.size()),
          .p50 = nearest_rank(values, 0.5),
          .p99 = nearest_rank(values, 0.99),
          .p999 = nearest_rank(values, 0.999),
          .max = values.back()};
}

Json to_json(const Spread& spread) {
  return {{"mean", spread.mean},
          {"p50", spread.p50},
          {"p99", spread.p99},
          {"p999", spread.p999},
          {"max", spread.max}};
}

}  // namespace

Completion completion_of(const TrafficFile& traffic, const FlowsPlayed& played,
                         const Network& network) {
  Completion completion;
  std::vector<double> times_us;
  std::vector<double> slowdowns;
  for (std::size_t i = 0; i < traffic.flows.size(); ++i) {
    const PlainFlow& flow = traffic.flows[i];
    completion.total_B += static_cast<double>(flow.size.count());
    if (played.ends[i] == Time::last()) continue;
    const Duration took = played.ends[i] - flow.start;
    const Duration alone_takes = alone(flow, network);
    times_us.push_back(took.us());
    // Where everything is free, nobody is slowed down.
    slowdowns.push_back(alone_takes > Duration() ? took / alone_takes : 1.0);
    completion.makespan = std::max(completion.makespan, played.ends[i]);
  }
  completion.ended = times_us.size();
  completion.time_us = spread_of(std::move(times_us));
  completion.slowdown = spread_of(std::move(slowdowns));
  return completion;
}

void add_links(Completion& completion, const FlowsPlayed& played, const Resources& wires,
               std::size_t count) {
  const std::vector<double> capacities = wires.capacities();
  const auto makespan_ps = static_cast<double>(std::max<int64_t>(1, completion.makespan.ps()));
  std::vector<uint32_t> order;
  std::map<std::string, KindUse> kinds;
  auto utilisation = [&](uint32_t way) {
    return played.carried_B[way] / (capacities[way] * makespan_ps);
  };
  for (uint32_t way = 0; way < capacities.size(); ++way) {
    if (std::isinf(capacities[way])) continue;
    const double used = utilisation(way);
    KindUse& kind = kinds[wires.name_of(way).kind];
    ++kind.ways;
    kind.mean += used;
    kind.most = std::max(kind.most, used);
    if (used > 0) order.push_back(way);
  }
  for (auto& [name, kind] : kinds) {
    kind.kind = name;
    kind.mean /= static_cast<double>(kind.ways);
    completion.kinds.push_back(kind);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return utilisation(a) > utilisation(b); });
  order.resize(std::min(order.size(), count));
  for (const uint32_t way : order)
    completion.busiest.push_back(
        {way, wires.name_of(way), played.carried_B[way], utilisation(way), {}});
}

Json flows_json(const TrafficFile& traffic, const FlowsPlayed& played) {
  Json flows = Json::array();
  for (std::size_t i = 0; i < traffic.flows.size(); ++i) {
    const PlainFlow& flow = traffic.flows[i];
    const bool ended = played.ends[i] != Time::last();
    flows.push_back({{"id", i},
                     {"from", flow.from},
                     {"to", flow.to},
                     {"size_B", flow.size.count()},
                     {"start_ps", flow.start.ps()},
                     {"end_ps", ended ? Json(played.ends[i].ps()) : Json()}});
  }
  return flows;
}

Json to_json(const Completion& completion) {
  Json links = Json::array();
  for (const LinkUse& link : completion.busiest) {
    links.push_back({{"kind", link.name.kind},
                     {"from", link.name.from},
                     {"to", link.name.to},
                     {"carried_B", link.carried_B},
                     {"utilisation", link.utilisation}});
    if (!link.over_time.empty()) links.back()["over_time"] = link.over_time;
  }
  Json kinds = Json::array();
  for (const KindUse& kind : completion.kinds)
    kinds.push_back({{"kind", kind.kind},
                     {"ways", kind.ways},
                     {"utilisation_mean", kind.mean},
                     {"utilisation_max", kind.most}});
  Json json = {{"makespan_ps", completion.makespan.ps()},
               {"makespan_us", completion.makespan.us()},
               {"flows_ended", completion.ended},
               {"total_B", completion.total_B},
               {"completion_us", to_json(completion.time_us)},
               {"slowdown", to_json(completion.slowdown)},
               {"kinds", std::move(kinds)},
               {"busiest", std::move(links)}};
  if (completion.interval > Duration()) json["interval_us"] = completion.interval.us();
  return json;
}

void print(std::ostream& out, const Completion& completion) {
  out << "makespan  " << short_duration(completion.makespan.us(), 6) << "\n\n";
  Table table({"", "mean", "p50", "p99", "p99.9", "max"});
  const Spread& time = completion.time_us;
  const Spread& slow = completion.slowdown;
  auto us = [](double value) { return short_duration(value, 4); };
  table.add({"completion", us(time.mean), us(time.p50), us(time.p99), us(time.p999), us(time.max)});
  table.add({"slow-down", rounded(slow.mean), rounded(slow.p50), rounded(slow.p99),
             rounded(slow.p999), rounded(slow.max)});
  table.print(out);
  if (completion.kinds.empty()) return;
  out << '\n';
  Table kinds({"links", "ways", "mean use", "most"});
  for (const KindUse& kind : completion.kinds)
    kinds.add({kind.kind, std::to_string(kind.ways), rounded(100 * kind.mean, 3) + " %",
               rounded(100 * kind.most, 3) + " %"});
  kinds.print(out);
  out << '\n';
  Table busiest({"busiest", "from", "to", "carried", "use"});
  for (const LinkUse& link : completion.busiest)
    busiest.add({link.name.kind, link.name.from, link.name.to, short_size(link.carried_B),
                 rounded(100 * link.utilisation, 3) + " %"});
  busiest.print(out, 3);
}

}  // namespace sgdsim
