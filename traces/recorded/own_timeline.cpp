// Three kinds: workers of `run`, with layers and messages; ranks and replicas of a pipeline; and
// GPUs on wires.
//
// Of `run`, the forward pass of a worker is one operation, and so is what lies between the launches
// of two messages in its backward pass: a message is the bucket of that piece. Of a layout,
// exchanges between replicas that lie under passes are left out, and what comes after the last pass
// is one exchange.
#include "traces/recorded/own_timeline.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/core/error.h"
#include "traces/recorded/own_slices.h"
#include "traces/recorded/pipeline_timeline.h"

namespace sgdsim {
namespace {

class Steps {  // numbers iterations as they come
 public:
  Steps(StepRecord& record, const std::vector<int64_t>& wanted)
      : record_(record), wanted_(wanted.begin(), wanted.end()) {}
  bool wants(int64_t iteration) {
    present_.insert(iteration);
    return wanted_.empty() || wanted_.contains(iteration);
  }
  void check_any() const {  // InputError if none of those that are wanted is there
    if (record_.steps.empty() && !wanted_.empty() && !present_.empty())
      throw no_such_step(record_.file, {wanted_.begin(), wanted_.end()},
                         {present_.begin(), present_.end()});
  }
  int32_t number(int64_t iteration) {
    const auto [found, is_new] =
        numbers_.try_emplace(iteration, static_cast<int32_t>(record_.steps.size()));
    if (is_new) record_.steps.push_back(iteration);
    return found->second;
  }

 private:
  StepRecord& record_;
  std::set<int64_t> wanted_;
  std::set<int64_t> present_;
  std::map<int64_t, int32_t> numbers_;
};

constexpr char readable[] =
    "expected a timeline of training steps, as sgdsim run and sgdsim layout write (--timeline)";

constexpr int64_t rounding_ns = 2;  // of starts and ends, each for itself

// ---- run

struct WorkerStep {
  std::vector<const OwnSlice*> forward;
  std::vector<const OwnSlice*> backward;
  std::vector<const OwnSlice*> messages;
  std::vector<const OwnSlice*> updates;
};

// Of these, one after another.
int64_t length_of(const std::vector<const OwnSlice*>& slices, std::size_t from, std::size_t to,
                  const std::string& file) {
  int64_t length_ns = 0;
  for (std::size_t i = from; i < to; ++i) {
    length_ns += slices[i]->end_ns - slices[i]->start_ns;
    if (length_ns > longest_step_ns)
      throw InputError(file, "iteration " + std::to_string(slices[i]->iteration) +
                                 " computes for more than a day");
  }
  return length_ns;
}

void sort_by_start(WorkerStep& one) {
  for (auto* some : {&one.forward, &one.backward, &one.messages, &one.updates})
    std::stable_sort(some->begin(), some->end(), [](const OwnSlice* a, const OwnSlice* b) {
      return std::tuple(a->start_ns, a->end_ns) < std::tuple(b->start_ns, b->end_ns);
    });
}

using WorkerSteps = std::map<std::pair<int64_t, int64_t>, WorkerStep>;  // by iteration and worker

// Nobody sends before all backward passes are done.
bool sends_after_backward(const WorkerSteps& workers) {
  return std::all_of(workers.begin(), workers.end(), [](const auto& step) {
    const WorkerStep& one = step.second;
    return one.messages.empty() || one.backward.empty() ||
           one.messages.front()->start_ns + rounding_ns >= one.backward.back()->end_ns;
  });
}

void note_overlap(StepRecord& record, const WorkerSteps& workers) {
  for (const auto& [place, one] : workers) {
    const auto next = workers.find({place.first + 1, place.second});
    if (next == workers.end() || one.messages.empty() || next->second.forward.empty()) continue;
    if (one.messages.back()->end_ns <= next->second.forward.front()->start_ns + rounding_ns)
      continue;
    record.notes.emplace_back(
        "messages of an iteration lie beside the next one's forward pass; steps are played one by "
        "one, as if they did not, so that a step seems longer than it was");
    return;
  }
}

void add_worker_step(StepRecord& record, int32_t step, int32_t worker, WorkerStep& one,
                     bool is_after_backward) {
  RecordedOperation operation;
  operation.step = step;
  operation.replica = worker;
  const auto add = [&](Recorded kind, int64_t start_ns, int64_t length_ns, int32_t chunk) {
    operation.kind = kind;
    operation.chunk = chunk;
    operation.start_ns = start_ns;
    operation.end_ns = start_ns + length_ns;
    record.operations.push_back(operation);
  };
  if (!one.forward.empty()) {
    add(Recorded::forward, one.forward.front()->start_ns,
        length_of(one.forward, 0, one.forward.size(), record.file), 0);
  }
  // A piece ends with the last layer of a message; what follows the last one is a piece without.
  std::vector<std::pair<std::size_t, std::size_t>> ends;  // slice of its last layer, message
  for (std::size_t m = 0; m < one.messages.size(); ++m) {
    std::size_t last = 0;
    bool is_there = false;
    for (std::size_t i = 0; i < one.backward.size(); ++i)
      if (one.backward[i]->layer >= one.messages[m]->first_layer &&
          one.backward[i]->layer <= one.messages[m]->last_layer) {
        last = i;
        is_there = true;
      }
    if (is_after_backward && !one.backward.empty()) {
      last = one.backward.size() - 1;
      is_there = m == 0;
    }
    if (is_there) ends.emplace_back(last, m);
    add(Recorded::reduce, one.messages[m]->start_ns,
        one.messages[m]->end_ns - one.messages[m]->start_ns, static_cast<int32_t>(m));
  }
  std::sort(ends.begin(), ends.end());
  std::size_t from = 0;
  const auto piece = [&](std::size_t to, int32_t chunk) {
    if (from >= to) return;
    add(Recorded::backward, one.backward[from]->start_ns,
        length_of(one.backward, from, to, record.file), chunk);
    from = to;
  };
  for (const auto& [last, message] : ends) piece(last + 1, static_cast<int32_t>(message));
  piece(one.backward.size(), static_cast<int32_t>(one.messages.size()));
  for (const OwnSlice* slice : one.updates)
    add(Recorded::optimizer, slice->start_ns, slice->end_ns - slice->start_ns, 0);
}

void add_run(StepRecord& record, const OwnSlices& found, const std::vector<int64_t>& steps) {
  record.format = "timeline of sgdsim run";
  record.overlaps = record.chunks_differ = true;
  Steps numbers(record, steps);
  WorkerSteps workers;
  int64_t others = 0;
  for (const OwnSlice& slice : found.slices) {
    if (!numbers.wants(slice.iteration) || slice.category == "wait") continue;
    WorkerStep& one = workers[{slice.iteration, slice.process}];
    if (slice.category == "forward")
      one.forward.push_back(&slice);
    else if (slice.category == "backward")
      one.backward.push_back(&slice);
    else if (slice.category == "update" || slice.name == "decompress")
      one.updates.push_back(&slice);
    else if (slice.category == "comm" && slice.name.starts_with("message"))
      one.messages.push_back(&slice);
    else
      ++others;
  }
  for (auto& [place, one] : workers) sort_by_start(one);
  const bool is_after_backward = sends_after_backward(workers);
  for (auto& [place, one] : workers)
    add_worker_step(record, numbers.number(place.first), static_cast<int32_t>(place.second), one,
                    is_after_backward);
  numbers.check_any();
  note_overlap(record, workers);
  if (others > 0)
    record.notes.push_back(std::to_string(others) +
                           " slices (compression, broadcasts) were passed over: no rule says what "
                           "waits for them");
  std::set<int64_t> seen;
  for (const auto& [place, one] : workers) seen.insert(place.second);
  if (seen.size() == 1)
    record.notes.emplace_back(
        "the timeline has one worker; --timeline-workers 0-N of sgdsim run "
        "writes more");
}

// ---- layouts

struct Place {
  int32_t stage = 0;
  int32_t replica = 0;
  bool is_first = true;  // of the ranks that count as one worker
};

// By the name of the process; GPUs are numbered tensor, context, data, pipeline.
std::map<int64_t, Place> places_of(const OwnSlices& found, const std::string& file) {
  const int64_t tensor = number_behind(" " + found.config, " tp").value_or(1);
  const int64_t context = number_behind(" " + found.config, " cp").value_or(1);
  const int64_t data = number_behind(" " + found.config, " dp").value_or(1);
  const int64_t inside = std::max<int64_t>(1, tensor) * std::max<int64_t>(1, context);
  std::map<int64_t, Place> places;
  for (const auto& [process, name] : found.processes) {
    Place place;
    const auto rank = number_behind(name, "rank ");
    const auto replica = number_behind(name, "replica ");
    if (rank && replica) {
      place.stage = static_cast<int32_t>(*rank);
      place.replica = static_cast<int32_t>(*replica);
    } else if (const auto stage = number_behind(name, "stage ")) {
      place.stage = static_cast<int32_t>(*stage);
      place.replica = static_cast<int32_t>(process / inside % std::max<int64_t>(1, data));
      place.is_first = process % inside == 0;
    } else {
      throw InputError(file,
                       "process " + std::to_string(process) +
                           " has a name that is neither that of a worker nor a rank or GPU of a "
                           "layout; " +
                           readable);
    }
    places[process] = place;
  }
  return places;
}

Recorded kind_of_pass(const std::string& name) {
  if (name.starts_with("forward and")) return Recorded::weights;  // refused by the caller
  if (name.starts_with("forward")) return Recorded::forward;
  return name.starts_with("backward, weights") ? Recorded::weights : Recorded::backward;
}

class LayoutReader {
 public:
  LayoutReader(StepRecord& record, const OwnSlices& found)
      : record_(record), found_(found), places_(places_of(found, record.file)) {}

  void add() {
    record_.format = "timeline of sgdsim layout";
    record_.is_buffered = true;
    record_.sends_keep_worker = true;  // until a send is found beside a pass
    record_.steps = {0};
    for (const auto& [process, place] : places_) stages_ = std::max(stages_, place.stage + 1);
    for (const OwnSlice& slice : found_.slices) take(slice);
    for (const auto& [key, span] : passes_)
      add_one(std::get<3>(key), std::get<0>(key), std::get<1>(key), span,
              static_cast<int32_t>(std::get<2>(key).first),
              static_cast<int32_t>(std::get<2>(key).second));
    add_sends();
    add_ends();
  }

 private:
  using Span = std::pair<int64_t, int64_t>;
  // replica, stage, (chunk, micro-batch), kind
  using Key = std::tuple<int32_t, int32_t, std::pair<int64_t, int64_t>, Recorded>;

  void add_one(Recorded kind, int32_t replica, int32_t stage, Span span, int32_t chunk = 0,
               int32_t micro_batch = -1) {
    record_.operations.push_back(
        {span.first, span.second, 0, replica, stage, chunk, micro_batch, 0, kind});
  }
  void widen(std::map<Key, Span>& spans, const Key& key, const OwnSlice& slice) {
    const auto [found, is_new] = spans.try_emplace(key, slice.start_ns, slice.end_ns);
    if (is_new) return;
    found->second.first = std::min(found->second.first, slice.start_ns);
    found->second.second = std::max(found->second.second, slice.end_ns);
  }

  void take(const OwnSlice& slice) {
    const auto found = places_.find(slice.process);
    if (found == places_.end() || !found->second.is_first) return;
    const auto stage = found->second.stage;
    const auto replica = found->second.replica;
    const std::pair worker{replica, stage};
    const auto key = [&](Recorded kind) {
      return Key{replica, stage, {slice.chunk, slice.micro_batch}, kind};
    };
    const std::string& of = slice.pass.empty() ? slice.name : slice.pass;
    if (of.starts_with("forward and"))
      throw InputError(record_.file,
                       "passes forward and backward at once (dualpipe) cannot be told apart");
    if (slice.category == "update") {
      const auto [last, is_new] = optimizer_.try_emplace(worker, slice.start_ns, slice.end_ns);
      if (!is_new) last->second.second = std::max(last->second.second, slice.end_ns);
    } else if (slice.name.starts_with("send")) {
      sends_.push_back({&slice, replica, stage});
    } else if (slice.name.starts_with("receive")) {
      return;  // only shown where the pass waits for it; its send says all
    } else if (slice.name.starts_with("reduce")) {
      int64_t& end = reduced_[worker];
      end = std::max(end, slice.end_ns);
    } else if (!slice.name.starts_with("gather")) {
      widen(passes_, key(kind_of_pass(of)), slice);
      Span& span = whole_[worker];
      span.second = std::max(span.second, slice.end_ns);
    }
  }

  struct Send {
    const OwnSlice* slice = nullptr;
    int32_t replica = 0;
    int32_t stage = 0;
  };

  // Which way a send goes: if the timeline does not say, that of the pass that ended last.
  Recorded direction(const OwnSlice& send, int32_t replica, int32_t stage) const {
    if (!send.pass.empty())
      return send.pass == "forward" ? Recorded::forward_send : Recorded::backward_send;
    const auto end_of = [&](Recorded kind) {
      const auto found = passes_.find({replica, stage, {send.chunk, send.micro_batch}, kind});
      if (found == passes_.end() || found->second.second > send.start_ns + rounding_ns)
        return INT64_MIN;
      return found->second.second;
    };
    return end_of(Recorded::backward) > end_of(Recorded::forward) ? Recorded::backward_send
                                                                  : Recorded::forward_send;
  }

  bool is_beside_pass(const Send& send) const {
    for (auto found = passes_.lower_bound({send.replica, send.stage, {0, INT64_MIN}, {}});
         found != passes_.end() && std::get<0>(found->first) == send.replica &&
         std::get<1>(found->first) == send.stage;
         ++found)
      if (found->second.first + rounding_ns < send.slice->end_ns &&
          found->second.second > send.slice->start_ns + rounding_ns)
        return true;
    return false;
  }

  void add_sends() {
    for (const Send& one : sends_) {
      const Recorded kind = direction(*one.slice, one.replica, one.stage);
      const bool is_forward = kind == Recorded::forward_send;
      const Span span{one.slice->start_ns, one.slice->end_ns};
      if (is_beside_pass(one)) record_.sends_keep_worker = false;
      const auto chunk = static_cast<int32_t>(one.slice->chunk);
      const auto micro_batch = static_cast<int32_t>(one.slice->micro_batch);
      add_one(kind, one.replica, one.stage, span, chunk, micro_batch);
      add_one(is_forward ? Recorded::forward_receive : Recorded::backward_receive, one.replica,
              (one.stage + (is_forward ? 1 : stages_ - 1)) % stages_, span, chunk, micro_batch);
    }
  }

  // Replicas that are alike are played once, and what they do at the end is shown once for all.
  void add_ends() {
    for (const auto& [worker, span] : whole_) {
      const auto [replica, stage] = worker;
      int64_t reduced = 0;
      Span update{INT64_MAX, INT64_MIN};
      for (const auto& [other, end] : reduced_)
        if (other.second == stage) reduced = std::max(reduced, end);
      for (const auto& [other, one] : optimizer_)
        if (other.second == stage) update = one;
      if (const auto own = optimizer_.find(worker); own != optimizer_.end()) update = own->second;
      if (!reduced_.empty())
        add_one(Recorded::reduce, replica, stage, {span.second, std::max(span.second, reduced)});
      if (update.first != INT64_MAX) add_one(Recorded::optimizer, replica, stage, update);
    }
    if (!reduced_.empty())
      record_.notes.emplace_back(
          "exchanges between replicas that lie under passes count as hidden; "
          "what comes after the last pass is one exchange");
  }

  StepRecord& record_;
  const OwnSlices& found_;
  std::map<int64_t, Place> places_;
  int32_t stages_ = 1;
  std::map<Key, Span> passes_;
  std::vector<Send> sends_;
  std::map<std::pair<int32_t, int32_t>, Span> whole_;  // by replica and stage
  std::map<std::pair<int32_t, int32_t>, Span> optimizer_;
  std::map<std::pair<int32_t, int32_t>, int64_t> reduced_;
};

}  // namespace

bool is_own_timeline(std::string_view head) {
  return head.substr(0, 200).find("\"otherData\":{\"tool\":\"sgdsim\"") != head.npos;
}

StepRecord read_own_timeline(ByteSource& source, const std::vector<int64_t>& steps) {
  const OwnSlices found = read_own_slices(source);
  if (!found.command.empty() && found.command != "run" && found.command != "layout")
    throw InputError(source.file(),
                     "is a timeline of sgdsim " + found.command.substr(0, 20) + "; " + readable);
  StepRecord record;
  record.file = source.file();
  if (found.is_cut_off) record.notes.emplace_back("the file is cut off; what follows is not known");
  const bool is_run =
      std::any_of(found.processes.begin(), found.processes.end(),
                  [](const auto& one) { return one.second.starts_with("worker "); });
  if (is_run) {
    add_run(record, found, steps);
  } else {
    LayoutReader(record, found).add();
    if (!steps.empty() && steps.front() > 0) throw no_such_step(record.file, steps, record.steps);
  }
  close_record(record);
  return record;
}

}  // namespace sgdsim
