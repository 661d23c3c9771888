// Computation on one processor, messages on another one.
#include "models/step/step_schedule.h"

#include <algorithm>

#include "models/step/compute.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "sim/core/scaled.h"
#include "sim/net/wires.h"

namespace sgdsim {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw InputError("", "a schedule of sends and receives cannot say " + what);
}

// What a schedule of sends and receives cannot say of a collective.
void check(const Program& program) {
  for (const Stage& stage : program.stages) {
    if (std::holds_alternative<Launch>(stage)) continue;
    const auto* phase = std::get_if<Phase>(&stage);
    if (phase == nullptr) refuse("what this algorithm does: blocks of pipelines, or barriers");
    if (phase->handshake != Handshake::buffered)
      refuse("that single messages wait for their receiver, as in this algorithm");
  }
}

// Computing that nothing waits for in between is one operation.
class OperationSink {
 public:
  OperationSink(const StepSchedule& schedule, RankWork& work, int rank)
      : schedule_(schedule), writer_(work), member_{rank, {}} {}

  void forward(const std::vector<Duration>& layers) {
    Duration length;
    for (const Duration layer : layers) length += layer;
    computed_ = writer_.calc(RankWriter::computes, length);
  }
  void backward(const std::vector<Duration>& layers, int from, int to) {
    Duration length;
    for (int layer = from; layer >= to; --layer) length += layers[static_cast<std::size_t>(layer)];
    compute(length);
  }
  void compress(Duration length) { compute(length); }
  void exchange(const StepSchedule::Message& message) {
    last_.push_back(computed_);
    if (message.encoded.local > Duration()) {
      const uint32_t local = writer_.calc(RankWriter::exchanges, message.encoded.local);
      writer_.require(local, last_);
      last_ = {local};
    }
    schedule_.play(message, writer_, member_, last_);
  }
  void update(Duration length) {
    const uint32_t end = writer_.calc(RankWriter::computes, length);
    last_.push_back(computed_);
    writer_.require(end, last_);
  }

 private:
  void compute(Duration length) {
    if (length == Duration()) return;
    const uint32_t next = writer_.calc(RankWriter::computes, length);
    writer_.require(next, {computed_});
    computed_ = next;
  }

  const StepSchedule& schedule_;
  RankWriter writer_;
  RankWriter::Member member_;
  uint32_t computed_ = 0;
  std::vector<uint32_t> last_;  // of the messages
};

// Layer by layer, and a message as a whole.
class NodeSink {
 public:
  NodeSink(const StepSchedule& schedule, std::vector<StepNode>& nodes)
      : schedule_(schedule), nodes_(nodes) {}

  void forward(const std::vector<Duration>& layers) {
    for (std::size_t layer = 0; layer < layers.size(); ++layer)
      compute(StepNode::Kind::forward, static_cast<int>(layer), layers[layer]);
  }
  void backward(const std::vector<Duration>& layers, int from, int to) {
    for (int layer = from; layer >= to; --layer)
      compute(StepNode::Kind::backward, layer, layers[static_cast<std::size_t>(layer)]);
  }
  void compress(Duration length) { compute(StepNode::Kind::compress, messages_, length); }
  void exchange(const StepSchedule::Message& message) {
    if (message.encoded.local > Duration()) refuse("what is computed beside the messages");
    for (const Transfer& transfer : schedule_.transfers_of(message)) {
      nodes_.push_back({.kind = StepNode::Kind::exchange,
                        .number = messages_,
                        .length = {},
                        .operation = transfer.operation,
                        .size = transfer.size,
                        .waits = waits(true)});
      exchanged_ = last_node();
    }
    ++messages_;
  }
  void update(Duration length) {
    nodes_.push_back({.kind = StepNode::Kind::update,
                      .number = 0,
                      .length = length,
                      .operation = {},
                      .size = {},
                      .waits = waits(true)});
  }

 private:
  void compute(StepNode::Kind kind, int number, Duration length) {
    if (length == Duration()) return;
    nodes_.push_back({.kind = kind,
                      .number = number,
                      .length = length,
                      .operation = {},
                      .size = {},
                      .waits = waits(false)});
    computed_ = last_node();
  }
  uint32_t last_node() const { return static_cast<uint32_t>(nodes_.size() - 1); }
  // Behind what was computed, and what was exchanged.
  std::vector<uint32_t> waits(bool on_messages) const {
    std::vector<uint32_t> all;
    if (computed_) all.push_back(*computed_);
    if (on_messages && exchanged_) all.push_back(*exchanged_);
    return all;
  }

  const StepSchedule& schedule_;
  std::vector<StepNode>& nodes_;
  std::optional<uint32_t> computed_;
  std::optional<uint32_t> exchanged_;
  int messages_ = 0;
};

}  // namespace

StepSchedule::StepSchedule(const StepQuestion& question, Says says)
    : question_(question),
      backward_(backward_work(*question.trace)),
      fixed_(fixed_factors(question.workers, ranks())),
      says_(says) {
  if (question.synchronization != nullptr) refuse("what a synchronization does");
  if (question.channels != 1) refuse("that several messages are in flight");
  if (question.interference != 1) refuse("that messages slow computation down");
  if (question.cost.servers() != nullptr) refuse("what parameter servers do");
  if (says == Says::messages && !question.cost.is_algorithm())
    refuse("what a message costs without sends and receives; it needs an algorithm");
  plan_ =
      question.strategy->plan({*question.trace, question.cost, ready_as_profiled(*question.trace)});
  if (plan_.order == Order::priority) refuse("that messages go by priority");
  if (plan_.bsp != BspForm::none) refuse("what bsp_lp does");
  messages_.reserve(plan_.messages.size());
  for (const PlannedMessage& planned : plan_.messages) {
    if (planned.not_before > Duration()) refuse("that messages wait for a cycle");
    prepare(planned);
  }
}

void StepSchedule::prepare(const PlannedMessage& planned) {
  Message message{&planned, question_.cost.encoded(planned.group()), {}, tags_};
  for (int i = 0; i < message.encoded.transfer_count; ++i) {
    const Transfer& transfer = message.encoded.transfers[static_cast<std::size_t>(i)];
    if (transfer.size.count() == 0) continue;
    Prepared& prepared = programs_.emplace_back();
    prepared.transfer = transfer;
    message.programs.push_back(programs_.size() - 1);
    if (says_ == Says::collectives) continue;
    prepared.program = question_.cost.program_of(transfer, prepared.network);
    check(prepared.program);
    tags_ += *rounds_of(prepared.program);
  }
  messages_.push_back(std::move(message));
}

std::vector<std::string> StepSchedule::notes() const {
  std::vector<std::string> notes;
  if (const Duration load = question_.trace->load; load > Duration())
    notes.push_back("loading the next batch, " + to_text(load) +
                    " beside the iteration before, is left out");
  if (says_ == Says::collectives && !question_.cost.is_algorithm())
    notes.emplace_back(
        "what `collective` costs is no part of the trace, as a launch: `replay` "
        "takes what its --algorithm does");
  for (const Prepared& one : programs_) {
    const CollectiveOptions& options = question_.cost.played_for(one.transfer).job().options;
    if (!options.shares_ports) {
      if (question_.cluster->network.shared_ways().empty() || says_ == Says::collectives) continue;
      notes.emplace_back(
          "workers of this cluster share cards or uplinks, which a step counts round by round and "
          "`replay` shares message by message: the times are the same at --fidelity flow, and with "
          "collective.options.ports=shared");
      break;
    }
    notes.push_back("messages of this step share ports: replay it with --ports shared" +
                    (options.send_buffer > Bytes()
                         ? " --send-buffer '" + to_text(options.send_buffer) + "'"
                         : std::string()));
    break;
  }
  return notes;
}

void StepSchedule::play(const Message& message, RankWriter& writer,
                        const RankWriter::Member& member, std::vector<uint32_t>& last) const {
  uint32_t tag = message.first_tag;
  for (const std::size_t place : message.programs) {
    const Prepared& one = programs_[place];
    const Wires wires(one.network ? *one.network : question_.cluster->network,
                      question_.cost.job().options.alpha);
    writer.play(one.program, &wires, member, tag, last);
    tag += *rounds_of(one.program);
  }
}

std::vector<Transfer> StepSchedule::transfers_of(const Message& message) const {
  std::vector<Transfer> transfers;
  for (const std::size_t place : message.programs) {
    if (programs_[place].transfer.folding != Folding())
      refuse("that adding up costs something else than on the cluster");
    transfers.push_back(programs_[place].transfer);
  }
  return transfers;
}

// What a rank does, in order. An update that takes no time is none.
template <class Sink>
void StepSchedule::tell(int rank, Sink& sink) const {
  const Trace& trace = *question_.trace;
  const WorkerWork layers =
      draw_work(trace, backward_, question_.workers, fixed_[static_cast<std::size_t>(rank)],
                {question_.seed, rank, 0});
  sink.forward(layers.forward);
  auto next_layer = static_cast<int>(trace.layers.size()) - 1;
  const auto backward_to = [&](int layer) {
    sink.backward(layers.backward, next_layer, layer);
    next_layer = std::min(next_layer, layer - 1);
  };
  if (plan_.after_backward) backward_to(0);
  Duration decompress;
  for (const Message& message : messages_) {
    backward_to(message.planned->first_layer);
    sink.compress(scaled(message.encoded.compress, layers.factor));
    decompress += scaled(message.encoded.decompress, layers.factor);
    sink.exchange(message);
  }
  backward_to(0);
  const Duration update = decompress + scaled(trace.update, layers.factor);
  if (update > Duration()) sink.update(update);
}

RankWork StepSchedule::of_rank(int rank) const {
  RankWork work;
  OperationSink sink(*this, work, rank);
  tell(rank, sink);
  return work;
}

std::vector<StepNode> StepSchedule::nodes_of(int rank) const {
  std::vector<StepNode> nodes;
  NodeSink sink(*this, nodes);
  tell(rank, sink);
  return nodes;
}

}  // namespace sgdsim
