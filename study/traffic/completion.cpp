// Sums, sorts and percentiles.
#include "study/traffic/completion.h"

#include <algorithm>

#include "study/table.h"

namespace sgdsim {
namespace {

void add_packets(Completion& completion, const TrafficFile& traffic, const FlowsPlayed& played,
                 const Resources& wires, std::size_t links) {
  completion.packets = played.packets;
  std::vector<double> delivered;
  for (std::size_t i = 0; i < traffic.flows.size(); ++i)
    if (played.ends[i] != Time::last()) delivered.push_back(played.delivered[i]);
  if (!delivered.empty())
    completion.least_delivered = *std::min_element(delivered.begin(), delivered.end());
  completion.delivered = spread_of(std::move(delivered)).mean;
  completion.queues = longest_queues(*played.packets, wires, links);
}

}  // namespace

Completion completion_of(const TrafficFile& traffic, const FlowsPlayed& played,
                         const Cluster& cluster, const Resources& wires, std::size_t links) {
  const Network& network = cluster.network;
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
  completion.until = played.until;
  completion.time_us = spread_of(std::move(times_us));
  completion.slowdown = spread_of(std::move(slowdowns));
  if (wires.are_routes())
    completion.wires = use_of(wires, played.carried_B, played.until - Time(), links,
                              changed_by(traffic.changes, played.until));
  if (played.packets) add_packets(completion, traffic, played, wires, links);
  return completion;
}

// As Json prints an array in an object, but without holding all of it: there may be millions.
void print_flows(std::ostream& out, const TrafficFile& traffic, const FlowsPlayed& played) {
  constexpr std::size_t most_held = 1 << 16;
  std::string text;
  for (std::size_t i = 0; i < traffic.flows.size(); ++i) {
    const PlainFlow& flow = traffic.flows[i];
    const bool ended = played.ends[i] != Time::last();
    const auto add = [&text](const char* name, int64_t value) {
      text.append(name).append(std::to_string(value));
    };
    add(i == 0 ? "[\n  {\n   \"id\": " : ",\n  {\n   \"id\": ", static_cast<int64_t>(i));
    add(",\n   \"from\": ", flow.from);
    add(",\n   \"to\": ", flow.to);
    add(",\n   \"size_B\": ", flow.size.count());
    add(",\n   \"start_ps\": ", flow.start.ps());
    if (ended)
      add(",\n   \"end_ps\": ", played.ends[i].ps());
    else
      text += ",\n   \"end_ps\": null";
    if (played.packets)
      text += ",\n   \"delivered\": " + (ended ? Json(played.delivered[i]) : Json()).dump();
    text += "\n  }";
    if (text.size() < most_held) continue;
    out << text;
    text.clear();
  }
  out << text << "\n ]";
}

namespace {

struct ToldFlow {
  int64_t id = 0, from = 0, to = 0, size_B = 0, start_ps = 0;
  std::optional<int64_t> end_ps = {};
  std::optional<double> delivered = {};
};
Fields fields_of(const ToldFlow& o) {
  return {{"id", o.id, "its place, from 0"},
          {"from", o.from, "the worker that sends"},
          {"to", o.to, "the worker that receives"},
          Field("size_B", o.size_B, "how much").at_least(1),
          {"start_ps", o.start_ps, "when it is sent, in picoseconds"},
          Field("end_ps", o.end_ps, "when its last byte is there; null if that never is").or_null(),
          {"delivered", o.delivered,
           "fidelity packet: the part that arrived; null if it has not ended"}};
}

struct Delivered {
  double mean = 1;
  double least = 1;
};
Fields fields_of(const Delivered& o) {
  return {Field("mean", o.mean, "part of flows that ended").from(0, 1),
          Field("least", o.least, "part of the flow that lost most").from(0, 1)};
}

}  // namespace

Json schema_of_flow_list() {
  Json flow = schema_of_record<ToldFlow>();
  Json& delivered = flow["properties"]["delivered"]["type"];
  delivered = Json::array({delivered, "null"});
  return list_schema(std::move(flow));
}

Fields fields_of(const Completion& completion) {
  std::optional<Delivered> delivered;
  if (completion.packets && completion.ended > 0)
    delivered = {completion.delivered, completion.least_delivered};
  return Fields{
             {"makespan_ps", completion.makespan.ps(), "the end of the last flow, in picoseconds"},
             Field("makespan_us", completion.makespan.us(), "the same in microseconds").at_least(0),
             Field("until_us", completion.until.us(),
                   "how long something was simulated, by which utilisation and mean queues "
                   "count: the makespan, or longer if some flows never arrive and are sent "
                   "again in vain")
                 .at_least(0),
             {"flows_ended", completion.ended, "how many flows have ended"},
             Field("total_B", completion.total_B, "bytes of all flows").at_least(0),
             {"completion_us", completion.time_us, "from start to end, of the flows that ended"},
             {"slowdown", completion.slowdown,
              "the same, divided by what the flow takes in an empty network"}} +
         use_fields(completion.wires, completion.over_time) +
         Fields{{"delivered", std::move(delivered),
                 "fidelity packet: the part of flows that arrived, where some may be lost for "
                 "good"}} +
         packet_fields(completion.packets.get(), completion.queues, completion.over_time) +
         Fields{interval_field(completion.over_time)};
}

void print_packets(std::ostream& out, const Completion& completion) {
  out << '\n';
  print_counts(out, *completion.packets);
  if (completion.least_delivered < 1)
    out << "delivered: " << rounded(100 * completion.delivered) << " % on average, at least "
        << rounded(100 * completion.least_delivered) << " %\n";
  if (completion.queues.empty()) return;
  out << '\n';
  Table queues({"longest queue", "from", "to", "most", "mean"});
  for (const auto& [name, queue] : completion.queues)
    queues.add({name.kind, name.from, name.to, short_size(static_cast<double>(queue.most_B)),
                short_size(queue.mean_B)});
  queues.print(out, 3);
}

void print(std::ostream& out, const Completion& completion) {
  out << "makespan  " << short_duration(completion.makespan.us(), 6) << '\n';
  if (completion.until > completion.makespan)
    out << "simulated until " << short_duration(completion.until.us(), 6)
        << ", the time by which use and means count\n";
  out << '\n';
  Table table({"", "mean", "p50", "p99", "p99.9", "max"});
  const Spread& time = completion.time_us;
  const Spread& slow = completion.slowdown;
  auto us = [](double value) { return short_duration(value, 4); };
  table.add({"completion", us(time.mean), us(time.p50), us(time.p99), us(time.p999), us(time.max)});
  table.add({"slow-down", rounded(slow.mean), rounded(slow.p50), rounded(slow.p99),
             rounded(slow.p999), rounded(slow.max)});
  table.print(out);
  if (!completion.wires.busiest.empty()) out << '\n';
  print_use(out, completion.wires);
  if (completion.packets) print_packets(out, completion);
}

}  // namespace sgdsim
