// A carrier that writes down what it carries, but for the traffic of others.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "sim/net/carrier.h"
#include "sim/play/message_log.h"

namespace sgdsim {

class LoggedCarrier : public Carrier {
 public:
  LoggedCarrier(std::unique_ptr<Carrier> carrier, MessageLog& log)
      : carrier_(std::move(carrier)), log_(log) {}

  uint32_t send(const Parcel& parcel, Time now) override {
    const uint32_t message = carrier_->send(parcel, now);
    if (message >= place_.size()) place_.resize(message + 1);
    place_[message] = nowhere;
    if (parcel.is_of_others) return message;
    place_[message] = log_.size();
    log_.push_back({.from = parcel.from,
                    .to = parcel.to,
                    .number = -1,
                    .size_B = parcel.size_B,
                    .sent = now,
                    .left = now,
                    .taking = now + first_bytes(parcel.leg),
                    .taken = now,
                    .fold = parcel.leg.fold});
    return message;
  }
  Report happen(const Event& event, Time now) override {
    const Report report = carrier_->happen(event, now);
    if (report.news == News::nothing || place_[report.message] == nowhere) return report;
    LoggedMessage& one = log_[place_[report.message]];
    if (report.news != News::arrived) one.left = now;
    if (report.news != News::sender_free) one.taken = now;
    return report;
  }

  Duration first_bytes(const Leg& leg) const override { return carrier_->first_bytes(leg); }
  Duration notice(const Leg& leg) const override { return carrier_->notice(leg); }
  void want(uint32_t message, Time now) override { carrier_->want(message, now); }
  void settle(Time now) override { carrier_->settle(now); }
  AlphaRule alpha_of_legs() const override { return carrier_->alpha_of_legs(); }
  void scale(uint32_t resource, double factor, Time now) override {
    carrier_->scale(resource, factor, now);
  }
  void open(std::span<const uint32_t> resources, bool is_open, Time now) override {
    carrier_->open(resources, is_open, now);
  }
  std::vector<Stranded> stranded() override { return carrier_->stranded(); }
  Payload payload() const override { return carrier_->payload(); }
  std::vector<double> carried_B(Time now) const override { return carrier_->carried_B(now); }
  void lose(std::span<const uint32_t> resources, double chance) override {
    carrier_->lose(resources, chance);
  }
  std::shared_ptr<const PacketReport> report(Time now) const override {
    return carrier_->report(now);
  }

 private:
  static constexpr std::size_t nowhere = SIZE_MAX;

  std::unique_ptr<Carrier> carrier_;
  MessageLog& log_;
  std::vector<std::size_t> place_;  // in the log, by the number of the message
};

}  // namespace sgdsim
