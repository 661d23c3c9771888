// Steps one by one: lists by worker and kind, what waits for what, groups, and an order to play.
#include "models/diagnose/step_work.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "models/diagnose/side_by_side.h"
#include "models/diagnose/step_shape.h"
#include "sim/core/error.h"

namespace sgdsim::diagnose {
namespace {

constexpr uint32_t none = UINT32_MAX;
// A transfer that ends so long before its group began says that clocks differ (the artefact's).
constexpr int64_t early_ns = -10'000'000;

using List = std::vector<uint32_t>;

constexpr std::size_t at(Recorded kind) { return static_cast<std::size_t>(kind); }

struct Matched {  // a send or receive, and the pass that it is of
  uint32_t operation = 0;
  uint32_t pass = 0;  // among those of its direction
};

class StepBuilder {
 public:
  using Types = std::map<std::pair<Recorded, int32_t>, int32_t>;
  StepBuilder(const StepRecord& record, const List& operations, Types& types)
      : record_(record),
        operations_(operations),
        types_(types),
        lists_(workers() * recorded_kinds) {
    group_of_.assign(operations.size(), none);
    passes_.resize(workers());
    matched_.resize(workers() * recorded_kinds);
  }

  // A sentence if it cannot be played; else it was added.
  std::string add_to(StepWork& work) {
    sort_operations();
    for (std::size_t worker = 0; worker < workers(); ++worker)
      if (passes_[worker].empty()) return "nothing was recorded of " + name_of_worker(worker);
    for (std::size_t worker = 0; worker < workers(); ++worker)
      if (std::string problem = match_sends(worker); !problem.empty()) return problem;
    for (std::size_t worker = 0; worker < workers(); ++worker) add_waits(worker);
    if (std::string problem = add_groups(); !problem.empty()) return problem;
    return emit(work);
  }

 private:
  std::size_t workers() const {
    return static_cast<std::size_t>(record_.replicas) * static_cast<std::size_t>(record_.stages);
  }
  const RecordedOperation& operation(uint32_t local) const {
    return record_.operations[operations_[local]];
  }
  List& list(std::size_t worker, Recorded kind) {
    return lists_[worker * recorded_kinds + at(kind)];
  }
  std::vector<Matched>& matched(std::size_t worker, Recorded kind) {
    return matched_[worker * recorded_kinds + at(kind)];
  }
  std::string name_of_worker(std::size_t worker) const {
    const auto stages = static_cast<std::size_t>(record_.stages);
    return "stage " + std::to_string(worker % stages) + " of replica " +
           std::to_string(worker / stages);
  }
  void wait(uint32_t later, uint32_t earlier) { edges_.emplace_back(later, earlier); }
  void chain(const List& some) {
    for (std::size_t i = 1; i < some.size(); ++i) wait(some[i], some[i - 1]);
  }

  void sort_operations();
  std::string match_sends(std::size_t worker);
  std::string match_kind(std::size_t worker, Recorded kind, Recorded pass, bool is_send, int peer);
  void add_waits(std::size_t worker);
  void wait_for_stages(std::size_t worker);
  void wait_for_sends(std::size_t worker);
  void wait_for_weights(std::size_t worker);
  void wait_at_end(std::size_t worker);
  std::string add_groups();
  std::string group_pairs(Recorded send, Recorded receive, int step_of_stage);
  std::string group_over(Recorded kind, const std::vector<std::size_t>& members);
  void group(List members);
  std::string emit(StepWork& work);
  void emit_group(StepWork& work, uint32_t group);
  int32_t type_of(StepWork& work, const Node& node);

  const StepRecord& record_;
  const List& operations_;
  Types& types_;
  std::vector<List> lists_;   // by worker and kind
  std::vector<List> passes_;  // by worker: forward and backward
  std::vector<std::vector<Matched>> matched_;
  std::vector<std::pair<uint32_t, uint32_t>> edges_;  // later, earlier
  std::vector<uint32_t> group_of_;
  std::vector<List> groups_;
  std::vector<uint32_t> node_of_;
  std::vector<int32_t> micro_batch_;
};

void StepBuilder::sort_operations() {
  List order(operations_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const RecordedOperation& one = operation(a);
    const RecordedOperation& other = operation(b);
    return std::tuple(one.start_ns, one.sequence, one.kind, a) <
           std::tuple(other.start_ns, other.sequence, other.kind, b);
  });
  micro_batch_.resize(operations_.size());
  for (const uint32_t one : order) micro_batch_[one] = operation(one).micro_batch;
  std::map<std::tuple<std::size_t, Recorded, int32_t>, int32_t> next;
  for (const uint32_t one : order) {
    const auto worker = static_cast<std::size_t>(record_.worker_of(operation(one)));
    list(worker, operation(one).kind).push_back(one);
    if (!is_pass(operation(one).kind)) continue;
    passes_[worker].push_back(one);
    if (micro_batch_[one] < 0)  // not said: they come in their order
      micro_batch_[one] = next[{worker, operation(one).kind, operation(one).chunk}]++;
  }
}

// Profilers record sends and receives that were never launched: before the first pass or after the
// last one, and at both ends of the model where there are virtual stages. They are left out.
std::string StepBuilder::match_kind(std::size_t worker, Recorded kind, Recorded pass, bool is_send,
                                    int peer) {
  const List& passes = list(worker, pass);
  if (passes.empty() || list(worker, kind).empty() || record_.stages == 1) return {};
  const int64_t last_start = operation(passes.back()).start_ns;
  int64_t first_end = operation(passes.front()).end_ns;
  for (const uint32_t one : passes) first_end = std::min(first_end, operation(one).end_ns);
  List real;
  for (const uint32_t one : list(worker, kind))
    if (is_send ? operation(one).end_ns >= first_end - same_moment_ns
                : operation(one).start_ns <= last_start + same_moment_ns)
      real.push_back(one);
  if (real.empty()) return {};
  List with_peer;  // passes that send or receive
  for (uint32_t i = 0; i < passes.size(); ++i) {
    const int64_t place =
        int64_t{operation(passes[i]).chunk} * record_.stages + operation(passes[i]).stage + peer;
    if (place >= 0 && place < int64_t{record_.chunks} * record_.stages) with_peer.push_back(i);
  }
  if (real.size() == with_peer.size()) {
    for (std::size_t i = 0; i < real.size(); ++i)
      matched(worker, kind).push_back({real[i], with_peer[i]});
    return {};
  }
  if (real.size() != passes.size() && real.size() + 1 != passes.size())
    return name_of_worker(worker) + " has " + std::to_string(real.size()) + " of " +
           std::string(sgdsim::name_of(kind)) + " for " + std::to_string(passes.size()) + " of " +
           std::string(sgdsim::name_of(pass));
  // The first receive may be missing where nobody sends.
  const std::size_t first = !is_send && real.size() < passes.size() ? 1 : 0;
  for (const uint32_t pass_with_peer : with_peer)
    if (pass_with_peer >= first && pass_with_peer - first < real.size())
      matched(worker, kind).push_back({real[pass_with_peer - first], pass_with_peer});
  return {};
}

std::string StepBuilder::match_sends(std::size_t worker) {
  using enum Recorded;
  const std::tuple<Recorded, Recorded, bool, int> rules[] = {
      {forward_send, forward, true, 1},
      {forward_receive, forward, false, -1},
      {backward_send, backward, true, -1},
      {backward_receive, backward, false, 1}};
  for (const auto& [kind, pass, is_send, peer] : rules)
    if (std::string problem = match_kind(worker, kind, pass, is_send, peer); !problem.empty())
      return problem;
  return {};
}

// The next pass, for what the one before sends.
void StepBuilder::wait_for_sends(std::size_t worker) {
  using enum Recorded;
  std::map<uint32_t, uint32_t> next;
  for (std::size_t i = 1; i < passes_[worker].size(); ++i)
    next[passes_[worker][i - 1]] = passes_[worker][i];
  for (const Recorded kind : {forward_send, backward_send})
    for (const auto [one, pass] : matched(worker, kind))
      if (const auto found =
              next.find(list(worker, kind == forward_send ? forward : backward)[pass]);
          found != next.end())
        wait(found->second, one);
}

void StepBuilder::wait_for_stages(std::size_t worker) {
  using enum Recorded;
  for (const Recorded kind : {forward_send, forward_receive, backward_send, backward_receive}) {
    const bool is_forward = kind == forward_send || kind == forward_receive;
    const List& passes = list(worker, is_forward ? forward : backward);
    const std::vector<Matched>& some = matched(worker, kind);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto [one, pass] = some[i];
      if (i > 0) wait(one, some[i - 1].operation);
      if (kind == forward_send || kind == backward_send) {
        wait(one, passes[pass]);
      } else {
        wait(passes[pass], one);
        if (pass > 0 && !record_.is_buffered) wait(one, passes[pass - 1]);
      }
    }
  }
  if (record_.sends_keep_worker) wait_for_sends(worker);
  if (record_.is_buffered) return;
  // The first exchange of gradients is posted when the last but one forward pass before the first
  // backward pass has ended.
  const List& passes = passes_[worker];
  std::size_t first = 0;
  while (first < passes.size() && operation(passes[first]).kind != backward) ++first;
  if (first < 2 || first == passes.size()) return;
  for (const Recorded kind : {backward_send, backward_receive})
    if (!matched(worker, kind).empty())
      wait(matched(worker, kind).front().operation, passes[first - 2]);
}

// The last gather of each chunk, before the chunk's first forward pass.
void StepBuilder::wait_for_weights(std::size_t worker) {
  std::map<int32_t, uint32_t> last;
  for (const uint32_t one : list(worker, Recorded::gather)) last[operation(one).chunk] = one;
  for (const uint32_t pass : list(worker, Recorded::forward)) {
    if (const auto found = last.extract(operation(pass).chunk)) wait(pass, found.mapped());
  }
}

void StepBuilder::wait_at_end(std::size_t worker) {
  using enum Recorded;
  List before = {passes_[worker].back()};  // what the next one waits for
  for (const uint32_t pass : passes_[worker])
    if (operation(pass).end_ns > operation(before[0]).end_ns) before[0] = pass;
  const List& reductions = list(worker, reduce);
  const auto then = [&](const List& some) {
    for (const uint32_t one : some) {
      for (const uint32_t earlier : before) wait(one, earlier);
      before = {one};
    }
  };
  // Which wait for each other as they were recorded.
  const auto then_reductions = [&] {
    for (const uint32_t one : reductions)
      for (const uint32_t earlier : before) wait(one, earlier);
    if (!reductions.empty()) before = reductions;
  };
  then(list(worker, collection));
  if (record_.overlaps) {
    std::map<int32_t, uint32_t> last;  // backward pass of each chunk
    for (const uint32_t pass : list(worker, backward)) last[operation(pass).chunk] = pass;
    for (const uint32_t one : reductions) {
      if (const auto found = last.extract(operation(one).chunk)) wait(one, found.mapped());
    }
    before.insert(before.end(), reductions.begin(), reductions.end());
  }
  then(list(worker, layer_norm));
  then(list(worker, embedding));
  record_.overlaps ? then(list(worker, separate)) : then_reductions();
  then(list(worker, clip));
  then(list(worker, optimizer));
}

void StepBuilder::add_waits(std::size_t worker) {
  chain(passes_[worker]);
  wait_for_stages(worker);
  List exchanges = list(worker, Recorded::gather);
  const List& reductions = list(worker, Recorded::reduce);
  exchanges.insert(exchanges.end(), reductions.begin(), reductions.end());
  for (const auto& [later, earlier] : waits_of_exchanges(record_, operations_, exchanges))
    wait(later, earlier);
  wait_for_weights(worker);
  wait_at_end(worker);
}

void StepBuilder::group(List members) {
  for (const uint32_t one : members) group_of_[one] = static_cast<uint32_t>(groups_.size());
  groups_.push_back(std::move(members));
}

std::string StepBuilder::group_pairs(Recorded send, Recorded receive, int step_of_stage) {
  const int stages = record_.stages;
  for (int replica = 0; replica < record_.replicas; ++replica)
    for (int stage = 0; stage < stages; ++stage) {
      const int peer = (stage + step_of_stage + stages) % stages;
      const auto from = static_cast<std::size_t>(replica * stages + stage);
      const auto to = static_cast<std::size_t>(replica * stages + peer);
      const std::vector<Matched>& sends = matched(from, send);
      const std::vector<Matched>& receives = matched(to, receive);
      if (sends.size() != receives.size())
        return name_of_worker(from) + " has " + std::to_string(sends.size()) + " of " +
               std::string(sgdsim::name_of(send)) + " and " + name_of_worker(to) + " " +
               std::to_string(receives.size()) + " of " + std::string(sgdsim::name_of(receive));
      for (std::size_t i = 0; i < sends.size(); ++i)
        group({sends[i].operation, receives[i].operation});
    }
  return {};
}

std::string StepBuilder::group_over(Recorded kind, const std::vector<std::size_t>& members) {
  const std::size_t count = list(members.front(), kind).size();
  for (const std::size_t member : members)
    if (list(member, kind).size() != count)
      return name_of_worker(members.front()) + " has " + std::to_string(count) + " of " +
             std::string(sgdsim::name_of(kind)) + " and " + name_of_worker(member) + " " +
             std::to_string(list(member, kind).size());
  for (std::size_t i = 0; i < count; ++i) {
    List some;
    for (const std::size_t member : members) some.push_back(list(member, kind)[i]);
    group(std::move(some));
  }
  return {};
}

std::string StepBuilder::add_groups() {
  using enum Recorded;
  const auto stages = static_cast<std::size_t>(record_.stages);
  std::vector<std::tuple<Recorded, std::vector<std::size_t>>> wanted;
  std::vector<std::size_t> everybody(workers());
  for (std::size_t worker = 0; worker < workers(); ++worker) everybody[worker] = worker;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    std::vector<std::size_t> members;
    for (std::size_t worker = stage; worker < workers(); worker += stages)
      members.push_back(worker);
    for (const Recorded kind : {gather, reduce, separate}) wanted.emplace_back(kind, members);
  }
  for (std::size_t first = 0; first < workers(); first += stages)
    wanted.emplace_back(embedding,
                        stages == 1 ? std::vector{first} : std::vector{first, first + stages - 1});
  wanted.emplace_back(clip, everybody);
  for (const auto& [kind, members] : wanted)
    if (std::string problem = group_over(kind, members); !problem.empty()) return problem;
  if (std::string problem = group_pairs(forward_send, forward_receive, 1); !problem.empty())
    return problem;
  if (std::string problem = group_pairs(backward_send, backward_receive, -1); !problem.empty())
    return problem;
  // All others begin by themselves, but for sends and receives that are none.
  for (uint32_t one = 0; one < operations_.size(); ++one)
    if (group_of_[one] == none && !is_between_stages(operation(one).kind)) group({one});
  return {};
}

void StepBuilder::emit_group(StepWork& work, uint32_t number) {
  const List& members = groups_[number];
  int64_t latest_ns = operation(members.front()).start_ns;
  for (const uint32_t one : members) latest_ns = std::max(latest_ns, operation(one).start_ns);
  for (const uint32_t one : members) {
    const RecordedOperation& of = operation(one);
    int64_t length_ns = of.end_ns - latest_ns;
    if (length_ns <= early_ns) {
      length_ns = 0;
      ++work.early_ends;
    }
    node_of_[one] = static_cast<uint32_t>(work.nodes.size());
    Node node{static_cast<int32_t>(work.steps.size()),
              record_.worker_of(of),
              of.chunk,
              micro_batch_[one],
              -1,
              of.kind,
              0};
    if (is_between_stages(of.kind))
      node.peer = record_.worker_of(operation(members[members[0] == one ? 1 : 0]));
    if (one != members[0])
      work.end_differences.push_back(end_difference(record_, operation(members[0]), of));
    node.type = type_of(work, node);
    work.nodes.push_back(node);
    work.recorded.push_back(Duration::ns(length_ns));
    work.waited.push_back(Duration::ns(std::min(latest_ns, of.end_ns) - of.start_ns));
  }
  work.group_first.push_back(static_cast<uint32_t>(work.nodes.size()));
}

int32_t StepBuilder::type_of(StepWork& work, const Node& node) {
  const std::pair type{node.kind, record_.chunks_differ ? node.chunk : 0};
  const auto [found, is_new] = types_.try_emplace(type, static_cast<int32_t>(work.types.size()));
  if (is_new) work.types.push_back(node.kind);
  return found->second;
}

std::string StepBuilder::emit(StepWork& work) {
  // Edges between groups, by the earlier and by the later one.
  std::vector<uint32_t> missing(groups_.size(), 0);
  std::vector<List> next(groups_.size());
  std::vector<List> before(groups_.size());
  for (const auto& [later, earlier] : edges_) {
    const uint32_t from = group_of_[earlier];
    const uint32_t to = group_of_[later];
    next[from].push_back(to);
    before[to].push_back(earlier);
    ++missing[to];
  }
  List order;
  for (uint32_t i = 0; i < groups_.size(); ++i)
    if (missing[i] == 0) order.push_back(i);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const uint32_t later : next[order[i]])
      if (--missing[later] == 0) order.push_back(later);
  if (order.size() != groups_.size())
    return "its operations wait for each other in a circle: starts or groups contradict the order "
           "of passes";
  node_of_.assign(operations_.size(), none);
  for (const uint32_t number : order) {
    emit_group(work, number);
    List& waits = before[number];
    for (uint32_t& one : waits) one = node_of_[one];
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    work.waits.insert(work.waits.end(), waits.begin(), waits.end());
    work.waits_first.push_back(static_cast<uint32_t>(work.waits.size()));
  }
  work.step_first.push_back(static_cast<uint32_t>(work.group_first.size() - 1));
  return {};
}

}  // namespace

StepWork work_of(const StepRecord& record) {
  StepWork work;
  work.replicas = record.replicas;
  work.stages = record.stages;
  work.group_first = work.waits_first = work.step_first = {0};
  if (record.steps.empty()) throw InputError(record.file, "holds no training step");
  std::vector<List> operations(record.steps.size());
  for (uint32_t i = 0; i < record.operations.size(); ++i)
    operations[static_cast<std::size_t>(record.operations[i].step)].push_back(i);
  const StepShape usual = usual_shape(record, operations);
  StepBuilder::Types types;
  std::vector<StepSpans> spans;
  for (std::size_t step = 0; step < operations.size(); ++step) {
    std::string problem = difference(shape_of(record, operations[step]), usual);
    if (problem.empty()) problem = StepBuilder(record, operations[step], types).add_to(work);
    if (problem.empty()) {
      work.steps.push_back(record.steps[step]);
      spans.push_back(spans_of(record, operations[step]));
      work.longest.push_back(spans.back().longest);
    } else {
      work.left_out.push_back("step " + std::to_string(record.steps[step]) +
                              " is left out: " + problem);
    }
  }
  work.measured = recorded_times(spans, record.stages);
  if (work.steps.empty())
    throw InputError(record.file, "no step can be played again; " + work.left_out.front());
  return work;
}

}  // namespace sgdsim::diagnose
