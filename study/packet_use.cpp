// Sorts and sums.
#include "study/packet_use.h"

#include <algorithm>
#include <cmath>

#include "sim/core/nearest_rank.h"
#include "study/table.h"

namespace sgdsim {

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

Spread spread_of_us(const std::vector<Duration>& times) {
  std::vector<double> values;
  values.reserve(times.size());
  for (const Duration time : times) values.push_back(time.us());
  return spread_of(std::move(values));
}

Json to_json(const Spread& spread) {
  return {{"mean", spread.mean},
          {"p50", spread.p50},
          {"p99", spread.p99},
          {"p999", spread.p999},
          {"max", spread.max}};
}

Json counts_json(const PacketReport& report) {
  const PacketCounts& counts = report.counts;
  return {{"sent", counts.sent},
          {"sent_again", counts.sent_again},
          {"answers", counts.answers},
          {"delivered", counts.delivered},
          {"arrived", counts.ended},
          {"in_network", report.in_network},
          {"dropped", counts.dropped},
          {"selected", counts.selected},
          {"pushed_out", counts.pushed_out},
          {"lost", counts.lost},
          {"unrouted", counts.unrouted},
          {"trimmed", counts.trimmed},
          {"returned", counts.returned},
          {"marked", counts.marked},
          {"timeouts", counts.timeouts},
          {"pauses", counts.pauses}};
}

NamedQueues longest_queues(const PacketReport& report, const Resources& wires, std::size_t most) {
  std::vector<QueueUse> queues = report.queues;
  std::stable_sort(queues.begin(), queues.end(),
                   [](const QueueUse& a, const QueueUse& b) { return a.most_B > b.most_B; });
  queues.resize(std::min(queues.size(), most));
  NamedQueues named;
  for (const QueueUse& queue : queues) named.emplace_back(wires.name_of(queue.resource), queue);
  return named;
}

Json queues_json(const NamedQueues& queues) {
  Json json = Json::array();
  for (const auto& [name, queue] : queues)
    json.push_back({{"kind", name.kind},
                    {"from", name.from},
                    {"to", name.to},
                    {"most_B", queue.most_B},
                    {"mean_B", queue.mean_B}});
  return json;
}

Json delivery_json(const PacketReport& report, std::size_t layers) {
  Json json = Json::array();
  for (const auto& [freight, delivery] : report.delivery) {
    const auto part = [&delivery = delivery](std::size_t kind) {
      const double size_B = delivery.size_B[kind];
      return size_B > 0 ? Json(delivery.delivered_B[kind] / size_B) : Json();
    };
    json.push_back({{"layer", std::lround(freight.depth * static_cast<double>(layers))},
                    {"cargo", freight.cargo == Cargo::parameters ? "parameters" : "gradients"},
                    {"size_B", delivery.size_B[0] + delivery.size_B[1]},
                    {"part", delivery.part()},
                    {"part_of_important", part(1)},
                    {"part_of_others", part(0)}});
  }
  return json;
}

void print_counts(std::ostream& out, const PacketReport& report) {
  const PacketCounts& counts = report.counts;
  out << "packets: " << counts.sent << " sent, " << counts.sent_again << " of them again; "
      << counts.marked << " marked, " << counts.trimmed << " trimmed, " << counts.gone()
      << " lost (" << counts.dropped << " dropped, " << counts.selected << " selected, "
      << counts.pushed_out << " pushed out, " << counts.lost << " on the way, " << counts.unrouted
      << " without a way); " << counts.timeouts << " timeouts\n";
}

void print_packets(std::ostream& out, const PacketReport& report) {
  const Spread took = spread_of_us(report.took);
  const auto us = [](double value) { return short_duration(value, 4); };
  out << report.took.size() << " messages take " << us(took.mean)
      << " on average, 99 % of them up to " << us(took.p99) << ", 99.9 % up to " << us(took.p999)
      << ", the longest " << us(took.max) << '\n';
  print_counts(out, report);
}

}  // namespace sgdsim
