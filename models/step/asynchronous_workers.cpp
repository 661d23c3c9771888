// From computation to push, from update to answer.
#include "models/step/asynchronous_workers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "models/step/sparsity.h"
#include "sim/core/error.h"
#include "sim/core/refusal.h"
#include "sim/core/scaled.h"

namespace sgdsim {

const AsynchronousRule* asynchronous_rule(const StepQuestion& question) {
  const Synchronization* synchronization = question.synchronization;
  return synchronization == nullptr ? nullptr
                                    : std::get_if<AsynchronousRule>(&synchronization->rule);
}

namespace {

using CyclePart = AsynchronousCycle::Part;

// All gradients by server: even shares, or the tensors that a hash gives it. What is sent may be
// smaller than they are.
std::vector<CyclePart> parts_of_all(const ParameterServers& servers, const Trace& trace,
                                    Bytes sent) {
  const auto sent_B = static_cast<double>(sent.count());
  if (!servers.hashed) {
    const Duration update = Duration::ps(trace.update.ps() / servers.servers);
    std::vector<CyclePart> parts;
    for (int server = 0; server < servers.servers; ++server)
      parts.push_back({server, sent_B / servers.servers, update});
    return parts;
  }
  std::map<int, double> bytes;
  for (std::size_t i = 0; i < trace.layers.size(); ++i)
    for (const ServerPart& part :
         parts_of(servers, trace.layers[i].gradient, {.tensor = static_cast<int>(i)}))
      bytes[part.server] += part.size_B;
  const auto all_B = static_cast<double>(trace.gradient().count());
  std::vector<CyclePart> parts;
  for (const auto& [server, size_B] : bytes)
    parts.push_back({server, sent_B * (size_B / all_B), scaled(trace.update, size_B / all_B)});
  if (parts.empty()) parts.push_back({0, 0, trace.update});
  return parts;
}

}  // namespace

AsynchronousCycle asynchronous_cycle(const StepQuestion& question, const Network* network,
                                     const ServerPlaces* places) {
  if (question.timeline != nullptr)
    throw not_together("--timeline, --gantt",
                       "show an iteration that all workers have in common, and these have none: "
                       "leave it out, or say --set synchronization=none");
  const ParameterServers* servers = question.cost.servers();
  if (servers == nullptr)
    throw InputError(
        "",
        "asynchronous training needs parameter servers: leave out `collective`, or say "
        "collective=parameter_server. Gradients are added there: compressions that "
        "bring exchanges of their own, as topk and gtopk do, must be left out");
  if (servers->barrier)
    throw InputError("", "asynchronous workers do not wait for each other: leave out `barrier`");
  AsynchronousCycle cycle;
  cycle.servers = *servers;
  const std::vector<PlannedMessage> all = all_in_one(*question.trace);
  if (!all.empty()) cycle.encoded = question.cost.encoded(all.front().group());
  if (cycle.encoded.transfer_count > 1)
    throw InputError("", "asynchronous training sends one message: no powersgd");
  const Transfer& transfer = cycle.encoded.transfers[0];
  cycle.parts = parts_of_all(*servers, *question.trace, transfer.size);
  cycle.servers.cost = servers->cost.with(transfer.folding);
  const Network& cluster = question.cluster->network;
  cycle.network = (network != nullptr ? *network : cluster).with(transfer.folding);
  if (places != nullptr) {
    cycle.places = *places;
    return cycle;
  }
  if (servers->dedicated) cycle.network = with_servers(cycle.network, servers->servers);
  cycle.places.workers.resize(static_cast<std::size_t>(cluster.workers()));
  std::iota(cycle.places.workers.begin(), cycle.places.workers.end(), 0);
  cycle.places.servers.resize(static_cast<std::size_t>(servers->servers));
  std::iota(cycle.places.servers.begin(), cycle.places.servers.end(), cluster.workers());
  return cycle;
}

ServerLegs legs_of(const AsynchronousCycle& cycle, int worker) {
  const ParameterServers& servers = cycle.servers;
  if (!servers.dedicated) {
    const Duration busy = servers.busy(cycle.part_B());
    const Duration fold = servers.fold(cycle.part_B());
    const int sent = servers.servers - (servers.has_server(worker) ? 1 : 0);
    if (sent == 0) return {{}, busy, fold, fold};  // nothing travels
    return {(sent + 1) * busy + 2 * servers.flight(cycle.part_B()), busy, fold,
            fold - std::min(fold, busy)};
  }
  const Wires wires(cycle.network, servers.alpha);
  const int place = cycle.places.of_worker(worker);
  const Leg push = wires.leg(place, cycle.server_place(0), cycle.part_B(), true);
  const Leg pull = wires.leg(cycle.server_place(0), place, cycle.part_B(), false);
  return {servers.servers * push.out_busy + push.flight + push.agreed + pull.flight + pull.in_busy,
          std::max(push.in_busy, pull.out_busy), push.fold,
          push.fold - std::min(push.fold, push.transit)};
}

AsynchronousWorkers::AsynchronousWorkers(const StepQuestion& question, int bound,
                                         AsynchronousCycle cycle, const Setting& setting)
    : question_(question),
      bound_(bound),
      trace_(*question.trace),
      cycle_(std::move(cycle)),
      clock_(setting.clock),
      carrier_(clock_.carrier()),
      first_number_(setting.first_number),
      start_(setting.start),
      wires_(cycle_.network,
             carrier_ != nullptr ? carrier_->alpha_of_legs() : cycle_.servers.alpha),
      work_(backward_work(trace_)),
      fixed_(fixed_factors(question.workers, question.cluster->network.workers())),
      workers_(fixed_.size()),
      servers_(cycle_.parts.size()),
      wanted_(workers_.size() * at(question.warm_up + question.iterations)) {
  if (bound_ != AsynchronousRule::no_bound)
    for (Server& server : servers_) {
      server.had.resize(workers_.size());
      server.at_least = static_cast<int>(workers_.size());
    }
  if (carrier_ == nullptr) {
    out_free_.resize(at(cycle_.network.workers()));
    in_free_.resize(out_free_.size());
  } else {
    outboxes_ = std::make_unique<Outboxes<Part>>(
        clock_, [this](const Part& part) { return parcel_of(part); });
  }
}

void AsynchronousWorkers::begin() {
  for (std::size_t i = 0; i < workers_.size(); ++i) compute(static_cast<int>(i), start_);
}

void AsynchronousWorkers::happen(const Event& event, Time now) {
  const int worker = static_cast<int>(event.subject() - first_number_);
  const int number = static_cast<int>(event.version());
  switch (static_cast<Kind>(event.kind_of_actor())) {
    case pushed: {
      const Part part{worker, number, false};
      if (is_own(part)) return serve(part, {now, now}, own_fold(number));
      return plan(is_there, worker, through_port(part, leg(part), now).ends, number);
    }
    case is_there: {
      const Part part{worker, number, false};
      const Leg way = leg(part);
      return serve(part, {now - way.transit, now}, way.fold);
    }
    case answered: {
      const Part part{worker, number, true};
      return take(worker, through_port(part, leg(part), now).ends);
    }
    case goes_on:
      return state(worker).is_computing ? push(worker, now) : next(worker, now);
    case updated:
      return update(worker, number, now);
  }
}

bool AsynchronousWorkers::hear(const Carrier::Report& report, Time now) {
  const auto sent = outboxes_->hear(report, now);
  if (!sent) return false;
  if (report.news != Carrier::News::arrived) return true;
  if (sent->what.is_answer)
    take(sent->what.worker, now);
  else
    serve(sent->what, {sent->at + carrier_->first_bytes(sent->leg), now}, sent->leg.fold);
  return true;
}

void AsynchronousWorkers::compute(int worker, Time now) {
  if (is_over()) return;
  WorkerState& my = state(worker);
  if (my.iteration == 0 || question_.workers.is_random())
    my.work = draw_work(trace_, work_, question_.workers, fixed_[at(worker)],
                        {question_.seed, worker, my.iteration});
  Breakdown one;
  for (const Duration forward : my.work.forward) one.forward += forward;
  for (const Duration backward : my.work.backward) one.backward += backward;
  one.compression = scaled(cycle_.encoded.compress + cycle_.encoded.decompress, my.work.factor);
  look(question_.stopper);
  my.started = now;
  my.computed = now + one.forward + one.backward + one.compression;
  my.is_computing = true;
  computed_ += one;
  ++iterations_;
  ++busy_;
  plan(goes_on, worker, my.computed);
}

void AsynchronousWorkers::push(int worker, Time now) {
  const int parts = cycle_.count();
  WorkerState& my = state(worker);
  my.is_computing = false;
  my.parts_left = parts;
  for (int i = 0; i < parts; ++i) {
    const Part part{worker, (worker + i) % parts, false};
    if (!is_own(part))
      send(part, now);
    else if (carrier_ == nullptr)
      plan(pushed, worker, now, part.number);
    else
      serve(part, {now, now}, own_fold(part.number));
  }
}

// A worker's own gradients are folded at the price of any others that its server gets, or would
// get.
Duration AsynchronousWorkers::own_fold(int number) const {
  const double size_B = cycle_.part(number).size_B;
  if (workers_.size() == 1) return cycle_.servers.fold(size_B);
  const int server = cycle_.server_place(number);
  const int other = worker_place(server == worker_place(0) ? 1 : 0);
  return wires_.leg(other, server, size_B, true).fold;
}

// When the sender's port is free.
void AsynchronousWorkers::send(const Part& part, Time ready) {
  if (carrier_ != nullptr) return outboxes_->put({from(part)}, part, ready);
  const Leg way = leg(part);
  Time& port = out_free_[at(from(part))];
  const Time start = std::max(port, ready);
  port = start + way.out_busy;
  plan(part.is_answer ? answered : pushed, part.worker, start + way.flight, part.number);
}

Parcel AsynchronousWorkers::parcel_of(const Part& part) const {
  return {.from = from(part),
          .to = to(part),
          .size_B = cycle_.part(part.number).size_B,
          .leg = leg(part),
          .freight = {.cargo = part.is_answer ? Cargo::parameters : Cargo::gradients}};
}

// The receiver's port takes one part after the other, by their first bytes.
AsynchronousWorkers::Span AsynchronousWorkers::through_port(const Part& part, const Leg& way,
                                                            Time now) {
  Time& port = in_free_[at(to(part))];
  const Time begins = std::max(port, now);
  port = begins + way.in_busy;
  return {begins, begins + way.transit};
}

// The server folds the part in while it comes; then it updates. It is asked when all is there, so
// that whoever comes while another one is coming need not wait for that.
void AsynchronousWorkers::serve(const Part& push, const Span& coming, Duration fold) {
  Time& free = servers_[at(push.number)].free;
  free =
      std::max(coming.ends, std::max(free, coming.begins) + fold) + cycle_.part(push.number).update;
  if (push.number == 0) count_update(push.worker, free);
  plan(updated, push.worker, free, push.number);
}

bool AsynchronousWorkers::is_too_far_ahead(const Server& server, int worker) const {
  return server.had[at(worker)] - server.least > bound_;
}

// The last of the slowest ones has its answer, and lets others have theirs. Once all is over nobody
// waits.
void AsynchronousWorkers::update(int worker, int part, Time now) {
  if (question_.visited) question_.visited(worker, part, ServerVisit::push);
  if (part == 0) ++updated_;
  Server& server = servers_[at(part)];
  if (bound_ == AsynchronousRule::no_bound) return answer(worker, part, now);
  const bool was_slowest = server.had[at(worker)]++ == server.least;
  const bool all_have_more = was_slowest && --server.at_least == 0;
  if (all_have_more) {
    ++server.least;
    server.at_least =
        static_cast<int>(std::count(server.had.begin(), server.had.end(), server.least));
  }
  if (is_too_far_ahead(server, worker)) {
    server.held.push_back(worker);
    ++held_;
  } else {
    answer(worker, part, now);
  }
  if (all_have_more) release(part, now);
  for (int i = 0; is_over() && held_ > 0 && i < cycle_.count(); ++i) release(i, now);
}

// In the order of pushes.
void AsynchronousWorkers::release(int part, Time now) {
  Server& server = servers_[at(part)];
  const auto stay = std::stable_partition(server.held.begin(), server.held.end(), [&](int worker) {
    return is_over() || !is_too_far_ahead(server, worker);
  });
  const std::vector<int> go(server.held.begin(), stay);
  server.held.erase(server.held.begin(), stay);
  held_ -= static_cast<int>(go.size());
  for (const int worker : go) answer(worker, part, now);
}

void AsynchronousWorkers::answer(int worker, int part, Time now) {
  if (question_.visited) question_.visited(worker, part, ServerVisit::pull);
  if (part == 0) state(worker).read = updated_;
  if (is_own({worker, part, true}))
    take(worker, now);
  else
    send({worker, part, true}, now);
}

void AsynchronousWorkers::count_sent(int worker) {
  for (int number = 0; number < cycle_.count(); ++number) {
    if (is_own({worker, number, false})) continue;
    ++sent_parts_;
    sent_B_ += cycle_.part(number).size_B;
  }
}

void AsynchronousWorkers::count_update(int worker, Time when) {
  if (is_over()) return;
  WorkerState& my = state(worker);
  const auto stale = static_cast<double>(static_cast<int64_t>(applied_.size()) - my.read);
  if (is_measured()) {
    staleness_ += stale;
    staleness_max_ = std::max(staleness_max_, stale);
    ++updates_;
    count_sent(worker);
  }
  applied_.push_back(when);
}

// Of all parts of an iteration, the last one to be there.
void AsynchronousWorkers::take(int worker, Time end) {
  WorkerState& my = state(worker);
  if (--my.parts_left > 0) return;
  if (!is_over()) exchanged_ += end - my.computed;
  plan(goes_on, worker, std::max(end, my.started + trace_.load));
}

void AsynchronousWorkers::next(int worker, Time now) {
  --busy_;
  ++state(worker).iteration;
  compute(worker, now);
}

// What an exchange takes when nobody else is there, in the mean: all parts leave one after the
// other, and the largest comes back.
Duration AsynchronousWorkers::alone() const {
  int64_t sum_ps = 0;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const int worker = static_cast<int>(i);
    if (!cycle_.servers.hashed) {
      sum_ps += legs_of(cycle_, worker).exchange.ps();
      continue;
    }
    Duration sent;
    Duration back;
    for (int number = 0; number < cycle_.count(); ++number) {
      if (is_own({worker, number, false})) continue;
      const Leg push = leg({worker, number, false});
      const Leg pull = leg({worker, number, true});
      sent += push.out_busy;
      back = std::max(back, push.flight + push.agreed + pull.flight + pull.in_busy);
    }
    sum_ps += (sent + back).ps();
  }
  return Duration::ps(sum_ps / static_cast<int64_t>(workers_.size()));
}

// Of one worker in the mean, for all measured iterations: an iteration is one update of each.
Account AsynchronousWorkers::account() const {
  const Duration exchange = std::min(Duration::ps(exchanged_.ps() / iterations_), alone());
  return Account::in_turns(computed_ / iterations_ * question_.iterations,
                           exchange * question_.iterations);
}

StepResult AsynchronousWorkers::result() const {
  StepResult result;
  const std::size_t workers = workers_.size();
  const auto end_of = [&](int iteration) {
    return iteration == 0 ? start_ : applied_[at(iteration) * workers - 1];
  };
  for (int i = question_.warm_up; i < question_.warm_up + question_.iterations; ++i)
    result.iterations.push_back(end_of(i + 1) - end_of(i));
  result.settle({account()});
  const double sent = 2 * static_cast<double>(sent_parts_) / question_.iterations;
  result.message_count = std::llrint(sent);
  result.wire_B =
      cycle_.servers.hashed ? 2 * sent_B_ / question_.iterations : sent * cycle_.part_B();
  Sparsity sparsity;
  sparsity.add(cycle_.encoded);
  result.quality = sparsity.quality();
  result.quality.staleness_mean = staleness_ / std::max(1., static_cast<double>(updates_));
  result.quality.staleness_max = staleness_max_;
  result.path = name_of(PathTaken::events);
  return result;
}

}  // namespace sgdsim
