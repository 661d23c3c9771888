// Senders with a window of packets: DCTCP, PIAS and pFabric.
//
// Every packet of data is acknowledged by itself, and its answer says whether it was marked. A
// packet is lost when so many later ones have come, or when nothing has been heard for the timeout,
// which doubles each time in a row. Windows grow by one packet a round trip, or by one for each
// answer while they are below their threshold; but not where they are not used (RFC 7661, as in
// Linux): a sender that its card holds back has never more than twice the window that it fills.
//
// The messages of one worker for another share connections, which live on when messages have
// arrived: the next one begins with the window, the marks and the round trips of those before.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "models/transport/received.h"
#include "sim/net/packets.h"

namespace sgdsim {

struct WindowRules {
  uint32_t connections = 1;  // of one worker to another; 0: each message has one of its own
  double first_window = 10;  // packets; 0: what fills a round trip
  bool slow_start_after_idle = false;
  bool is_fixed = false;    // the window does not change
  uint32_t lost_after = 3;  // later packets have come; 0: only the timeout tells
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
  // If given: what these are, from the sizes of the messages so far.
  std::function<std::vector<double>(std::vector<double> sizes_B)> lower_after_of;
  bool says_what_is_left = false;  // in packets, for switches that look at it
};

class WindowConversation;

// What messages share: they take turns at it.
class WindowConnection {
 public:
  WindowConnection(Packets& packets, const WindowRules& rules, const RouteFacts& route);
  void know(const RouteFacts& route);

  std::size_t messages() const { return messages_.size(); }
  void begin(WindowConversation& message);
  void end(WindowConversation& message);

  bool has_room() const { return in_flight_ < static_cast<uint32_t>(window_); }
  // Goes on when there is room, behind others of its queue.
  void wait(WindowConversation& message);
  void let_in(Time now);
  // A packet leaves; its place among all of the connection.
  uint64_t send(WindowConversation& message, uint32_t packet, Time now);
  void send_again(uint64_t place, Time now);
  uint32_t packet_at(uint64_t place) { return sent_at(place).packet; }
  // False if it has been heard before.
  bool hear(const Packet& answer, Time now);
  // After all that an answer means: the timer, and those who wait.
  void go_on(Time now);
  void time_out(Time now);

 private:
  enum class State : uint8_t { under_way, again, heard };
  struct Sent {
    WindowConversation* message;
    uint32_t packet;
    State state;
  };
  struct Line {
    WindowConversation* first = nullptr;
    WindowConversation* last = nullptr;
  };

  Sent& sent_at(uint64_t place) { return sent_[static_cast<std::size_t>(place - base_)]; }
  void begin_anew();
  Duration timeout() const;
  void sample(Duration round_trip);
  void restart_after_idle(Time now);
  void note_use();
  void react_to_mark(bool is_marked);
  void grow();
  void look_for_losses();
  void lose(uint64_t place);
  void pass_what_is_heard();
  void set_timer(Time now);
  void give_up(Time now);

  Packets& packets_;
  const WindowRules& rules_;
  Duration own_trip_;  // of a full packet, where nothing is in the way
  double full_window_ = 0;
  std::map<uint32_t, WindowConversation*> messages_;  // in progress, as they began
  uint32_t begun_ = 0;
  std::array<Line, packet_queues> waiting_;
  WindowConversation* timer_ = nullptr;  // whose timer is this connection's
  // Packets by their places: from base_ on, of which nothing is heard from first_ on.
  std::vector<Sent> sent_;
  uint64_t base_ = 0;
  uint64_t first_ = 0;
  uint64_t next_ = 0;
  uint32_t in_flight_ = 0;
  uint64_t highest_ = 0;    // that was heard
  uint64_t looked_at_ = 0;  // for losses
  uint64_t recovers_until_ = 0;
  bool recovers_ = false;
  double window_ = 0;
  double threshold_ = 0;
  double alpha_ = 0;
  uint64_t window_ends_ = 0;  // when the first packet from here on is heard
  uint32_t in_window_ = 0;
  uint32_t marked_ = 0;
  uint64_t reduced_until_ = 0;
  // How far the window is used.
  bool is_limit_ = false;
  uint32_t most_in_flight_ = 0;
  uint64_t use_counts_until_ = 0;
  Time last_sent_;
  Duration srtt_;
  Duration rttvar_;
  int timeouts_ = 0;  // in a row
};

// Of all messages in one network.
struct WindowConnections {
  std::map<std::pair<int, int>, std::vector<std::unique_ptr<WindowConnection>>> of_pairs;
  std::vector<double> sizes_B;  // of messages so far
  std::vector<double> lower_after_B;
};

class WindowConversation final : public Conversation {
 public:
  WindowConversation(Packets& packets, uint32_t number, const Parcel& parcel,
                     std::shared_ptr<const WindowRules> rules,
                     std::shared_ptr<WindowConnections> connections);

  void begin(Time now) override;
  Offer next(Packet& packet, Time now) override;
  void at_receiver(const Packet& packet, Time now) override;
  void at_sender(const Packet& packet, Time now) override;
  void on_timer(Time now) override { connection_->time_out(now); }
  void route_changed() override {
    if (connection_ != nullptr) connection_->know(route_);
  }

 private:
  friend class WindowConnection;
  bool has_data() const { return next_ < count() || !again_.empty(); }
  WindowConnection& choose_connection();
  void choose_queue();

  std::shared_ptr<const WindowRules> rules_;
  std::shared_ptr<WindowConnections> connections_;
  std::unique_ptr<WindowConnection> own_;  // if it shares none
  WindowConnection* connection_ = nullptr;
  // The sender's.
  uint32_t order_ = 0;        // in its connection
  uint32_t next_ = 0;         // that was not sent yet
  std::set<uint64_t> again_;  // places of packets to be sent again
  uint32_t heard_ = 0;
  double sent_B_ = 0;
  WindowConversation* next_waiting_ = nullptr;
  bool is_waiting_ = false;
  // The receiver's.
  Received received_;
};

}  // namespace sgdsim
