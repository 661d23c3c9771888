// One clock for everybody: an agenda, a network, and actors that plan events and send messages. The
// only loop of the program that takes events.
//
// An actor has
//   void happen(const Event&, Time now);                 one of its own events
// and, as it needs them,
//   void hear(const Carrier::Report&, Time now);         news of a message that it sent
//   bool moment_over(Time now);                          what is decided when nothing else happens
//                                                        at this time; true: it changed something
//   void fetch(const Event&), fetch_for(const Event&);   into the cache, of events that come soon
#pragma once

#include <cassert>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/core/agenda.h"
#include "sim/core/error.h"
#include "sim/core/stopper.h"
#include "sim/net/carrier.h"

namespace sgdsim {

// What actors share. Without a carrier they send nothing.
class Clock {
 public:
  Clock(Agenda& agenda, Carrier* carrier, Stopper* stopper)
      : agenda_(agenda), carrier_(carrier), stopper_(stopper) {}
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  Carrier* carrier() const { return carrier_; }
  // The carrier's rule, or this one if there is none.
  AlphaRule alpha_of_legs(AlphaRule alone) const {
    return carrier_ == nullptr ? alone : carrier_->alpha_of_legs();
  }
  Time now() const { return now_; }            // of the event that was taken last
  uint64_t events() const { return events_; }  // that have been taken
  // Nothing can go on, though somebody waits: NetworkStuck, or the sentence that times are too
  // long.
  [[noreturn]] void fail() const;

 private:
  friend class ActorClock;
  template <class... Actors>
  friend class Clockwork;

  Agenda& agenda_;
  Carrier* carrier_;
  Stopper* stopper_;
  std::vector<uint8_t> owners_;  // actors, by the numbers of their messages
  Time now_;
  uint64_t events_ = 0;
};

// The clock as an actor has it. Actors count from 1, as they are given to the clockwork.
class ActorClock {
 public:
  ActorClock(Clock& clock, uint8_t actor) : clock_(clock), actor_(actor) {
    assert(actor > 0 && actor < Event::actors);
  }

  void plan(uint32_t kind, std::size_t subject, Time when, uint32_t version = 0) const {
    clock_.agenda_.push(when, Event(actor_ * Event::kinds_of_actor + kind,
                                    static_cast<uint32_t>(subject), version));
  }
  // Returns the number by which the carrier speaks of the message.
  uint32_t send(const Parcel& parcel, Time now) const {
    return own(clock_.carrier_->send(parcel, now));
  }
  uint32_t send_begun(const Parcel& parcel, const Carrier::Underway& how, Time now) const {
    return own(clock_.carrier_->send_begun(parcel, how, now));
  }
  bool is_own(const Event& event) const { return event.actor() == actor_; }
  Carrier* carrier() const { return clock_.carrier_; }
  AlphaRule alpha_of_legs(AlphaRule alone) const { return clock_.alpha_of_legs(alone); }

 private:
  uint32_t own(uint32_t message) const {
    if (message >= clock_.owners_.size()) clock_.owners_.resize(message + 1);
    clock_.owners_[message] = actor_;
    return message;
  }

  Clock& clock_;
  uint8_t actor_;
};

template <class... Actors>
class Clockwork {
 public:
  Clockwork(Clock& clock, Actors&... actors) : clock_(clock), actors_(actors...) {
    static_assert(sizeof...(Actors) < Event::actors);
  }

  // One event. False if there is none.
  bool step() {
    Agenda& agenda = clock_.agenda_;
    if (!has_begun_) {  // what was sent before any event flows from then on
      has_begun_ = true;
      if (clock_.carrier_ != nullptr) clock_.carrier_->settle(clock_.now_);
    }
    if (agenda.empty()) return false;
    take();
    while (!agenda.another_now()) {
      if (moment_over()) continue;
      if (clock_.carrier_ != nullptr) clock_.carrier_->settle(clock_.now_);
      break;
    }
    return true;
  }
  // All events of one time. False if there is none.
  bool moment() {
    if (!step()) return false;
    while (clock_.agenda_.another_now()) step();
    return true;
  }

 private:
  void take() {
    const auto next = clock_.agenda_.pop();
    const Event& event = next.payload;
    const Time now = next.time;
    look_ahead();
    count(clock_.stopper_, now);  // it may stop here: then this event has not happened
    clock_.now_ = now;
    ++clock_.events_;
    if (event.actor() > 0)
      return with(event.actor(), [&](auto& actor) { actor.happen(event, now); });
    Carrier::Report report = clock_.carrier_->happen(event, now);
    if (report.news == Carrier::News::nothing) return;
    with(clock_.owners_[report.message], [&](auto& actor) {
      if constexpr (requires { actor.hear(report, now); }) {
        if (report.news == Carrier::News::both) {
          report.news = Carrier::News::sender_free;
          actor.hear(report, now);
          report.news = Carrier::News::arrived;
        }
        actor.hear(report, now);
      }
    });
  }
  template <class F>
  void with(uint32_t wanted, const F& f) {
    uint32_t number = 0;
    std::apply([&](Actors&... actor) { (void)((++number == wanted && (f(actor), true)) || ...); },
               actors_);
  }
  bool moment_over() {
    bool has_changed = false;
    const auto ask = [&](auto& actor) {
      if constexpr (requires { actor.moment_over(Time()); })
        has_changed = actor.moment_over(clock_.now_) || has_changed;
    };
    std::apply([&](Actors&... actor) { (ask(actor), ...); }, actors_);
    return has_changed;
  }
  void look_ahead() {
    const auto show = [&](auto& actor) {
      if constexpr (requires { actor.fetch(Event()); })
        clock_.agenda_.look_ahead([&](const Event& next) { actor.fetch_for(next); },
                                  [&](const Event& next) { actor.fetch(next); });
    };
    std::apply([&](Actors&... actor) { (show(actor), ...); }, actors_);
    if (Carrier* carrier = clock_.carrier_; carrier != nullptr && carrier->fetches())
      clock_.agenda_.look_ahead([&](const Event& next) { carrier->fetch_for(next); },
                                [&](const Event& next) { carrier->fetch(next); });
  }

  Clock& clock_;
  std::tuple<Actors&...> actors_;
  bool has_begun_ = false;
};

}  // namespace sgdsim
