// Rank after rank: of a rank that has been written, only what its nodes are is kept, to name them.
#include "study/replay/chakra_schedule.h"

#include <algorithm>

#include "models/collective/nccl_box.h"
#include "sim/core/error.h"
#include "sim/core/json.h"

namespace sgdsim {
namespace {

using Kind = GraphNode::Kind;

// Processors of a rank, besides those of RankWriter.
constexpr uint32_t hosts = 2;   // the CPU
constexpr uint32_t passes = 3;  // of what takes no time, and so waits for nobody

constexpr std::size_t most_operations = 100'000'000;
constexpr std::size_t most_problems = 10;
constexpr std::size_t most_ends = 4;

constexpr std::array<std::string_view, chakra_collectives> collective_names = {
    "all-reduce", "reduce",     "all-gather",     "gather",         "scatter",
    "broadcast",  "all-to-all", "reduce-scatter", "reduce-scatter", "barrier"};

std::string ordinal(std::size_t index) { return "collective " + std::to_string(index + 1); }

}  // namespace

struct ChakraSchedule::Writing {
  struct Ends {
    uint64_t first = 0;
    uint32_t count = 0;
  };
  explicit Writing(uint32_t of_rank, std::size_t nodes)
      : rank(of_rank), writer(work), ends(nodes) {}

  uint32_t rank;
  RankWork work;
  RankWriter writer;
  std::vector<Ends> ends;  // of nodes: in all_ends
  std::vector<uint32_t> all_ends;
  std::map<uint32_t, uint32_t> last_of_group;  // the node that is the last collective of it

  void add_ends(uint64_t node, std::vector<uint32_t>& to) const {
    const Ends& some = ends[node];
    const auto begin = all_ends.begin() + static_cast<std::ptrdiff_t>(some.first);
    to.insert(to.end(), begin, begin + some.count);
  }
  void set_ends(uint32_t node, const std::vector<uint32_t>& operations) {
    ends[node] = {all_ends.size(), static_cast<uint32_t>(operations.size())};
    all_ends.insert(all_ends.end(), operations.begin(), operations.end());
  }
  // So many that nobody waits for more than a few.
  void join(std::vector<uint32_t>& last) {
    if (last.size() <= most_ends) return;
    const uint32_t joined = writer.calc(passes, {});
    writer.require(joined, last);
    last = {joined};
  }
};

ChakraSchedule::ChakraSchedule(const ChakraQuestion& question)
    : question_(question),
      schedule_(static_cast<uint32_t>(question.files.size())),
      graphs_(question.files.size()) {
  for (uint32_t rank = 0; rank < schedule_.ranks(); ++rank)
    if (!write_rank(rank)) return;
  name_what_lacks();
  if (more_problems_ > 0) problems_.push_back("  and " + std::to_string(more_problems_) + " more");
}

bool ChakraSchedule::write_rank(uint32_t rank) {
  RankGraph& graph = graphs_[rank];
  const GraphQuestion question = {.rank = rank,
                                  .ranks = schedule_.ranks(),
                                  .operations_per_s = question_.operations_per_s,
                                  .has_groups = question_.has_groups};
  const std::string& file = question_.files[rank];
  const auto source = [&](const ChakraVisitor& visit) {
    if (question_.read)
      question_.read(rank, visit);
    else
      read_chakra(file, visit);
  };
  graph = read_graph(source, file, question, group_numbers_, oddities_);
  add_groups();
  const GraphOrder order = order_of(graph);
  if (order.is_circle) {
    problems_ = {std::to_string(order.places.size()) +
                 (order.places.size() == 1 ? " node" : " nodes") + " of rank " +
                 std::to_string(rank) + " in a circle, each waiting for the next"};
    for (const uint32_t node : order.places) complain(text_of(rank, node));
    if (more_problems_ > 0)
      problems_.push_back("  and " + std::to_string(more_problems_) + " more");
    return false;
  }
  Writing writing(rank, graph.nodes.size());
  for (const uint32_t node : order.places) {
    write_node(writing, node);
    if (schedule_.operations().size() + writing.work.operations.size() > most_operations)
      throw InputError(question_.files[rank], "the collectives are more than " +
                                                  std::to_string(most_operations) +
                                                  " operations, the most that are replayed; an "
                                                  "--algorithm of fewer rounds needs fewer");
  }
  graph.waits = {};
  graph.first_wait = {};
  schedule_.write(rank, writing.work.operations, writing.work.requirements);
  return true;
}

void ChakraSchedule::add_groups() {
  const std::size_t before = groups_.size();
  groups_.resize(group_numbers_.size());
  for (const auto& [name, number] : group_numbers_) {
    if (number < before) continue;
    Group& group = groups_[number];
    group.name = name;
    std::size_t members = schedule_.ranks();
    if (question_.has_groups && !name.empty()) {
      const auto found = question_.groups.find(name);
      if (found == question_.groups.end()) {
        std::vector<std::string> known;
        for (const auto& one : question_.groups) known.push_back(one.first);
        throw InputError("--groups", unknown_name("group", name, known));
      }
      group.ranks = found->second;
      members = group.ranks.size();
      for (uint32_t member = 0; member < members; ++member)
        group.member_of[group.ranks[member]] = member;
    }
    group.reached.resize(members);
  }
}

void ChakraSchedule::write_node(Writing& writing, uint32_t place) {
  const RankGraph& graph = graphs_[writing.rank];
  const GraphNode& node = graph.nodes[place];
  RankWriter& writer = writing.writer;
  writer.set_line(place);
  std::vector<uint32_t> last;
  for (uint64_t i = graph.first_wait[place]; i < graph.first_wait[place + 1]; ++i)
    writing.add_ends(graph.waits[i], last);
  if (node.kind == Kind::collective) {
    write_collective(writing, place, last);
    return writing.set_ends(place, last);
  }
  RankOperation one{.amount = node.amount};
  switch (node.kind) {
    case Kind::sends:
    case Kind::receives:
      one.verb = node.kind == Kind::sends ? RankVerb::send : RankVerb::receive;
      one.peer = node.peer;
      one.tag = tag_of(node.tag);
      one.processor = RankWriter::exchanges;
      break;
    case Kind::computes:
      one.processor = RankWriter::computes;
      break;
    case Kind::hosts:
      one.processor = hosts;
      break;
    case Kind::passes:
    case Kind::collective:
      one.processor = passes;
      break;
  }
  const uint32_t added = writer.add(one);
  writer.require(added, last);
  writing.set_ends(place, {added});
}

void ChakraSchedule::write_collective(Writing& writing, uint32_t place,
                                      std::vector<uint32_t>& last) {
  const GraphNode& node = graphs_[writing.rank].nodes[place];
  Group& group = groups_[node.group];
  const uint32_t number = member_of(group, writing.rank, place);
  const auto before = writing.last_of_group.find(node.group);
  if (before != writing.last_of_group.end()) writing.add_ends(before->second, last);
  writing.last_of_group[node.group] = place;
  writing.join(last);
  const Met* met = meet(group, writing.rank, number, place);
  if (met == nullptr) return;
  if (met->made->number) {
    RankOperation call =
        RankOperation::of({number_of(group), met->number, *met->made->number, number});
    call.processor = RankWriter::exchanges;
    const uint32_t added = writing.writer.add(call);
    writing.writer.require(added, last);
    last = {added};
    return;
  }
  const Wires wires(*question_.network, question_.alpha);
  writing.writer.play(met->made->program, question_.pays_folds ? &wires : nullptr,
                      {static_cast<int>(number), group.ranks}, met->first_tag, last);
}

uint32_t ChakraSchedule::number_of(Group& group) {
  if (group.number) return *group.number;
  std::vector<int> ranks(group.ranks.begin(), group.ranks.end());
  for (uint32_t rank = 0; group.ranks.empty() && rank < schedule_.ranks(); ++rank)
    ranks.push_back(static_cast<int>(rank));
  group.number = schedule_.add_group(std::move(ranks));
  return *group.number;
}

uint32_t ChakraSchedule::member_of(const Group& group, uint32_t rank, uint32_t node) const {
  if (group.ranks.empty()) return rank;
  const auto found = group.member_of.find(rank);
  if (found == group.member_of.end())
    throw InputError(question_.files[rank], text_of(rank, node) + " is of the group \"" +
                                                group.name + "\", which rank " +
                                                std::to_string(rank) + " does not belong to");
  return found->second;
}

const ChakraSchedule::Met* ChakraSchedule::meet(Group& group, uint32_t rank, uint32_t member,
                                                uint32_t place) {
  const GraphNode& node = graphs_[rank].nodes[place];
  const uint32_t index = group.reached[member]++;
  if (index == group.met.size()) {
    Met met = {.rank = rank,
               .node = place,
               .first_tag = 0,
               .number = index,
               .made = &made_for(node, group)};
    if (!met.made->number) met.first_tag = take_tags(*rounds_of(met.made->program));
    group.met.push_back(met);
  }
  const Met& met = group.met[index];
  const GraphNode& other = graphs_[met.rank].nodes[met.node];
  if (other.collective == node.collective && other.amount == node.amount) return &met;
  if (problems_.empty()) problems_.emplace_back("ranks do not agree on their collectives");
  complain(ordinal(index) + " of " +
           (group.name.empty() ? "all ranks" : "group \"" + group.name + "\"") + " is " +
           text_of(met.rank, met.node) + " on one, and " + text_of(rank, place) + " on another");
  return nullptr;
}

void ChakraSchedule::name_what_lacks() {
  for (const Group& group : groups_)
    for (uint32_t member = 0; member < group.reached.size(); ++member) {
      const std::size_t reached = group.reached[member];
      if (reached == group.met.size()) continue;
      const uint32_t rank = group.ranks.empty() ? member : group.ranks[member];
      const Met& met = group.met[reached];
      if (problems_.empty()) problems_.emplace_back("ranks do not agree on their collectives");
      complain("rank " + std::to_string(rank) + " has no " + ordinal(reached) + " of " +
               (group.name.empty() ? "all ranks" : "group \"" + group.name + "\"") + ", which is " +
               text_of(met.rank, met.node));
    }
}

void ChakraSchedule::complain(const std::string& sentence) {
  if (problems_.size() > most_problems)
    ++more_problems_;
  else
    problems_.push_back("  " + sentence);
}

uint32_t ChakraSchedule::take_tags(uint32_t count) {
  if (count > RankOperation::any - 1 - next_tag_)
    throw InputError("", "more rounds of collectives than can be told apart");
  return std::exchange(next_tag_, next_tag_ + count);
}

uint32_t ChakraSchedule::tag_of(int64_t tag) {
  const auto [found, is_new] = tags_.try_emplace(tag, 0);
  if (is_new) found->second = take_tags(1);
  return found->second;
}

std::string ChakraSchedule::what_of(const GraphNode& node) const {
  const std::string size = std::to_string(node.amount) + " B";
  switch (node.kind) {
    case Kind::passes:
      return "takes no time";
    case Kind::computes:
    case Kind::hosts:
      return "computes " + std::to_string(node.amount / 1'000'000) + " us";
    case Kind::sends:
      return "send of " + size + " to rank " + std::to_string(node.peer) + ", tag " +
             std::to_string(node.tag);
    case Kind::receives:
      return "receive of " + size + " from rank " + std::to_string(node.peer) + ", tag " +
             std::to_string(node.tag);
    case Kind::collective: {
      const std::string& group = groups_[node.group].name;
      return std::string(collective_names[static_cast<std::size_t>(node.collective)]) + " of " +
             size + (group.empty() ? "" : ", group \"" + printable(group) + "\"");
    }
  }
  return "";
}

std::string ChakraSchedule::text_of(uint32_t rank, uint32_t place) const {
  constexpr std::size_t longest_name = 100;
  const RankGraph& graph = graphs_[rank];
  const GraphNode& node = graph.nodes[place];
  return "rank " + std::to_string(rank) + ", node " + std::to_string(node.id) + " \"" +
         printable(graph.name(place).substr(0, longest_name)) + "\" (" + what_of(node) + ")";
}

std::string ChakraSchedule::text_of(uint32_t operation) const {
  const uint32_t rank = schedule_.rank_of(operation);
  const RankOperation& one = schedule_.operations()[operation];
  std::string text = text_of(rank, one.line);
  const bool is_message = one.verb == RankVerb::send || one.verb == RankVerb::receive;
  if (graphs_[rank].nodes[one.line].kind == Kind::collective && is_message)
    text += (one.verb == RankVerb::send ? ", message to rank " : ", message of rank ") +
            std::to_string(one.peer);
  return text;
}

std::vector<std::string> ChakraSchedule::notes() const {
  static constexpr std::array<const char*, chakra_oddities> sentences = {
      "communicate and are marked is_cpu_op: they are computation of the CPU here",
      "are collectives without comm_size: they take their duration only",
      "are collectives of no bytes: they take no time",
      "load or store memory without a duration: they take no time",
      "are of no type: they take no time"};
  std::vector<std::string> notes;
  if (is_like_nccl_) {
    notes.emplace_back(nccl_stand_in_note);
    if (std::string note = nccl_note(*question_.cluster); !note.empty())
      notes.push_back(std::move(note));
  }
  if (schedule_.ranks() == 1 && !groups_.empty())
    notes.emplace_back("this is the file of one rank, whose collectives take no time");
  for (std::size_t i = 0; i < sentences.size(); ++i)
    if (oddities_[i] > 0) notes.push_back(std::to_string(oddities_[i]) + " nodes " + sentences[i]);
  const auto most_idle =
      std::max_element(graphs_.begin(), graphs_.end(), [](const RankGraph& a, const RankGraph& b) {
        return a.host_times.idle_us() < b.host_times.idle_us();
      });
  const HostTimes& times = most_idle->host_times;
  if (times.idle_us() > times.span_us() / 10)
    notes.push_back("by start_time_micros the CPU of rank " +
                    std::to_string(most_idle - graphs_.begin()) + " does nothing in " +
                    std::to_string(times.idle_us()) + " of " + std::to_string(times.span_us()) +
                    " us; the replay has pauses only where nodes wait for each other");
  std::string groups;
  for (const Group& group : groups_)
    if (!question_.has_groups && !group.name.empty() && groups.size() < 200)
      groups += (groups.empty() ? "\"" : ", \"") + printable(group.name) + "\"";
  if (!groups.empty()) notes.push_back("without --groups, the groups " + groups + " are all ranks");
  return notes;
}

}  // namespace sgdsim
