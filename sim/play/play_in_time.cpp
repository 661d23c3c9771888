// A worker enters its collectives one after the other.
#include "sim/play/play_in_time.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "sim/core/error.h"
#include "sim/net/flows.h"
#include "sim/net/packet_limit.h"
#include "sim/net/port_resources.h"
#include "sim/play/alike_calls.h"
#include "sim/play/calls_in_time.h"
#include "sim/play/logged_carrier.h"

namespace sgdsim {
namespace {

// Every worker always sends to the same one: only then is one for all exact (stand_ins.h), and
// there is little to look at.
bool all_send_to_one(std::span<const Call> calls) {
  const Phase* first = nullptr;
  for (const Call& call : calls)
    for (const Stage& stage : call.program->stages) {
      if (std::holds_alternative<Launch>(stage) || std::holds_alternative<Barrier>(stage)) continue;
      const auto* phase = std::get_if<Phase>(&stage);
      if (phase == nullptr || phase->talk != Talk::shift || phase->doubles ||
          phase->distance_step != 0 || phase->at_once)
        return false;
      if (first == nullptr) first = phase;
      if (phase->distance != first->distance || phase->team.size != first->team.size ||
          phase->team.stride != first->team.stride)
        return false;
    }
  return true;
}

std::vector<const Program*> programs_of(std::span<const Call> calls) {
  std::vector<const Program*> programs;
  for (const Call& call : calls) programs.push_back(call.program);
  return programs;
}

class CallListPlayer {
 public:
  CallListPlayer(std::span<const Call> calls, const SharingOptions& options)
      : calls_(calls),
        options_(options),
        all_workers_(static_cast<std::size_t>(calls.front().network->workers())),
        ports_(*calls.front().network),
        programs_(programs_of(calls)),
        stand_ins_(find_stand_ins()),
        workers_(stand_ins_ ? stand_ins_->workers.size() : all_workers_),
        carrier_(make_carrier()),
        clock_(agenda_, carrier_.get(), options.stopper),
        own_clock_(clock_, 1),
        in_time_({clock_, 2}, clock_.alpha_of_legs(options.alpha), options.jitter,
                 [this](uint32_t call, int worker, Time now) {
                   end(call, static_cast<std::size_t>(worker), now);
                 }),
        traffic_({clock_, 3}, calls.front().network, options.meanwhile),
        next_call_(workers_, 0),
        under_way_(workers_, 0),
        times_(calls.size()) {
    for (CallTimes& times : times_) {
      times.starts.resize(workers_);
      times.ends.resize(workers_);
    }
    if (stand_ins_) take_seats();
  }

  std::vector<CallTimes> play() {
    if (are_all_alike_) return play_one();
    check_packets_of_calls();
    traffic_.begin();  // links that change at 0 have changed for all
    for (const Call& call : calls_)
      for (std::size_t worker = 0; worker < workers_; ++worker)
        own_clock_.plan(ready, worker, ready_of(call, worker));
    Clockwork clockwork(clock_, *this, in_time_, traffic_);
    while (!is_over() && clockwork.step()) {
    }
    if (!has_ended()) clock_.fail();
    const Time now = clock_.now();
    if (options_.carried_B != nullptr && (stand_ins_ || options_.asks_carried)) {
      const std::vector<double> carried_B = carrier_->carried_B(now);
      *options_.carried_B = stand_ins_ ? stand_ins_->spread_carried(carried_B) : carried_B;
    }
    if (options_.until != nullptr) *options_.until = now;
    for (CallTimes& times : times_) {
      if (!stand_ins_) break;
      times = {stand_ins_->spread(times.starts), stand_ins_->spread(times.ends)};
    }
    return std::move(times_);
  }

  bool has_ended() const { return ended_ == calls_.size() * workers_; }
  // Others may go on; what the calls have left behind, as answers to packets, comes to its end.
  bool is_over() const { return options_.meanwhile.any() && has_ended(); }

  // A worker may be ready for its next collectives.
  void happen(const Event& event, Time now) { start_calls(event.subject(), now); }

 private:
  enum Kind : uint8_t { ready };

  Resources& shared() { return options_.resources != nullptr ? *options_.resources : ports_; }
  // Nothing where more than counts decides who is served when (stand_ins.h), or others take part.
  std::optional<StandIns> find_stand_ins() {
    if (options_.reduction == Reduction::never || options_.shares_nothing || options_.jitter.on() ||
        options_.carrier || options_.log != nullptr || options_.meanwhile.any() ||
        options_.send_buffer_B > 0 || (options_.carried_B != nullptr && options_.asks_carried))
      return std::nullopt;
    std::optional<StandIns> found;
    // In a ring of all workers, one of whose chunks is larger, no two of them are alike.
    if (!has_uneven_ring_of_all()) found = stand_ins_of(programs_);
    const bool may_pad = all_send_to_one(calls_) || shared().are_routes();
    if (found || !may_pad || !messages_from(options_.padded_chunks_from)) return found;
    std::vector<const Program*> padded = with_padded_chunks();
    found = stand_ins_of(padded);
    if (!found) return found;
    programs_ = std::move(padded);
    if (options_.pads_chunks != nullptr) *options_.pads_chunks = true;
    return found;
  }
  bool has_uneven_ring_of_all() const {
    const auto is_uneven = [&](const Stage& stage) {
      const auto* phase = std::get_if<Phase>(&stage);
      return phase != nullptr && static_cast<std::size_t>(phase->team.size) == all_workers_ &&
             phase->load == Load::chunk && !phase->padded_chunks &&
             !phase->share.even(phase->team.size);
    };
    return std::any_of(programs_.begin(), programs_.end(), [&](const Program* program) {
      return std::any_of(program->stages.begin(), program->stages.end(), is_uneven);
    });
  }
  std::optional<StandIns> stand_ins_of(const std::vector<const Program*>& programs) {
    std::vector<PlayedProgram> played;
    std::vector<uint64_t> first(all_workers_);
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      played.push_back({programs[i], calls_[i].network});
      for (std::size_t worker = 0; worker < all_workers_; ++worker)
        first[worker] =
            mixed(first[worker], static_cast<uint64_t>(calls_[i].ready[worker].since_start().ps()));
    }
    Resources& resources = shared();
    const AlphaRule alpha = resources.are_routes() ? AlphaRule::wire : options_.alpha;
    const bool are_many = messages_from(options_.reduced_from);
    std::optional<StandIns> found = find_one_for_all(played, first, &resources);
    are_all_alike_ = found.has_value();
    if (found) return found;
    if (options_.reduction == Reduction::always || all_send_to_one(calls_))
      found = sgdsim::find_stand_ins(played, first, &resources, alpha);
    if (!found && are_many && resources.are_routes()) found = find_turned(played, first, resources);
    const bool may_be_rounded = options_.reduction == Reduction::always || are_many;
    if (found && !found->is_exact && !may_be_rounded) found.reset();
    return found;
  }
  // Whether they have as many messages as that.
  bool messages_from(double least) const {
    if (least == std::numeric_limits<double>::infinity()) return false;
    double messages = 0;
    for (const Call& call : calls_)
      messages += static_cast<double>(traffic_of(*call.program, call.network->workers()).messages);
    return messages >= least;
  }
  std::vector<const Program*> with_padded_chunks() {
    std::vector<const Program*> padded;
    for (const Call& call : calls_) {
      const auto [place, is_new] = padded_.try_emplace(call.program, *call.program);
      if (is_new)
        for (Stage& stage : place->second.stages)
          if (auto* phase = std::get_if<Phase>(&stage); phase != nullptr)
            phase->padded_chunks = true;
      padded.push_back(&place->second);
    }
    return padded;
  }
  // All are alike, and share ports.
  std::vector<CallTimes> play_one() {
    std::vector<AlikeCall> calls;
    for (std::size_t i = 0; i < calls_.size(); ++i)
      calls.push_back({programs_[i], calls_[i].network, calls_[i].ready.front(), calls_[i].first});
    const std::vector<AlikeTimes> played =
        play_alike(calls, options_.alpha, options_.at_once, options_.stopper);
    const std::size_t entries = options_.one_answers ? 1 : all_workers_;
    Time until;
    for (std::size_t i = 0; i < played.size(); ++i) {
      times_[i].starts.assign(entries, played[i].starts);
      times_[i].ends.assign(entries, played[i].ends);
      until = std::max(until, played[i].ends);
    }
    if (options_.until != nullptr) *options_.until = until;
    if (options_.carried_B != nullptr) options_.carried_B->clear();  // ports are not asked
    return std::move(times_);
  }
  // Those who stand for others are played as workers.
  void take_seats() {
    everybody_.resize(all_workers_);
    std::iota(everybody_.begin(), everybody_.end(), 0);
    seats_.stand_ins = &stand_ins_->number_of;
    for (std::size_t seat = 0; seat < workers_; ++seat) {
      seats_.seats.push_back({&everybody_, stand_ins_->workers[seat]});
      seats_.seat_of.push_back(static_cast<uint32_t>(seat));
    }
  }
  Time ready_of(const Call& call, std::size_t worker) const {
    return call.ready[stand_ins_ ? static_cast<std::size_t>(stand_ins_->workers[worker]) : worker];
  }

  std::unique_ptr<Carrier> make_carrier() {
    if (options_.shares_nothing) return nullptr;
    std::unique_ptr<Carrier> carrier = make_plain_carrier();
    if (options_.log == nullptr) return carrier;
    return std::make_unique<LoggedCarrier>(std::move(carrier), *options_.log);
  }
  std::unique_ptr<Carrier> make_plain_carrier() {
    Resources& all = shared();
    if (options_.carrier) return options_.carrier(all, agenda_, nullptr);
    if (stand_ins_) alike_.emplace(all, *stand_ins_);
    return std::make_unique<Flows>(alike_ ? *alike_ : all,
                                   Flows::Options{.alpha = options_.alpha,
                                                  .send_buffer_B = options_.send_buffer_B,
                                                  .most_work = most_work()},
                                   agenda_);
  }

  void check_packets_of_calls() const {
    if (carrier_ == nullptr || !carrier_->payload().any()) return;
    double packets = 0;
    for (const Call& call : calls_) {
      const Traffic traffic = traffic_of(*call.program, call.network->workers());
      packets += carrier_->payload().packets(static_cast<double>(traffic.messages), traffic.wire_B);
    }
    check_packets(packets, "bytes or ranks");
  }

  // Some ten seconds, where ports are shared; wires are asked for, but perhaps not that all
  // messages of a phase share them at once, which takes minutes where hundreds of workers have
  // unlike routes.
  double most_work() const {
    if (options_.resources == nullptr) return 4e8;
    const bool at_once = std::any_of(calls_.begin(), calls_.end(), [](const Call& call) {
      return has_phase_at_once(*call.program);
    });
    return at_once ? 4e9 : std::numeric_limits<double>::infinity();
  }

  // In order; one that is not ready holds up those behind it.
  void start_calls(std::size_t worker, Time now) {
    while (next_call_[worker] < calls_.size() && under_way_[worker] < options_.at_once) {
      const std::size_t place = next_call_[worker];
      if (ready_of(calls_[place], worker) > now) return;
      ++next_call_[worker];
      ++under_way_[worker];
      times_[place].starts[worker] = now;
      in_time_.enter(number_of(place), static_cast<int>(worker), calls_[place].first, now);
    }
  }
  // It begins to be played when the first worker enters it.
  uint32_t number_of(std::size_t place) {
    if (place == numbers_.size()) {
      const Program& program = *programs_[place];
      const Network& network = *calls_[place].network;
      numbers_.push_back(stand_ins_ ? in_time_.add_seats(program, network, seats_, true)
                                    : in_time_.add(program, network));
      if (numbers_.back() >= places_.size()) places_.resize(numbers_.back() + 1);
      places_[numbers_.back()] = place;
    }
    return numbers_[place];
  }
  void end(uint32_t call, std::size_t worker, Time now) {
    times_[places_[call]].ends[worker] = now;
    ++ended_;
    --under_way_[worker];
    start_calls(worker, now);
  }

  std::span<const Call> calls_;
  SharingOptions options_;
  std::size_t all_workers_;
  PortResources ports_;
  std::vector<const Program*> programs_;      // of the calls, as they are played
  std::map<const Program*, Program> padded_;  // of chunks as large as the largest
  bool are_all_alike_ = false;
  std::optional<StandIns> stand_ins_;
  std::size_t workers_;  // that are played
  std::optional<AlikeResources> alike_;
  Agenda agenda_;
  std::unique_ptr<Carrier> carrier_;
  Clock clock_;
  ActorClock own_clock_;
  CallsInTime in_time_;
  TrafficInTime traffic_;
  std::vector<int> everybody_;
  Seats seats_;
  std::vector<std::size_t> next_call_;  // of each worker
  std::vector<int> under_way_;
  std::size_t ended_ = 0;  // calls, on each worker
  std::vector<CallTimes> times_;
  std::vector<uint32_t> numbers_;    // of the calls that have begun
  std::vector<std::size_t> places_;  // of those by their numbers
};

}  // namespace

bool has_phase_at_once(const Program& program) {
  return std::any_of(program.stages.begin(), program.stages.end(), [](const Stage& stage) {
    const auto* phase = std::get_if<Phase>(&stage);
    return phase != nullptr && phase->at_once;
  });
}

std::vector<CallTimes> play_in_time(std::span<const Call> calls, const SharingOptions& options) {
  if (calls.empty()) return {};
  return CallListPlayer(calls, options).play();
}

}  // namespace sgdsim
