// Senders with a window of packets: DCTCP, PIAS and pFabric.
//
// Every packet of data is acknowledged by itself, and its answer says whether it was marked. A
// packet is lost when so many later ones have come, or when nothing has been heard for the timeout,
// which doubles each time in a row. Windows grow by one packet a round trip, or by one for each
// answer while they are below their threshold.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "models/transport/received.h"
#include "sim/net/packets.h"

namespace sgdsim {

struct WindowRules {
  double first_window = 10;  // packets; 0: what fills a round trip
  bool is_fixed = false;     // it does not change
  uint32_t lost_after = 3;   // later packets have come; 0: only the timeout tells
  Duration least_timeout = Duration::ms(10);
  bool is_timeout_fixed = false;  // else srtt + 4 rttvar, if that is more
  int timeout_round_trips = 0;    // of an empty network, in place of all that
  Duration most_timeout = Duration::s(60);
  bool doubles = true;
  bool reacts_to_marks = true;
  double gain = 1.0 / 16;
  double first_alpha = 1;
  bool marks_again = false;  // packets that are sent again may be marked
  // The queue by what the message has sent before: one more for each of these.
  std::vector<double> lower_after_B;
  bool says_what_is_left = false;  // in packets, for switches that look at it
};

class WindowConversation final : public Conversation {
 public:
  WindowConversation(Packets& packets, uint32_t number, const Parcel& parcel,
                     std::shared_ptr<const WindowRules> rules);

  void begin(Time now) override { packets_.ready(*this, now); }
  Offer next(Packet& packet, Time now) override;
  void at_receiver(const Packet& packet, Time now) override;
  void at_sender(const Packet& packet, Time now) override;
  void on_timer(Time now) override;

 private:
  bool may_send() const {
    return (!again_.empty() || next_ < count()) && in_flight_ < static_cast<uint32_t>(window_);
  }
  Duration timeout() const;
  void sample(Duration round_trip);
  void react_to_mark(bool is_marked);
  void grow();
  void look_for_losses();
  void choose_queue();

  std::shared_ptr<const WindowRules> rules_;
  // The sender's.
  double window_;
  double full_window_ = 0;  // at first
  double threshold_ = 1e18;
  Duration own_trip_;  // of a full packet, where nothing is in the way
  uint32_t next_ = 0;  // that was not sent yet
  uint32_t in_flight_ = 0;
  std::set<uint32_t> again_;  // to be sent again
  Received acknowledged_;
  uint32_t looked_at_ = 0;  // for losses
  uint32_t highest_ = 0;    // acknowledged
  uint32_t recovers_until_ = 0;
  bool recovers_ = false;
  double alpha_;
  uint32_t window_ends_ = 0;  // when the first packet from here on is acknowledged
  uint32_t in_window_ = 0;
  uint32_t marked_ = 0;
  uint32_t reduced_until_ = 0;
  double sent_B_ = 0;
  Duration srtt_;
  Duration rttvar_;
  int timeouts_ = 0;  // in a row
  // The receiver's.
  Received received_;
};

}  // namespace sgdsim
