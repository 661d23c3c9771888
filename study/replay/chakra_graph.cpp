// A node communicates if it has a size and is no operation of the CPU: profiles have a collective
// twice, as the call on the CPU and as the kernel on the GPU.
#include "study/replay/chakra_graph.h"

#include <algorithm>
#include <limits>
#include <queue>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/units.h"

namespace sgdsim {
namespace {

using Kind = GraphNode::Kind;

class GraphReader {
 public:
  GraphReader(const std::string& file, const GraphQuestion& question, GroupNumbers& groups,
              ChakraOddities& oddities)
      : file_(file), question_(question), groups_(groups), oddities_(oddities) {}

  RankGraph read(const ChakraSource& source) {
    source([this](ChakraNode& node) { add(node); });
    graph_.first_wait.push_back(graph_.waits.size());
    resolve();
    return std::move(graph_);
  }

 private:
  [[noreturn]] static void fail(const std::string& file, uint64_t id, std::string_view name,
                                const std::string& sentence) {
    throw InputError(file,
                     "node " + std::to_string(id) + " \"" + std::string(name) + "\" " + sentence);
  }
  [[noreturn]] void fail(const ChakraNode& node, const std::string& sentence) const {
    fail(file_, node.id, node.name, sentence);
  }
  void count(ChakraOddity oddity) { ++oddities_[static_cast<std::size_t>(oddity)]; }

  void add(const ChakraNode& node) {
    if (graph_.nodes.size() == std::numeric_limits<uint32_t>::max() - 1)
      throw InputError(file_, "more nodes than are read");
    GraphNode one = understand(node);
    if (one.kind == Kind::hosts && node.start_us > 0) look_at_times(node);
    graph_.names += node.name;
    one.id = node.id;
    one.name_end = graph_.names.size();
    graph_.nodes.push_back(one);
    graph_.first_wait.push_back(graph_.waits.size());
    for (const auto* waits : {&node.control_waits, &node.data_waits})
      graph_.waits.insert(graph_.waits.end(), waits->begin(), waits->end());
  }

  void look_at_times(const ChakraNode& node) {
    constexpr uint64_t most_us = uint64_t{1} << 62U;
    HostTimes& times = graph_.host_times;
    if (node.start_us > most_us) return;  // duration_of() has seen the duration
    times.first_us = std::min(times.first_us, node.start_us);
    times.last_us = std::max(times.last_us, node.start_us + node.duration_us);
    times.busy_us += node.duration_us;
  }

  GraphNode understand(const ChakraNode& node) {
    switch (node.type) {
      case ChakraType::invalid:
        count(ChakraOddity::invalid);
        return {};
      case ChakraType::metadata:
        return {};
      case ChakraType::memory_load:
      case ChakraType::memory_store:
        if (node.duration_us == 0 && node.tensor_size_B.value_or(0) > 0)
          count(ChakraOddity::memory_for_free);
        return computing(node);
      case ChakraType::compute:
        return computing(node);
      case ChakraType::send:
      case ChakraType::receive:
        return communicates(node) ? message(node) : computing(node);
      case ChakraType::collective:
        return communicates(node) ? collective(node) : computing(node);
    }
    return {};
  }

  bool communicates(const ChakraNode& node) {
    const bool is_cpu = node.is_cpu_op.value_or(false);
    if (is_cpu && node.size_B.value_or(0) > 0) count(ChakraOddity::marked_cpu);
    if (is_cpu) return false;
    if (node.size_B || node.collective == static_cast<int64_t>(ChakraCollective::barrier))
      return true;
    if (node.type != ChakraType::collective) fail(node, "communicates, but has no comm_size");
    count(ChakraOddity::without_size);
    return false;
  }

  GraphNode computing(const ChakraNode& node) const {
    GraphNode one;
    one.kind = node.is_cpu_op.value_or(false) ? Kind::hosts : Kind::computes;
    one.amount = duration_of(node).ps();
    if (one.amount == 0) one.kind = Kind::passes;
    return one;
  }
  Duration duration_of(const ChakraNode& node) const {
    constexpr uint64_t most_us = uint64_t{1} << 42U;  // 50 days
    if (node.duration_us > most_us)
      fail(node, "takes " + std::to_string(node.duration_us) + " us; the most are " +
                     std::to_string(most_us));
    if (node.duration_us > 0) return Duration::us(static_cast<int64_t>(node.duration_us));
    const int64_t operations = node.operations.value_or(0);
    if (operations == 0 || node.type != ChakraType::compute) return {};
    if (question_.operations_per_s == 0)
      fail(node, "has num_ops and no duration: --flops says how many operations a second");
    return Duration::nearest_ps(static_cast<double>(operations) / question_.operations_per_s *
                                1e12);
  }

  GraphNode message(const ChakraNode& node) const {
    const bool sends = node.type == ChakraType::send;
    GraphNode one;
    one.kind = sends ? Kind::sends : Kind::receives;
    one.amount = *node.size_B;
    one.tag = node.tag.value_or(0);
    const char* other = sends ? "comm_dst" : "comm_src";
    const auto peer = sends ? node.receiver : node.sender;
    // A zero may be what was left out.
    const int64_t self = (sends ? node.sender : node.receiver).value_or(0);
    if (!peer) fail(node, std::string("has no ") + other);
    if (*peer < 0 || *peer >= question_.ranks)
      fail(node, std::string("has ") + other + " " + std::to_string(*peer) + ", but there are " +
                     std::to_string(question_.ranks) + " ranks");
    if (self != 0 && self != question_.rank)
      fail(node, std::string("has ") + (sends ? "comm_src" : "comm_dst") + " " +
                     std::to_string(self) + ", but is in the file of rank " +
                     std::to_string(question_.rank));
    one.peer = static_cast<uint32_t>(*peer);
    return one;
  }

  GraphNode collective(const ChakraNode& node) {
    GraphNode one;
    one.kind = Kind::collective;
    one.amount = node.size_B.value_or(0);
    if (!node.collective) fail(node, "is a collective without a comm_type");
    if (*node.collective >= chakra_collectives)
      fail(node, "has comm_type " + std::to_string(*node.collective) + ", which is not known");
    one.collective = static_cast<ChakraCollective>(*node.collective);
    if (one.collective == ChakraCollective::gather || one.collective == ChakraCollective::scatter)
      fail(node, "is a gather or a scatter, which are not replayed");
    if (one.collective == ChakraCollective::reduce_scatter_block)
      one.collective = ChakraCollective::reduce_scatter;
    if (one.collective == ChakraCollective::barrier) one.amount = 0;
    if (one.amount == 0 && one.collective != ChakraCollective::barrier)
      count(ChakraOddity::without_bytes);
    const std::string group = node.group.value_or("");
    const bool has_all =
        std::find(node.dimensions.begin(), node.dimensions.end(), false) == node.dimensions.end();
    if (!has_all && (group.empty() || !question_.has_groups))
      fail(node,
           "leaves out dimensions (involved_dim): pg_name and --groups say which ranks it has");
    one.group = groups_.try_emplace(group, static_cast<uint32_t>(groups_.size())).first->second;
    return one;
  }

  // From ids to places.
  void resolve() {
    struct Place {
      uint64_t id = 0;
      uint32_t place = 0;
    };
    std::vector<Place> places;
    places.reserve(graph_.nodes.size());
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) places.push_back({graph_.nodes[i].id, i});
    std::stable_sort(places.begin(), places.end(),
                     [](const Place& a, const Place& b) { return a.id < b.id; });
    for (std::size_t i = 1; i < places.size(); ++i)
      if (places[i].id == places[i - 1].id)
        fail(file_, places[i].id, graph_.name(places[i].place),
             "has the id of \"" + std::string(graph_.name(places[i - 1].place)) + "\"");
    for (std::size_t node = 0; node < graph_.nodes.size(); ++node)
      for (uint64_t i = graph_.first_wait[node]; i < graph_.first_wait[node + 1]; ++i) {
        const auto found =
            std::lower_bound(places.begin(), places.end(), graph_.waits[i],
                             [](const Place& place, uint64_t id) { return place.id < id; });
        if (found == places.end() || found->id != graph_.waits[i])
          fail(file_, graph_.nodes[node].id, graph_.name(node),
               "waits for node " + std::to_string(graph_.waits[i]) + ", which is not there");
        graph_.waits[i] = found->place;
      }
  }

  const std::string& file_;
  const GraphQuestion& question_;
  GroupNumbers& groups_;
  ChakraOddities& oddities_;
  RankGraph graph_;
};

// Of nodes that are left, one waits for another one of them: going back ends in a circle.
std::vector<uint32_t> circle_among(const RankGraph& graph, const std::vector<uint32_t>& left) {
  const auto is_left = [&](uint64_t place) { return left[place] > 0; };
  uint32_t at = 0;
  while (!is_left(at)) ++at;
  std::vector<bool> met(left.size());
  std::vector<uint32_t> way;
  for (; !met[at];) {
    met[at] = true;
    way.push_back(at);
    for (uint64_t i = graph.first_wait[at]; i < graph.first_wait[at + 1]; ++i)
      if (is_left(graph.waits[i])) {
        at = static_cast<uint32_t>(graph.waits[i]);
        break;
      }
  }
  way.erase(way.begin(), std::find(way.begin(), way.end(), at));
  return way;
}

}  // namespace

RankGraph read_graph(const ChakraSource& source, const std::string& file,
                     const GraphQuestion& question, GroupNumbers& groups,
                     ChakraOddities& oddities) {
  return GraphReader(file, question, groups, oddities).read(source);
}

GraphOrder order_of(const RankGraph& graph) {
  const std::size_t count = graph.nodes.size();
  std::vector<uint32_t> left(count);
  std::vector<uint64_t> first(count + 1);  // of the followers of each node
  for (const uint64_t wait : graph.waits) ++first[wait + 1];
  for (std::size_t i = 0; i < count; ++i) first[i + 1] += first[i];
  std::vector<uint32_t> followers(graph.waits.size());
  std::vector<uint64_t> next(first.begin(), first.end() - 1);
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> open;
  for (uint32_t node = 0; node < count; ++node) {
    left[node] = static_cast<uint32_t>(graph.first_wait[node + 1] - graph.first_wait[node]);
    if (left[node] == 0) open.push(node);
    for (uint64_t i = graph.first_wait[node]; i < graph.first_wait[node + 1]; ++i)
      followers[next[graph.waits[i]]++] = node;
  }
  GraphOrder order;
  order.places.reserve(count);
  while (!open.empty()) {
    const uint32_t node = open.top();
    open.pop();
    order.places.push_back(node);
    for (uint64_t i = first[node]; i < first[node + 1]; ++i)
      if (--left[followers[i]] == 0) open.push(followers[i]);
  }
  if (order.places.size() < count) order = {circle_among(graph, left), true};
  return order;
}

}  // namespace sgdsim
