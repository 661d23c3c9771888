// Messages as packets: store and forward from road to road, through the queues of ports.
//
// A packet takes one event a road: where a port is idle its departure is known when it comes, and
// else the port has an event when it is free. Cards ask conversations for data in the order of
// their queues, in turns among equals, so that nothing waits in a card. Which of several shortest
// roads a packet takes is said by the digits of its way. A transport whose cards are first in,
// first out hands packets over, which the card sends in that order.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/core/named.h"
#include "sim/net/carrier.h"
#include "sim/net/conversation.h"
#include "sim/net/packet_ports.h"
#include "sim/net/packet_report.h"
#include "sim/net/pause_circle.h"

namespace sgdsim {

// How packets choose among equal ways.
enum class Spray : uint8_t {
  per_flow,  // every message keeps one, drawn for it
  random,    // every packet draws
  permuted,  // packets take all ways in turn, in an order that is drawn anew each time
  by_destination
};
inline constexpr Named<Spray, 4> sprays{{{"per_flow", Spray::per_flow},
                                         {"random", Spray::random},
                                         {"permuted", Spray::permuted},
                                         {"by_destination", Spray::by_destination}}};
inline const auto& names_of(Spray) { return sprays; }

struct PacketSetup {
  uint32_t packet_B = 1500;  // on the wire
  uint32_t header_B = 0;     // of that
  uint32_t answer_B = 64;
  uint32_t burst_B = 0;  // as of a payload (packet_limit.h)
  uint32_t bursts_of_message = 1;
  Spray spray = Spray::per_flow;
  QueueRules queues;
  // Ports send a packet on when its head is there, and are done with it no sooner than its tail is.
  bool cuts_through = false;
  uint64_t seed = 1;
  // Makes what makes the two ends of a message: for each network anew, since they may share
  // something.
  using Connect =
      std::function<std::unique_ptr<Conversation>(Packets&, uint32_t number, const Parcel&)>;
  std::function<Connect()> transport;

  Payload payload() const { return {packet_B - header_B, burst_B, bursts_of_message}; }
};

class Packets final : public Carrier {
 public:
  Packets(Resources& wires, PacketSetup setup, Agenda& agenda, LinkWatch* watch);
  ~Packets() override;

  uint32_t send(const Parcel& parcel, Time now) override;
  Duration first_bytes(const Leg& leg) const override { return leg.flight; }
  // Whoever is there already lets it go at once: only its packets take time.
  Duration notice(const Leg&) const override { return {}; }
  void want(uint32_t message, Time now) override;
  Report happen(const Event& event, Time now) override;
  void settle(Time) override {
    if (are_routes_old_) [[unlikely]]
      know_routes_again();
  }
  AlphaRule alpha_of_legs() const override { return AlphaRule::wire; }
  void scale(uint32_t resource, double factor, Time now) override;
  void open(std::span<const uint32_t> resources, bool is_open, Time now) override;
  void lose(std::span<const uint32_t> resources, double chance) override;
  std::shared_ptr<const PacketReport> report(Time end) const override;
  std::vector<Stranded> stranded() override;
  Payload payload() const override { return setup_.payload(); }
  std::vector<double> carried_B(Time now) const override;

  const PacketSetup& setup() const { return setup_; }

  // ---- for conversations
  RouteFacts route(int from, int to);
  // It has data to send; until it has none, its card asks it in turns.
  void ready(Conversation& conversation, Time now);
  // Its next packet goes behind all that was handed over to the card of its sender, who is free
  // with the last one.
  void hand_over(Conversation& conversation, Time now);
  // on_timer() is called then, and not at a time that was said before.
  void set_timer(Conversation& conversation, Time when);
  void stop_timer(Conversation& conversation) { conversation.timer_ = Time::last(); }
  // What the receiver answers, if its card is busy: it leaves with what the card sends next.
  void owe(Conversation& conversation, double size_B, Time now);
  // A short packet to the sender, or to the receiver.
  void answer(Conversation& conversation, const Packet& packet, Time now);
  void ask(Conversation& conversation, const Packet& packet, Time now);
  // The receiver has what it wants; the sender has nothing to do any more.
  void complete(Conversation& conversation, Time now);
  void finish(Conversation& conversation, Time now);
  void count_timeout() { ++counts_.timeouts; }
  void count_delivered() { ++counts_.delivered; }
  // For receivers that say how fast data comes: on_pull's function is called then.
  void plan_pull(int worker, Time when);
  using Pull = std::function<void(int worker, Time now)>;
  void on_pull(Pull what) { pull_ = std::move(what); }
  // Null: it is over.
  Conversation* conversation(uint32_t number) { return conversations_[number].get(); }

 private:
  enum Kind : uint8_t { arrives, frees, left, rings, pauses, pulls };
  static_assert(pulls < kind_count);

  // Packets that were handed over one after the other.
  struct Run {
    uint32_t conversation = 0;
    uint32_t packets = 0;
  };
  // Conversations with data, by queue, in turns; or what was handed over, in order.
  struct Card {
    Card() {
      first.fill(Packet::none);
      last.fill(Packet::none);
    }
    std::array<uint32_t, packet_queues> first;
    std::array<uint32_t, packet_queues> last;
    uint8_t filled = 0;
    std::deque<Run> runs;
    bool goes_next = true;  // rather than what is forwarded, if both are as urgent
    bool is_idle() const { return filled == 0 && runs.empty(); }
  };
  // Equal roads towards a goal.
  struct Choice {
    uint32_t first = 0;
    uint32_t count = 0;
  };
  // A vertex where packets go on: by the only road, or by what its row of the table says.
  struct Junction {
    uint32_t only_road = Packet::none;
    uint32_t row = 0;
  };
  // Where ways to a worker lead, as Roads::Goal.
  struct Goal {
    int vertex = 0;
    uint32_t column = 0;
    uint32_t last = Packet::none;  // road from there, unless it is the worker
  };
  static constexpr uint32_t no_road = Packet::none;
  // What an event of an arrival says of the road that follows, unless it is one: it has to be
  // looked for, or there is none because this is the receiver.
  static constexpr uint32_t unknown_road = Event::last_version;
  static constexpr uint32_t at_its_end = Event::last_version - 1;

  void plan(Kind kind, uint32_t subject, Time when, uint32_t version = 0) {
    agenda_.push(when, Event(kind, subject, version));
  }
  void make_table();
  Duration longest_trip();
  void find_choices(const Goal& goal);
  uint32_t entry_at(int vertex, const Goal& goal) {
    const uint32_t& entry = table_[junctions_[static_cast<std::size_t>(vertex)].row + goal.column];
    if (entry == unknown_entry) find_choices(goal);
    return entry;
  }
  uint32_t next_road(int vertex, int worker, uint32_t& digits);
  uint32_t draw_way(Conversation& conversation, bool is_data);

  void connect(uint32_t number, const Parcel& parcel, bool is_wanted, Time now);
  void know_routes_again();
  void look_for_ways_again(Time now);
  void start(Conversation& conversation, Time now);
  void put_in_line(Conversation& conversation, Time now);
  void ask_conversation(uint32_t number, Time now);
  uint32_t card_road(Conversation& conversation);
  void add_run(Conversation& conversation, uint32_t packets, Time now);
  void send_of_run(uint32_t number, Time now);
  bool is_cards_turn(Card& card, std::size_t queue) const;
  void send_of_card(uint32_t number, Time now);
  Time goes_on_at(const Packet& packet, uint32_t road) const;
  static Time past_owed(PacketPort& port);
  void transmit(uint32_t number, uint32_t packet, Time now);
  void count_sent(Conversation& conversation, Packet& packet, Time now);
  void nudge(uint32_t number, Time now);
  void go_on(uint32_t number, Time now);
  void arrive(const Event& event, Time now);
  void dispatch(Conversation& conversation, const Packet& what, PacketKind kind, Time now);
  void forward(uint32_t packet, int vertex, Time now);
  void send_back(uint32_t packet, int vertex, Time now);
  void enter(uint32_t number, uint32_t packet, Time now);
  // Roads are pairs, there and back.
  int start_of(uint32_t road) const { return ports_[road ^ 1U].to; }
  void drop(uint32_t packet, int64_t& counter);
  void hold(const Packet& packet, Time now);
  void look_for_circle(uint32_t number, Time now);
  void let_go(const Packet& packet, Time now);
  void happen_timer(uint32_t number, Time now);
  void forget_what_is_over();
  void fetch_subject(const Event& event) const;
  void fetch_what_it_meets(const Event& event) const;

  Resources& wires_;
  Roads& roads_;
  PacketSetup setup_;
  PacketSetup::Connect connect_;
  Agenda& agenda_;
  LinkWatch* watch_;
  std::vector<uint32_t> watched_;  // by port: its place, and one more
  PacketPool pool_;
  std::vector<float> losses_;  // of each road: chance of a packet to be lost
  PacketPorts ports_;
  PauseCircles circles_{ports_, pool_};
  std::vector<Card> cards_;
  std::vector<Goal> goals_;          // of each worker
  std::vector<int> vertex_of_;       // likewise
  std::vector<Junction> junctions_;  // of each vertex
  // What to do at a junction with several roads, for each vertex of a goal: a road, if there is
  // just one, or a place in choices_.
  static constexpr uint32_t is_road = 1U << 31U;
  static constexpr uint32_t unknown_entry = Packet::none;
  std::size_t columns_ = 0;
  std::vector<uint32_t> table_;  // row by row
  std::vector<Choice> choices_;
  std::vector<uint32_t> choice_roads_;
  std::map<std::vector<uint32_t>, uint32_t> known_choices_;
  bool has_closed_ = false;  // some road, ever
  // A packet that was being sent when its link changed: what the port had carried with it, and when
  // it is there whatever the link does then.
  struct Stretched {
    double carried_B = -1;
    Time sent;
  };
  std::map<uint32_t, Stretched> stretched_;  // by port
  bool are_routes_old_ = false;              // conversations know rates that links have no more
  bool has_lost_ = false;                    // likewise: packets may have been lost on it
  std::vector<std::unique_ptr<Conversation>> conversations_;
  std::vector<uint32_t> versions_;
  std::vector<uint32_t> unused_;
  std::vector<uint32_t> unrouted_;  // conversations without a way
  // Messages that never had one: nothing is known of their routes.
  struct Parked {
    uint32_t number = 0;
    Parcel parcel;
    bool is_wanted = false;
  };
  std::vector<Parked> parked_;
  std::vector<uint32_t> maybe_over_;
  Random ways_random_;
  Random loss_random_;
  PacketCounts counts_;
  std::vector<Duration> took_;
  std::map<Freight, Delivery> delivery_;
  Pull pull_;
  Report report_;
};

}  // namespace sgdsim
