// Computation on one processor, messages on another one.
#include "models/step/step_schedule.h"

#include "models/step/compute.h"
#include "sim/core/error.h"
#include "sim/net/wires.h"

namespace sgdsim {
namespace {

constexpr uint32_t computes = 0;
constexpr uint32_t exchanges = 1;

[[noreturn]] void refuse(const std::string& what) {
  throw InputError("", "a schedule of sends and receives cannot say " + what);
}

// Of every round its own tag.
uint32_t rounds_of(const Program& program) {
  uint32_t rounds = 0;
  for (const Stage& stage : program.stages) {
    if (std::holds_alternative<Launch>(stage)) continue;
    const auto* phase = std::get_if<Phase>(&stage);
    if (phase == nullptr) refuse("what this algorithm does: blocks of pipelines, or barriers");
    if (phase->handshake != Handshake::buffered)
      refuse("that single messages wait for their receiver, as in this algorithm");
    rounds += static_cast<uint32_t>(phase->rounds);
  }
  return rounds;
}

// The operations of one rank, as they are added.
class RankWriter {
 public:
  RankWriter(int rank, StepSchedule::RankWork& work) : rank_(rank), work_(work) {}

  uint32_t calc(uint32_t processor, Duration length) {
    return add({.amount = length.ps(), .processor = processor});
  }
  uint32_t add(const RankOperation& one) {
    work_.operations.push_back(one);
    return static_cast<uint32_t>(work_.operations.size() - 1);
  }
  void require(uint32_t then, const std::vector<uint32_t>& first) {
    for (const uint32_t one : first) work_.requirements.push_back({one, then, false});
  }

  // What the last round requires is required of the next one.
  void play(const Program& program, const Wires& wires, uint32_t tag, std::vector<uint32_t>& last) {
    for (const Stage& stage : program.stages) {
      if (const auto* launch = std::get_if<Launch>(&stage)) {
        const uint32_t launched = calc(exchanges, launch->length);
        require(launched, last);
        last = {launched};
        continue;
      }
      const auto& phase = std::get<Phase>(stage);
      const auto rounds = static_cast<uint32_t>(phase.rounds);
      if (phase.team.takes_part(rank_)) play(phase, wires, tag, last);
      tag += rounds;
    }
  }

 private:
  void play(const Phase& phase, const Wires& wires, uint32_t tag, std::vector<uint32_t>& last) {
    const int v = phase.team.relative(rank_);
    const int lane = phase.team.lane(rank_);
    const std::vector<uint32_t> before = last;
    std::vector<uint32_t> all;
    for (int round = 0; round < phase.rounds; ++round, ++tag) {
      const int to = phase.receiver(round, v);
      const int from = phase.sender(round, v);
      std::vector<uint32_t> now;
      const std::vector<uint32_t>& required = phase.at_once ? before : last;
      if (to >= 0) {
        now.push_back(add(message(RankVerb::send, phase.sent_B(round, v, lane),
                                  phase.team.colleague(rank_, v, to), tag)));
        require(now.back(), required);
      }
      if (from >= 0) {
        const int sender = phase.team.colleague(rank_, v, from);
        const double size_B = phase.sent_B(round, from, lane);
        now.push_back(add(message(RankVerb::receive, size_B, sender, tag)));
        require(now.back(), required);
        const Duration fold = wires.leg(sender, rank_, size_B, phase.folds).fold;
        if (fold > Duration()) {
          const uint32_t folded = calc(exchanges, fold);
          require(folded, now);  // and the sender's port is free
          now = {folded};
        }
      }
      if (now.empty()) continue;
      last = now;
      all.insert(all.end(), now.begin(), now.end());
    }
    if (phase.at_once && !all.empty()) last = all;
  }
  static RankOperation message(RankVerb verb, double size_B, int peer, uint32_t tag) {
    return {.amount = Bytes::nearest(size_B).count(),
            .peer = static_cast<uint32_t>(peer),
            .tag = tag,
            .processor = exchanges,
            .verb = verb};
  }

  int rank_;
  StepSchedule::RankWork& work_;
};

}  // namespace

StepSchedule::StepSchedule(const StepQuestion& question)
    : question_(question),
      backward_(backward_work(*question.trace)),
      fixed_(fixed_factors(question.workers, ranks())) {
  if (question.synchronization != nullptr) refuse("what a synchronization does");
  if (question.channels != 1) refuse("that several messages are in flight");
  if (question.interference != 1) refuse("that messages slow computation down");
  if (!question.cost.is_algorithm())
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
    prepared.program = question_.cost.program_of(transfer, prepared.network);
    message.programs.push_back(programs_.size() - 1);
    tags_ += rounds_of(prepared.program);
  }
  messages_.push_back(std::move(message));
}

StepSchedule::RankWork StepSchedule::of_rank(int rank) const {
  const Trace& trace = *question_.trace;
  RankWork work;
  RankWriter writer(rank, work);
  const WorkerWork layers =
      draw_work(trace, backward_, question_.workers, fixed_[static_cast<std::size_t>(rank)],
                {question_.seed, rank, 0});
  Duration forward;
  for (const Duration length : layers.forward) forward += length;
  uint32_t computed = writer.calc(computes, forward);
  auto compute = [&](Duration length) {
    if (length == Duration()) return;
    const uint32_t next = writer.calc(computes, length);
    writer.require(next, {computed});
    computed = next;
  };
  auto next_layer = static_cast<int>(trace.layers.size()) - 1;
  auto backward_to = [&](int layer) {
    Duration length;
    for (; next_layer >= layer; --next_layer)
      length += layers.backward[static_cast<std::size_t>(next_layer)];
    compute(length);
  };
  if (plan_.after_backward) backward_to(0);
  std::vector<uint32_t> last;
  Duration decompress;
  for (const Message& message : messages_) {
    backward_to(message.planned->first_layer);
    compute(scaled(message.encoded.compress, layers.factor));
    decompress += scaled(message.encoded.decompress, layers.factor);
    last.push_back(computed);
    if (message.encoded.local > Duration()) {
      const uint32_t local = writer.calc(exchanges, message.encoded.local);
      writer.require(local, last);
      last = {local};
    }
    uint32_t tag = message.first_tag;
    for (const std::size_t place : message.programs) {
      const Prepared& one = programs_[place];
      const Network& network = one.network ? *one.network : question_.cluster->network;
      writer.play(one.program, Wires(network, question_.cost.job().options.alpha), tag, last);
      tag += rounds_of(one.program);
    }
  }
  backward_to(0);
  const Duration update = decompress + scaled(trace.update, layers.factor);
  if (update == Duration()) return work;
  const uint32_t end = writer.calc(computes, update);
  last.push_back(computed);
  writer.require(end, last);
  return work;
}

}  // namespace sgdsim
