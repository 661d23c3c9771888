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

Fields fields_of(const Spread& spread) {
  return {Field("mean", spread.mean, "the mean").at_least(0),
          Field("p50", spread.p50, "the median, nearest rank").at_least(0),
          Field("p99", spread.p99, "99th percentile, nearest rank").at_least(0),
          Field("p999", spread.p999, "99.9th percentile, nearest rank").at_least(0),
          Field("max", spread.max, "the largest").at_least(0)};
}

namespace {

struct ToldCounts {
  PacketCounts counts = {};
  int64_t in_network = 0;
};
Fields fields_of(const ToldCounts& told) {
  const PacketCounts& counts = told.counts;
  return {{"sent", counts.sent, "packets of data that were sent, every time counted"},
          {"sent_again", counts.sent_again, "of those, packets that had been sent before"},
          {"answers", counts.answers, "short packets: acknowledgements, pulls, questions"},
          {"delivered", counts.delivered,
           "packets of data that a receiver got for the first time, whole"},
          {"arrived", counts.ended, "packets of all kinds that came to a worker"},
          {"in_network", told.in_network, "still on their way at the end"},
          {"dropped", counts.dropped, "lost because a queue was full"},
          {"selected", counts.selected, "lost above a threshold because they were not important"},
          {"pushed_out", counts.pushed_out, "lost to make room for more urgent ones"},
          {"lost", counts.lost, "lost on links"},
          {"unrouted", counts.unrouted, "lost because there was no way"},
          {"trimmed", counts.trimmed, "cut down to headers"},
          {"returned", counts.returned, "headers sent back for lack of room"},
          {"marked", counts.marked, "marked by switches"},
          {"timeouts", counts.timeouts, "timers of senders that rang"},
          {"pauses", counts.pauses, "times that a port told its neighbour to wait"}};
}

}  // namespace

Json counts_json(const PacketReport& report) {
  return to_json_by_fields(ToldCounts{report.counts, report.in_network});
}

Json schema_of_counts() { return schema_of_record<ToldCounts>(); }

NamedQueues longest_queues(const PacketReport& report, const Resources& wires, std::size_t most) {
  std::vector<QueueUse> queues = report.queues;
  std::stable_sort(queues.begin(), queues.end(),
                   [](const QueueUse& a, const QueueUse& b) { return a.most_B > b.most_B; });
  queues.resize(std::min(queues.size(), most));
  NamedQueues named;
  for (const QueueUse& queue : queues) named.emplace_back(wires.name_of(queue.resource), queue);
  return named;
}

namespace {

struct ToldQueue {
  ResourceName name = {};
  QueueUse use = {};
  std::vector<double> over_time_B = {};
};
Fields fields_of(const ToldQueue& told) {
  return {
      {"kind", told.name.kind, "kind of the link that it waits for"},
      {"from", told.name.from, "the vertex where it waits"},
      {"to", told.name.to, "where the link leads"},
      {"most_B", told.use.most_B, "bytes at its longest"},
      Field("mean_B", told.use.mean_B, "bytes over all the time").at_least(0),
      Field("over_time_B", told.over_time_B,
            "with --bins: the bytes that wait in each interval, on average; none after the last "
            "that is given")
          .at_least(0)
          .if_any()};
}

std::vector<ToldQueue> told_queues(const NamedQueues& queues, const UseOverTime& over_time) {
  std::vector<ToldQueue> told;
  for (std::size_t i = 0; i < queues.size(); ++i)
    told.push_back(
        {queues[i].first, queues[i].second, whole_line(over_time.waiting_B, i, over_time)});
  return told;
}

}  // namespace

Field queues_field(const PacketReport* report, const NamedQueues& queues,
                   const UseOverTime& over_time) {
  return {"queues",
          report != nullptr ? std::optional(told_queues(queues, over_time)) : std::nullopt,
          "fidelity packet: the longest queues"};
}

Fields packet_fields(const PacketReport* report, const NamedQueues& queues,
                     const UseOverTime& over_time) {
  std::optional<ToldCounts> counts;
  if (report != nullptr) counts = {report->counts, report->in_network};
  return {{"packets", std::move(counts), "fidelity packet: what became of packets"},
          queues_field(report, queues, over_time)};
}

namespace {

struct ToldDelivery {
  int64_t layer = 0;
  bool is_parameters = false;
  double size_B = 0;
  double part = 0;
  std::optional<double> of_important = {};
  std::optional<double> of_others = {};
};
Fields fields_of(const ToldDelivery& told) {
  return {
      Field("layer", told.layer, "the first layer of the message, counted from 0 in forward order")
          .at_least(0),
      Field("cargo", told.is_parameters,
            "what it carried: gradients on their way to servers or around a collective, "
            "parameters on their way back")
          .one_of({"gradients", "parameters"}),
      Field("size_B", told.size_B, "bytes of all such messages, warm-up included").at_least(0),
      Field("part", told.part, "the part that had arrived").from(0, 1),
      Field("part_of_important", told.of_important,
            "the same of important packets; null if there are none")
          .from(0, 1)
          .or_null(),
      Field("part_of_others", told.of_others,
            "the same of packets that are not important; null if there are none")
          .from(0, 1)
          .or_null()};
}

}  // namespace

Field delivery_field(const PacketReport* report, std::size_t layers) {
  std::optional<std::vector<ToldDelivery>> told;
  if (report != nullptr) {
    told.emplace();
    for (const auto& [freight, delivery] : report->delivery) {
      const auto part = [&delivery = delivery](std::size_t kind) {
        const double size_B = delivery.size_B[kind];
        return size_B > 0 ? std::optional(delivery.delivered_B[kind] / size_B) : std::nullopt;
      };
      told->push_back({.layer = std::lround(freight.depth * static_cast<double>(layers)),
                       .is_parameters = freight.cargo == Cargo::parameters,
                       .size_B = delivery.size_B[0] + delivery.size_B[1],
                       .part = delivery.part(),
                       .of_important = part(1),
                       .of_others = part(0)});
    }
  }
  return {"delivery", std::move(told),
          "fidelity packet: the part of each layer's messages that had arrived when they were "
          "complete, front layers first"};
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
