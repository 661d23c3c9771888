// RDMA over Ethernet with DCQCN (Zhu et al., SIGCOMM 2015): switches mark by chance and tell their
// neighbours to wait, receivers of marked packets say so, senders lower their rates and find back.
// What is missing is sent again with everything behind it.
#include <algorithm>
#include <memory>
#include <utility>

#include "models/transport/registry.h"

namespace sgdsim::transport::roce_dcqcn {
namespace {

constexpr uint32_t answer_every = 16;

enum Says : uint8_t { have_until, expect, slow_down };

struct DcqcnRules {
  Duration timeout = Duration::ms(4);
  double gain = 1.0 / 256;
  Duration alpha_every = Duration::us(55);
  Duration rise_every = Duration::us(55);
  Duration slow_down_every = Duration::us(50);
  double rise_after_B = 10e6;
  int fast_rises = 5;  // half way back to the rate before
  double step_Bps = 0;
  double large_step_Bps = 0;
  double least_rate = 0.001;  // of the line's
};

class DcqcnConversation final : public Conversation {
 public:
  DcqcnConversation(Packets& packets, uint32_t number, const Parcel& parcel,
                    std::shared_ptr<const DcqcnRules> rules)
      : Conversation(packets, number, parcel),
        rules_(std::move(rules)),
        line_rate_(line_rate()),
        rate_(line_rate_),
        target_(line_rate_) {}

  // Who sends at the rate of its line goes on with it.
  void route_changed() override {
    const double before = std::exchange(line_rate_, line_rate());
    for (double* const rate : {&rate_, &target_})
      *rate = *rate >= before ? line_rate_ : std::min(*rate, line_rate_);
  }

  void begin(Time now) override {
    next_send_ = now;
    packets_.ready(*this, now);
  }

  Offer next(Packet& packet, Time now) override {
    if (next_ == count() || next_send_ > now) return Offer::nothing;
    packet.number = next_++;
    packet.is_again = packet.number < highest_;
    highest_ = std::max(highest_, next_);
    const double size_B = packets_.setup().header_B + payload_B(packet.number);
    sent_since_B_ += size_B;
    if (sent_since_B_ >= rules_->rise_after_B) {
      sent_since_B_ = 0;
      rise(byte_rises_);
    }
    heard_by_ = now + rules_->timeout * (int64_t{1} << timeouts_);
    const bool is_paced = rate_ < line_rate_;
    if (is_paced) next_send_ = now + Duration::nearest_ps(size_B / rate_);
    plan(now);
    return next_ < count() && !is_paced ? Offer::more : Offer::last;
  }

  void at_receiver(const Packet& packet, Time now) override {
    if (packet.is_marked && now >= next_slow_down_) {
      next_slow_down_ = now + rules_->slow_down_every;
      reply(slow_down, now);
    }
    if (packet.number == expected_) {
      packets_.count_delivered();
      ++expected_;
      has_complained_ = false;
      if (expected_ == count()) packets_.complete(*this, now);
      if (expected_ == count() || expected_ % answer_every == 0) reply(have_until, now);
    } else if (packet.number > expected_ && !has_complained_) {
      has_complained_ = true;
      reply(expect, now);
    } else if (packet.number < expected_ && packet.number + 1 == count()) {
      reply(have_until, now);
    }
  }

  void at_sender(const Packet& packet, Time now) override {
    if (packet.says == slow_down) return give_way(now);
    timeouts_ = 0;
    known_ = std::max(known_, packet.value);
    if (known_ == count()) return packets_.finish(*this, now);
    heard_by_ = known_ < next_ ? now + rules_->timeout : Time::last();
    if (packet.says == expect) go_back(now);
    plan(now);
  }

  void on_timer(Time now) override {
    if (now >= heard_by_) {
      packets_.count_timeout();
      if (++timeouts_ > most_doubled_timeouts) return packets_.finish(*this, now);
      heard_by_ = now + rules_->timeout * (int64_t{1} << timeouts_);
      go_back(now);
    }
    if (now >= next_alpha_) {
      alpha_ *= 1 - rules_->gain;
      next_alpha_ = now + rules_->alpha_every;
    }
    if (now >= next_rise_) {
      next_rise_ = now + rules_->rise_every;
      rise(timer_rises_);
    }
    if (next_ < count() && now >= next_send_) packets_.ready(*this, now);
    plan(now);
  }

 private:
  void reply(Says what, Time now) {
    Packet answer;
    answer.says = what;
    answer.value = expected_;
    packets_.answer(*this, answer, now);
  }

  void go_back(Time now) {
    next_ = known_;
    packets_.ready(*this, now);
  }

  void give_way(Time now) {
    target_ = rate_;
    rate_ = std::max(rate_ * (1 - alpha_ / 2), rules_->least_rate * line_rate_);
    alpha_ += rules_->gain * (1 - alpha_);
    byte_rises_ = timer_rises_ = 0;
    sent_since_B_ = 0;
    next_alpha_ = now + rules_->alpha_every;
    next_rise_ = now + rules_->rise_every;
    plan(now);
  }

  // Half way back, then beyond by steps, then by large ones.
  void rise(int& rises) {
    ++rises;
    if (rate_ >= line_rate_) return;
    if (std::min(byte_rises_, timer_rises_) > rules_->fast_rises)
      target_ += rules_->large_step_Bps * 1e-12;
    else if (std::max(byte_rises_, timer_rises_) > rules_->fast_rises)
      target_ += rules_->step_Bps * 1e-12;
    target_ = std::min(target_, line_rate_);
    rate_ = (rate_ + target_) / 2;
    if (rate_ > 0.9999 * line_rate_) {
      rate_ = line_rate_;
      next_rise_ = next_alpha_ = Time::last();
    }
  }

  // One timer for what comes first.
  void plan(Time now) {
    Time first = std::min({heard_by_, next_alpha_, next_rise_});
    if (next_ < count() && next_send_ > now) first = std::min(first, next_send_);
    if (first < Time::last())
      packets_.set_timer(*this, first);
    else
      packets_.stop_timer(*this);
  }

  std::shared_ptr<const DcqcnRules> rules_;
  // The sender's.
  double line_rate_;  // bytes a picosecond
  double rate_;
  double target_;
  double alpha_ = 1;
  uint32_t next_ = 0;
  uint32_t highest_ = 0;  // sent ever
  uint32_t known_ = 0;    // so many have come
  double sent_since_B_ = 0;
  int byte_rises_ = 0;
  int timer_rises_ = 0;
  int timeouts_ = 0;
  Time next_send_;
  Time heard_by_ = Time::last();
  Time next_alpha_ = Time::last();
  Time next_rise_ = Time::last();
  // The receiver's.
  uint32_t expected_ = 0;
  bool has_complained_ = false;
  Time next_slow_down_;
};

void defaults(PacketSetup& setup) {
  setup.packet_B = 4096;
  setup.header_B = 64;
}

struct Options {
  DcqcnRules rules;
  Bandwidth step = Bandwidth::Bps(40e6 / 8);
  Bandwidth large_step = Bandwidth::Bps(400e6 / 8);
  std::optional<Bytes> mark_above;
  std::optional<Bytes> mark_surely;
  double mark_most = 0.2;
  bool pause = true;
  Bytes pause_above{100'000};
};

Fields fields_of(Options& o) {
  return {
      Field("timeout", o.rules.timeout, "time until a packet is sent again").also(check_some_time),
      Field("gain", o.rules.gain, "weight of the latest mark in alpha").from(0, 1),
      Field("alpha_every", o.rules.alpha_every, "time between two falls of alpha")
          .also(check_some_time),
      Field("rise_every", o.rules.rise_every, "time between two rises of a rate")
          .also(check_some_time),
      Field("slow_down_every", o.rules.slow_down_every, "time between two complaints of a receiver")
          .also(check_some_time),
      {"step", o.step, "by which a rate rises"},
      {"large_step", o.large_step, "by which it rises after many rises"},
      Field("mark_above", o.mark_above, "bytes in a queue above which packets may be marked")
          .also(check_size)
          .otherwise("100 KB at 25 Gbps, in proportion to the rate of the port"),
      Field("mark_surely", o.mark_surely, "bytes above which all are marked")
          .also(check_size)
          .otherwise("400 KB at 25 Gbps, in proportion to the rate of the port"),
      Field("mark_most", o.mark_most, "chance of a mark just below mark_surely").from(0, 1),
      {"pause", o.pause, "switches tell their neighbours to wait (PFC)"},
      Field("pause_above", o.pause_above, "bytes that came by one link when its sender waits")
          .also(check_size)};
}

// Thresholds go with the rate of the port, as those of Li et al. (HPCC, SIGCOMM 2019) do: 100 and
// 400 KB at 25 Gbit/s, and a chance of 0.2. Those of DCQCN's paper (5 and 200 KB, 0.01) were for
// links of 40 Gbit/s.
void set_marks(const Object& fields, const Options& options, QueueRules& queues) {
  constexpr double at_25_Gbps_ps_per_B = 320;
  if (options.mark_above)
    queues.mark_above_B = QueueRules::filled(bytes_32(*options.mark_above));
  else
    queues.mark_above_ps = 100'000 * at_25_Gbps_ps_per_B;
  if (options.mark_surely)
    queues.mark_surely_B = bytes_32(*options.mark_surely);
  else
    queues.mark_surely_ps = 400'000 * at_25_Gbps_ps_per_B;
  queues.mark_most = options.mark_most;
  if (options.mark_above && options.mark_surely && *options.mark_surely < *options.mark_above)
    fields.value().fail("`mark_surely` is below `mark_above`");
}

void read(Object& fields, const std::vector<double>&, PacketSetup& setup) {
  auto options = read_record<Options>(fields);
  options.rules.step_Bps = options.step.Bps();
  options.rules.large_step_Bps = options.large_step.Bps();
  QueueRules& queues = setup.queues;
  set_marks(fields, options, queues);
  queues.pause_above_B = bytes_32(options.pause_above);
  if (options.pause && queues.pause_above_B < setup.packet_B)
    fields.value().fail("`pause_above` is smaller than a packet (" +
                        std::to_string(setup.packet_B) + " B)");
  queues.resume_below_B = queues.pause_above_B / 2;
  if (!options.pause) queues.pause_above_B = QueueRules::no_limit;
  use<DcqcnConversation>(setup, options.rules);
}

}  // namespace

Transport describe() {
  return {"roce_dcqcn", "rates that marks lower, and switches that tell neighbours to wait",
          defaults, options_of<Options>, read};
}

}  // namespace sgdsim::transport::roce_dcqcn
