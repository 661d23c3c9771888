// From messages to conversations, from conversations to packets, and back.
#include "sim/net/packets.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "sim/core/cast.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_conversations = 1 << 22;  // at a time
constexpr std::size_t most_choices = 1 << 27;        // of four bytes
constexpr uint32_t most_ways = 4096;                 // that are permuted

Roads& roads_of(Resources& wires) {
  Roads* roads = wires.roads();
  if (roads == nullptr)
    throw InputError("",
                     "links with segments are for whole messages; packets need links with one "
                     "latency and one bandwidth");
  return *roads;
}

}  // namespace

Packets::Packets(Resources& wires, PacketSetup setup, Agenda& agenda, LinkWatch* watch)
    : wires_(wires),
      roads_(roads_of(wires)),
      setup_(std::move(setup)),
      connect_(setup_.transport()),
      agenda_(agenda),
      watch_(watch),
      ports_(setup_.queues, pool_, Random(setup_.seed).stream(1).bits()),
      ways_random_(Random(setup_.seed).stream(2)),
      loss_random_(Random(setup_.seed).stream(3)) {
  for (const Road& road : roads_.all()) {
    ports_.add(road);
    losses_.push_back(0);
  }
  std::vector<int32_t> worker_at(at(roads_.vertices()), -1);
  for (int worker = 0; worker < roads_.workers(); ++worker) {
    vertex_of_.push_back(roads_.vertex_of(worker));
    worker_at[at(vertex_of_.back())] = worker;
  }
  make_table();
  if (setup_.queues.port_limit_trips > 0)
    ports_.limit_by_time(Duration::nearest_ps(setup_.queues.port_limit_trips *
                                              static_cast<double>(longest_trip().ps())));
  // Roads are pairs, there and back: what leads to a worker says where the other one begins.
  for (uint32_t number = 0; number < ports_.count(); ++number) {
    if (worker_at[at(ports_[number ^ 1U].to)] < 0) continue;
    ports_[number].card = static_cast<int32_t>(cards_.size());
    cards_.emplace_back();
  }
  if (watch_ == nullptr) return;
  if (!watch_->queues().empty()) ports_.tell(*watch_);
  watched_.resize(ports_.count());
  for (std::size_t place = 0; place < watch_->resources().size(); ++place)
    watched_[watch_->resources()[place]] = static_cast<uint32_t>(place) + 1;
}

Packets::~Packets() = default;

// ---- messages

uint32_t Packets::send(const Parcel& parcel, Time now) {
  uint32_t number = static_cast<uint32_t>(conversations_.size());
  if (unused_.empty()) {
    if (conversations_.size() == most_conversations)
      throw InputError("", "more than " + std::to_string(most_conversations) +
                               " messages are under way at a time: too many for packets");
    conversations_.emplace_back();
    versions_.push_back(0);
  } else {
    number = unused_.back();
    unused_.pop_back();
  }
  const bool is_wanted = !parcel.waits_for_receiver && !parcel.agrees_with_receiver;
  if (has_closed_ && parcel.from != parcel.to && !route(parcel.from, parcel.to).is_whole)
    parked_.push_back({number, parcel, is_wanted});
  else
    connect(number, parcel, is_wanted, now);
  return number;
}

void Packets::connect(uint32_t number, const Parcel& parcel, bool is_wanted, Time now) {
  conversations_[number] = connect_(*this, number, parcel);
  Conversation& conversation = *conversations_[number];
  conversation.version_ = versions_[number];
  conversation.has_left_ = parcel.waits_for_receiver || !parcel.tells_when_free;
  if (is_wanted && parcel.leg.agreed > Duration()) return want(number, now);
  if (is_wanted) start(conversation, now);
}

void Packets::want(uint32_t message, Time now) {
  if (conversations_[message]) {
    const Parcel& parcel = conversations_[message]->parcel_;
    const Duration told = parcel.agrees_with_receiver ? parcel.leg.word() : Duration();
    return set_timer(*conversations_[message], now + (parcel.leg.agreed - told));
  }
  for (Parked& parked : parked_)
    if (parked.number == message) parked.is_wanted = true;
}

void Packets::start(Conversation& conversation, Time now) {
  conversation.has_begun_ = true;
  conversation.begun_ = now;
  const Parcel& parcel = conversation.parcel_;
  if (setup_.spray == Spray::per_flow)
    conversation.own_way_ = static_cast<uint32_t>(
        Random::of(setup_.seed, {static_cast<uint64_t>(parcel.from),
                                 static_cast<uint64_t>(parcel.to), parcel.flow})
            .bits());
  if (parcel.from != parcel.to) return conversation.begin(now);
  conversation.is_finished_ = true;
  if (!conversation.has_left_) plan(left, conversation.number_, now);
  set_timer(conversation, now);
}

void Packets::complete(Conversation& conversation, Time now) {
  if (conversation.is_complete_) return;
  conversation.is_complete_ = true;
  const Parcel& parcel = conversation.parcel_;
  double part = 1;
  if (parcel.from != parcel.to) {
    const Delivery delivery = conversation.delivery();
    part = delivery.part();
    delivery_[parcel.freight] += delivery;
    took_.push_back(now - conversation.begun_);
  }
  report_ = {News::arrived, conversation.number_, part};
  maybe_over_.push_back(conversation.number_);
}

void Packets::finish(Conversation& conversation, Time now) {
  if (conversation.is_finished_) return;
  conversation.is_finished_ = true;
  stop_timer(conversation);
  if (!conversation.has_left_ &&
      (conversation.holds_sender || conversation.first_sent_ < conversation.count_))
    plan(left, conversation.number_, now);
  maybe_over_.push_back(conversation.number_);
}

void Packets::forget_what_is_over() {
  for (const uint32_t number : maybe_over_) {
    const Conversation* it = conversations_[number].get();
    if (it == nullptr || !it->is_complete_ || !it->is_finished_ || !it->has_left_ ||
        it->in_network_ > 0 || it->is_ready_ || it->is_unrouted_)
      continue;
    versions_[number] = it->version_ + 1;
    conversations_[number].reset();
    unused_.push_back(number);
  }
  maybe_over_.clear();
}

std::vector<Stranded> Packets::stranded() {
  std::vector<Stranded> messages;
  for (const auto& it : conversations_) {
    if (!it || it->is_complete_) continue;
    Stranding why = Stranding::stopped;
    if (!route(it->parcel_.from, it->parcel_.to).is_whole)
      why = Stranding::no_way;
    else if (it->is_finished_)
      why = Stranding::given_up;
    else if ((it->first_sent_ == it->count_ || it->has_lost_) && it->in_network_ == 0)
      why = Stranding::lost;
    messages.push_back({it->number_, it->parcel_, why});
  }
  for (const Parked& parked : parked_)
    messages.push_back({parked.number, parked.parcel, Stranding::no_way});
  return messages;
}

// ---- timers

void Packets::set_timer(Conversation& conversation, Time when) {
  const bool is_local = conversation.parcel_.from == conversation.parcel_.to;
  if (conversation.is_finished_ && !is_local) return;
  conversation.timer_ = when;
  if (conversation.planned_ <= when) return;
  conversation.planned_ = when;
  plan(rings, conversation.number_, when, ++conversation.version_);
}

void Packets::happen_timer(uint32_t number, Time now) {
  Conversation& conversation = *conversations_[number];
  conversation.planned_ = Time::last();
  if (conversation.timer_ == Time::last()) return;
  if (conversation.timer_ > now) return set_timer(conversation, conversation.timer_);
  conversation.timer_ = Time::last();
  if (!conversation.has_begun_) return start(conversation, now);
  if (conversation.parcel_.from == conversation.parcel_.to) return complete(conversation, now);
  conversation.on_timer(now);
}

void Packets::plan_pull(int worker, Time when) { plan(pulls, static_cast<uint32_t>(worker), when); }

// ---- routes

void Packets::make_table() {
  const std::size_t vertices = at(roads_.vertices());
  std::vector<uint32_t> count(vertices);
  junctions_.resize(vertices);
  for (uint32_t number = 0; number < ports_.count(); ++number) {
    if (!roads_.all()[number].is_there) continue;
    const std::size_t from = at(start_of(number));
    ++count[from];
    junctions_[from].only_road = number;
  }
  std::vector<uint32_t> column_of(vertices, Packet::none);
  for (int worker = 0; worker < roads_.workers(); ++worker) {
    const Roads::Goal goal = roads_.goal_of(worker);
    uint32_t& column = column_of[at(goal.vertex)];
    if (column == Packet::none) column = static_cast<uint32_t>(columns_++);
    goals_.push_back({goal.vertex, column, goal.is_own ? no_road : goal.last});
  }
  const std::size_t rows =
      vertices - at(static_cast<int>(std::count(count.begin(), count.end(), 1)));
  if (rows * columns_ > most_choices)
    throw InputError("", "the cluster is too large for packets: " + std::to_string(rows) +
                             " switches with routes to " + std::to_string(columns_) + " places");
  table_.assign(rows * columns_, unknown_entry);
  uint32_t row = 0;
  for (std::size_t vertex = 0; vertex < vertices; ++vertex) {
    if (count[vertex] == 1) continue;
    junctions_[vertex] = {no_road, row};
    row += static_cast<uint32_t>(columns_);
  }
}

// The column of a goal.
void Packets::find_choices(const Goal& goal) {
  std::vector<uint32_t> found;
  for (int vertex = 0; vertex < roads_.vertices(); ++vertex) {
    if (junctions_[at(vertex)].only_road != no_road) continue;
    found.clear();
    roads_.next_roads(vertex, goal.vertex, found);
    uint32_t& entry = table_[junctions_[at(vertex)].row + goal.column];
    if (found.size() == 1) {
      entry = is_road | found.front();
      continue;
    }
    const auto [place, is_new] =
        known_choices_.try_emplace(found, static_cast<uint32_t>(choices_.size()));
    if (is_new) {
      choices_.push_back(
          {static_cast<uint32_t>(choice_roads_.size()), static_cast<uint32_t>(found.size())});
      choice_roads_.insert(choice_roads_.end(), found.begin(), found.end());
    }
    entry = place->second;
  }
}

RouteFacts Packets::route(int from, int to) {
  RouteFacts facts;
  const int end = vertex_of_[at(to)];
  for (int vertex = vertex_of_[at(from)]; vertex != end;) {
    const Goal& goal = goals_[at(to)];
    const bool is_last = vertex == goal.vertex && goal.last != no_road;
    if (!is_last && junctions_[at(vertex)].only_road == no_road) {
      const uint32_t entry = entry_at(vertex, goal);
      const uint32_t choices = (entry & is_road) != 0 ? 1 : choices_[entry].count;
      if (choices > 1 && facts.ways <= most_ways / choices) facts.ways *= choices;
    }
    uint32_t digits = 0;
    const uint32_t number = next_road(vertex, to, digits);
    if (number == no_road) {
      facts.is_whole = false;
      break;
    }
    const PacketPort& port = ports_[number];
    if (facts.roads == 0) facts.first_ps_per_B = port.ps_per_B;
    ++facts.roads;
    facts.ps_per_B = std::max(facts.ps_per_B, port.ps_per_B);
    facts.last_ps_per_B = port.ps_per_B;
    facts.all_ps_per_B += port.ps_per_B;
    facts.latency += port.latency;
    if (port.to != end) facts.latency += port.passing;
    vertex = port.to;
  }
  return facts;
}

// Of a full packet and its answer, where nothing is in the way, between a worker that is farthest
// from the first one and the one that is farthest from that. Of very many workers some are tried.
Duration Packets::longest_trip() {
  constexpr int most_tried = 512;
  const int step = 1 + (roads_.workers() - 1) / most_tried;
  Duration longest;
  int from = 0;
  for (int pass = 0; pass < 2; ++pass) {
    int farthest = from;
    for (int to = 0; to < roads_.workers(); to += step) {
      if (to == from) continue;
      const Duration trip = round_trip(route(from, to), setup_.packet_B, setup_.answer_B);
      if (trip <= longest) continue;
      longest = trip;
      farthest = to;
    }
    from = farthest;
  }
  return longest;
}

uint32_t Packets::draw_way(Conversation& conversation, bool is_data) {
  if (conversation.route_.ways <= 1) return conversation.own_way_;
  switch (setup_.spray) {
    case Spray::per_flow:
      return conversation.own_way_;
    case Spray::by_destination:
      return static_cast<uint32_t>(is_data ? conversation.parcel_.to : conversation.parcel_.from);
    case Spray::random:
      break;
    case Spray::permuted:
      if (!is_data) break;
      std::vector<uint16_t>& order = conversation.permutation_;
      if (conversation.next_way_ == order.size()) {
        if (order.empty()) {
          order.resize(conversation.route_.ways);
          std::iota(order.begin(), order.end(), uint16_t{0});
        }
        for (std::size_t i = order.size(); i > 1; --i)
          std::swap(order[i - 1], order[static_cast<std::size_t>(ways_random_.below(i))]);
        conversation.next_way_ = 0;
      }
      return order[conversation.next_way_++];
  }
  return static_cast<uint32_t>(ways_random_.bits());
}

// ---- what is told

// Of a packet that is being sent, the part that was.
std::vector<double> Packets::carried_B(Time now) const {
  std::vector<double> carried_B;
  for (uint32_t number = 0; number < ports_.count(); ++number) {
    const PacketPort& port = ports_[number];
    const auto left_ps = static_cast<double>((std::max(port.busy_until, now) - now).ps());
    carried_B.push_back(std::max(0.0, port.carried_B - left_ps / port.ps_per_B));
  }
  return carried_B;
}

std::shared_ptr<const PacketReport> Packets::report(Time end) const {
  auto report = std::make_shared<PacketReport>();
  report->counts = counts_;
  report->in_network = pool_.in_use();
  report->took = took_;
  report->delivery = delivery_;
  for (uint32_t number = 0; number < ports_.count(); ++number) {
    const PacketPort& port = ports_[number];
    if (port.most_B == 0) continue;
    const double waiting =
        port.byte_ps +
        static_cast<double>(port.bytes) *
            static_cast<double>((std::max(end, port.counted_until) - port.counted_until).ps());
    report->queues.push_back(
        {number, port.most_B, waiting / static_cast<double>(std::max<int64_t>(1, end.ps()))});
  }
  return report;
}

// ---- conversations

Conversation::Conversation(Packets& packets, uint32_t number, const Parcel& parcel)
    : packets_(packets), number_(number), parcel_(parcel) {
  const uint32_t full = packets.payload().of(parcel.size_B);
  const double count = std::max(1.0, std::ceil(parcel.size_B / full));
  constexpr double most_of_message = 1U << 31U;
  if (count > most_of_message) throw InputError("", "a message of too many packets");
  count_ = static_cast<uint32_t>(count);
  payload_B_ = full;
  last_B_ = static_cast<uint32_t>(
      std::ceil(parcel.size_B - static_cast<double>(full) * static_cast<double>(count_ - 1)));
  if (parcel.from != parcel.to) route_ = packets.route(parcel.from, parcel.to);
}

}  // namespace sgdsim
