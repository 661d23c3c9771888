// Every moment is asked of those that it follows from, and remembered.
#include "tests/pipeline_job.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <tuple>

namespace sgdsim {
namespace {

std::size_t at(std::ptrdiff_t index) { return static_cast<std::size_t>(index); }

struct Moment {
  int64_t start = 0;  // of a send or receive: posted
  int64_t end = 0;
};

// One step of one replica, up to the end of its passes.
class Replica {
 public:
  Replica(const PipelineJob& job, int step, int replica)
      : job_(job), step_(step), replica_(replica), order_(at(job.stages)) {
    for (int stage = 0; stage < job.stages; ++stage) {
      const int ahead = std::min(job.micro_batches, job.stages - 1 - stage);
      auto& order = order_[at(stage)];
      for (int i = 0; i < ahead; ++i) order.emplace_back(i, false);
      for (int i = 0; i + ahead < job.micro_batches; ++i) {
        order.emplace_back(ahead + i, false);
        order.emplace_back(i, true);
      }
      for (int i = job.micro_batches - ahead; i < job.micro_batches; ++i)
        order.emplace_back(i, true);
    }
  }

  Moment pass(int stage, int micro_batch, bool is_backward) {
    const std::tuple key{stage, micro_batch, is_backward};
    if (const auto found = passes_.find(key); found != passes_.end()) return found->second;
    int64_t start = 0;
    const auto& order = order_[at(stage)];
    const auto at = std::find(order.begin(), order.end(), std::pair(micro_batch, is_backward));
    if (at != order.begin()) start = pass(stage, std::prev(at)->first, std::prev(at)->second).end;
    const int from = is_backward ? stage + 1 : stage - 1;
    if (from >= 0 && from < job_.stages)
      start = std::max(start, arrived(from, micro_batch, is_backward));
    const int64_t length = job_.pass(step_, replica_, stage, micro_batch, is_backward);
    return passes_[key] = {start, start + length};
  }

  // When a stage sends what a pass made: once the pass and the send before it are done.
  int64_t send_posted(int stage, int micro_batch, bool is_backward) {
    int64_t posted = pass(stage, micro_batch, is_backward).end;
    if (micro_batch > 0) posted = std::max(posted, arrived(stage, micro_batch - 1, is_backward));
    return posted;
  }
  // When the other side waits for it: once the pass before has left the buffer.
  int64_t receive_posted(int from, int micro_batch, bool is_backward) {
    const int stage = is_backward ? from - 1 : from + 1;
    if (micro_batch > 0)
      return std::max(pass(stage, micro_batch - 1, is_backward).end,
                      arrived(from, micro_batch - 1, is_backward));
    if (!is_backward) return 0;
    // The first gradient is waited for when the last but one forward pass before it has ended.
    const auto& order = order_[at(stage)];
    const auto first = std::find(order.begin(), order.end(), std::pair(0, true)) - order.begin();
    return first < 2 ? 0 : pass(stage, order[at(first - 2)].first, false).end;
  }
  int64_t arrived(int from, int micro_batch, bool is_backward) {
    const std::tuple key{from, micro_batch, is_backward};
    if (const auto found = arrived_.find(key); found != arrived_.end()) return found->second;
    const int64_t begin = std::max(send_posted(from, micro_batch, is_backward),
                                   receive_posted(from, micro_batch, is_backward));
    return arrived_[key] = begin + job_.send(step_, replica_, from, micro_batch, is_backward);
  }
  int64_t passes_end(int stage) {
    const auto [micro_batch, is_backward] = order_[at(stage)].back();
    return pass(stage, micro_batch, is_backward).end;
  }

 private:
  const PipelineJob& job_;
  int step_;
  int replica_;
  std::vector<std::vector<std::pair<int, bool>>> order_;  // of the passes of each stage
  std::map<std::tuple<int, int, bool>, Moment> passes_;
  std::map<std::tuple<int, int, bool>, int64_t> arrived_;
};

struct StepWriter {
  const PipelineJob& job;
  StepRecord& record;
  int step;
  int64_t begin;

  void add(Recorded kind, int replica, int stage, int64_t start, int64_t end,
           int micro_batch = -1) {
    const int64_t clock = begin + job.clock(replica, stage);
    record.operations.push_back(
        {start + clock, end + clock, step, replica, stage, 0, micro_batch, 0, kind});
  }

  void add_replica(Replica& played, int replica) {
    for (int stage = 0; stage < job.stages; ++stage)
      for (int i = 0; i < job.micro_batches; ++i)
        for (const bool back : {false, true}) {
          const Moment pass = played.pass(stage, i, back);
          add(back ? Recorded::backward : Recorded::forward, replica, stage, pass.start, pass.end,
              i);
          const int to = back ? stage - 1 : stage + 1;
          if (to < 0 || to >= job.stages) continue;
          const int64_t end = played.arrived(stage, i, back);
          add(back ? Recorded::backward_send : Recorded::forward_send, replica, stage,
              played.send_posted(stage, i, back), end);
          add(back ? Recorded::backward_receive : Recorded::forward_receive, replica, to,
              played.receive_posted(stage, i, back), end);
        }
  }

  // Returns the end of the step.
  int64_t play() {
    std::vector<Replica> replicas;
    for (int replica = 0; replica < job.replicas; ++replica)
      replicas.emplace_back(job, step, replica);
    std::vector<int64_t> ready;  // for the reduction, by replica and stage
    for (int replica = 0; replica < job.replicas; ++replica) {
      add_replica(replicas[at(replica)], replica);
      for (int stage = 0; stage < job.stages; ++stage) {
        const int64_t end = replicas[at(replica)].passes_end(stage);
        const int64_t pause = job.collection(step, replica, stage);
        if (pause > 0) add(Recorded::collection, replica, stage, end, end + pause);
        ready.push_back(end + pause);
      }
    }
    int64_t clip = 0;
    std::vector<int64_t> reduced(at(job.stages));
    for (int stage = 0; stage < job.stages; ++stage) {
      for (int replica = 0; replica < job.replicas; ++replica)
        reduced[at(stage)] = std::max(reduced[at(stage)], ready[at(replica * job.stages + stage)]);
      if (job.replicas > 1) reduced[at(stage)] += job.reduce(step, stage);
      clip = std::max(clip, reduced[at(stage)]);
    }
    clip += job.clip_ns;
    for (int replica = 0; replica < job.replicas; ++replica)
      for (int stage = 0; stage < job.stages; ++stage) {
        if (job.replicas > 1)
          add(Recorded::reduce, replica, stage, ready[at(replica * job.stages + stage)],
              reduced[at(stage)]);
        add(Recorded::clip, replica, stage, reduced[at(stage)], clip);
        add(Recorded::optimizer, replica, stage, clip, clip + job.optimizer_ns);
      }
    return clip + job.optimizer_ns;
  }
};

int64_t play_all(const PipelineJob& job, StepRecord& record) {
  record.file = "job";
  record.format = "made up";
  record.replicas = job.replicas;
  record.stages = job.stages;
  int64_t now = 0;
  int64_t sum = 0;
  for (int step = 0; step < job.steps; ++step) {
    record.steps.push_back(job.first_step + step);
    const int64_t length = StepWriter{job, record, step, now}.play();
    sum += length;
    now += length + 5'000'000;
  }
  return sum;
}

}  // namespace

StepRecord PipelineJob::record() const {
  StepRecord record;
  play_all(*this, record);
  return record;
}

double PipelineJob::step_s() const {
  StepRecord record;
  return static_cast<double>(play_all(*this, record)) / 1e9 / steps;
}

std::string timeline_text(const StepRecord& record) {
  std::ostringstream out;
  const auto us = [](int64_t ns) {
    char text[64];
    std::snprintf(text, sizeof text, "%.3f", static_cast<double>(ns) / 1000);
    return std::string(text);
  };
  out << "[";
  for (const RecordedOperation& one : record.operations) {
    const std::string name(name_of(one.kind));
    out << "{\"name\": \"" << name << "\", \"cat\": \"" << name << "\", \"pid\": " << one.replica
        << ", \"tid\": " << one.stage * 5 + (is_communication(one.kind) ? 1 : 0)
        << ", \"ts\": " << us(one.start_ns) << ", \"dur\": " << us(one.end_ns - one.start_ns)
        << ", \"ph\": \"X\", \"args\": {\"step\": " << record.steps[at(one.step)]
        << ", \"model_chunk\": " << one.chunk << ", \"mb_id\": "
        << (one.micro_batch < 0 ? std::string("null") : std::to_string(one.micro_batch))
        << ", \"seq_id\": " << one.sequence << "}},\n ";
  }
  for (int replica = 0; replica < record.replicas; ++replica)
    for (int stage = 0; stage < record.stages; ++stage)
      for (int lane = 0; lane < 2; ++lane)
        out << (replica + stage + lane > 0 ? ",\n " : "")
            << "{\"name\": \"thread_name\", \"pid\": " << replica
            << ", \"tid\": " << stage * 5 + lane
            << ", \"ph\": \"M\", \"args\": {\"name\": \"PP rank " << stage << ", TP rank 0, "
            << (lane == 0 ? "compute" : "pp-comm") << "\"}}";
  out << "]\n";
  return out.str();
}

}  // namespace sgdsim
