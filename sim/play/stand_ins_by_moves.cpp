// From ways in which workers may take each other's places to classes of them.
//
// Orders of workers that change nothing form circles, and those are classes. Who plays rounds of
// many collectives lists what is sent, and proves each order on it (find_by). A collective of
// shifts needs no list: turning all numbers by the same leaves it as it is, because everybody sends
// to somebody as far away; and where all send to all at once, so does every order (find_turned).
#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/core/cases.h"
#include "sim/play/circles.h"
#include "sim/play/stand_ins.h"

namespace sgdsim {
namespace {

using Places = Alikeness::Places;
using Pairs = Resources::Pairs;

// Of all that stand-ins send, the routes; those of others are these in other places. False if there
// is none.
bool take_routes(const Pairs& pairs, Resources& wires, StandIns& all) {
  Owners owners(all.class_sizes.size());
  std::vector<ResourceUse> uses;
  for (const auto& [from, to] : pairs) {
    const Parcel parcel{.from = static_cast<int>(from), .to = static_cast<int>(to), .size_B = 1};
    uses.clear();
    if (!wires.find(parcel, Resources::Part::whole, uses)) return false;
    const uint32_t number = all.number_of[from];
    for (const ResourceUse& use : uses) {
      const uint32_t way = all.class_of[use.resource];
      owners.add(way, number, all.number_of[to]);
      all.is_exact = all.is_exact && all.sizes[number] == all.class_sizes[way];
    }
  }
  all.is_exact = all.is_exact && owners.are_single();
  return true;
}

// Classes that grow with each order that leaves everything as it is.
class Moved {
 public:
  Moved(std::size_t workers, Resources& wires)
      : wires_(wires), workers_(workers), ways_(wires.capacities().size()), count_(workers) {}

  // False if the wires are not as before then, or routes, if they are asked for.
  bool take(const Places& places, bool keeps_routes) {
    const std::optional<std::vector<uint32_t>> moved = wires_.moved(places);
    if (!moved || (keeps_routes && !wires_.keeps_routes(places, *moved))) return false;
    for (std::size_t i = 0; i < places.size(); ++i)
      workers_.join(i, static_cast<std::size_t>(places[i]));
    for (std::size_t i = 0; i < moved->size(); ++i) ways_.join(i, (*moved)[i]);
    any_ = true;
    return true;
  }
  bool any() const { return any_; }
  StandIns stand_ins() {
    StandIns all;
    all.number_of = workers_.numbered(all.sizes);
    all.workers.assign(all.sizes.size(), -1);
    for (std::size_t worker = 0; worker < count_; ++worker) {
      int& first = all.workers[all.number_of[worker]];
      if (first < 0) first = static_cast<int>(worker);
    }
    all.class_of = ways_.numbered(all.class_sizes);
    return all;
  }

 private:
  Resources& wires_;
  Circles workers_;
  Circles ways_;
  std::size_t count_;
  bool any_ = false;
};

// Of a program: which orders of the workers leave it as it is.
struct Orders {
  bool all = true;   // every one
  int64_t unit = 1;  // else turns of all numbers by multiples of this; 0: none
};

Orders orders_of(const Team& team, int workers, bool any_order) {
  if (team.only_lane >= 0) return {false, 0};
  if (any_order && team.size == workers) return {};
  const int64_t block = int64_t{team.size} * team.stride;
  if (workers % block != 0) return {false, 0};
  return {false, block == workers ? team.stride : block};
}

Orders orders_of(const Phase& phase, int workers) {
  const bool is_even = phase.padded_chunks || phase.share.even(phase.team.size);
  if (phase.talk != Talk::shift || (phase.load != Load::whole && phase.load != Load::chunk) ||
      (phase.load == Load::chunk && !is_even) || !phase.share.even())
    return {false, 0};
  const bool to_all = phase.at_once && !phase.doubles && phase.distance == 1 &&
                      phase.distance_step == 1 && phase.rounds == phase.team.size - 1;
  return orders_of(phase.team, workers, to_all);
}

Orders orders_of(std::span<const PlayedProgram> programs, int workers) {
  Orders both;
  for (const PlayedProgram& one : programs)
    for (const Stage& stage : one.program->stages) {
      const Orders its = std::visit(
          Cases{[&](const Phase& phase) { return orders_of(phase, workers); },
                [&](const TreePipeline&) {
                  return Orders{false, 0};
                },
                [&](const Barrier& barrier) { return orders_of(barrier.team, workers, true); },
                [](const Launch&) { return Orders(); }},
          stage);
      both.all = both.all && its.all;
      both.unit = std::lcm(both.unit, its.unit);
    }
  return both;
}

// Around every `length` workers by `unit`.
Places turned(std::size_t workers, int64_t length, int64_t unit) {
  Places places;
  for (int64_t worker = 0; worker < static_cast<int64_t>(workers); ++worker)
    places.push_back(
        static_cast<int>(worker - worker % length + (worker % length + unit) % length));
  return places;
}

bool is_like(const std::vector<uint64_t>& first, const Places& places) {
  for (std::size_t i = 0; i < first.size(); ++i)
    if (first[i] != first[static_cast<std::size_t>(places[i])]) return false;
  return true;
}

// What stand-ins send.
Pairs pairs_of(std::span<const PlayedProgram> programs, const StandIns& all) {
  Pairs pairs;
  for (const PlayedProgram& one : programs) {
    const std::size_t before = pairs.size();
    for (const Stage& stage : one.program->stages) {
      const auto* phase = std::get_if<Phase>(&stage);
      if (phase == nullptr) continue;
      const bool alike = phase->distance_step == 0 && !phase->doubles;
      const int rounds = alike ? std::min(1, phase->rounds) : phase->rounds;
      for (const int worker : all.workers)
        for (int round = 0; round < rounds; ++round) {
          const int v = phase->team.relative(worker);
          const int to = phase->team.colleague(worker, v, phase->receiver(round, v));
          if (to != worker)
            pairs.emplace_back(static_cast<uint32_t>(worker), static_cast<uint32_t>(to));
        }
    }
    std::sort(pairs.begin() + static_cast<std::ptrdiff_t>(before), pairs.end());
    std::inplace_merge(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(before),
                       pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  }
  return pairs;
}

}  // namespace

void Alikeness::sort_by_sender() {
  first_of_.assign(colours_.size() + 1, 0);
  for (const Message& one : messages_) ++first_of_[one.from + 1];
  std::partial_sum(first_of_.begin(), first_of_.end(), first_of_.begin());
  std::vector<uint32_t> next(first_of_.begin(), first_of_.end() - 1);
  std::vector<Message> sorted(messages_.size());
  for (const Message& one : messages_) sorted[next[one.from]++] = one;
  messages_ = std::move(sorted);
  for (std::size_t worker = 0; worker < colours_.size(); ++worker)
    std::sort(messages_.begin() + static_cast<std::ptrdiff_t>(first_of_[worker]),
              messages_.begin() + static_cast<std::ptrdiff_t>(first_of_[worker + 1]),
              [](const Message& one, const Message& other) {
                return std::tie(one.label, one.to) < std::tie(other.label, other.to);
              });
}

// What each sends is what the one sends in whose place it is, to whom is in the receiver's; what
// is sent twice is there twice.
bool Alikeness::changes_nothing(const Places& places) const {
  if (!is_like(colours_, places)) return false;
  for (std::size_t worker = 0; worker < places.size(); ++worker) {
    const auto other = static_cast<std::size_t>(places[worker]);
    const uint32_t first = first_of_[worker];
    const uint32_t count = first_of_[worker + 1] - first;
    if (first_of_[other + 1] - first_of_[other] != count) return false;
    for (uint32_t i = 0; i < count; ++i) {
      const Message& one = messages_[first + i];
      const Message& its = messages_[first_of_[other] + i];
      if (one.label != its.label || places[one.to] != static_cast<int>(its.to)) return false;
    }
  }
  return true;
}

// What stand-ins send, each once.
Resources::Pairs Alikeness::pairs_of(const StandIns& all) const {
  Pairs pairs;
  for (const Message& one : messages_)
    if (all.workers[all.number_of[one.from]] == static_cast<int>(one.from))
      pairs.emplace_back(one.from, one.to);
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

std::optional<StandIns> Alikeness::find_by(const std::vector<std::vector<Places>>& moves,
                                           Resources& wires) {
  if (is_too_much_ || !meetings_.empty()) return std::nullopt;
  sort_by_sender();
  // Where an order turns out to lead messages over other wires, the next one of its list is tried.
  std::vector<std::size_t> firsts(moves.size());
  constexpr int most_attempts = 16;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    Moved moved(colours_.size(), wires);
    std::vector<Places> taken;
    std::vector<std::size_t> lists;  // of those that were taken
    for (std::size_t list = 0; list < moves.size(); ++list) {
      std::size_t& place = firsts[list];
      while (place < moves[list].size() &&
             !(changes_nothing(moves[list][place]) && moved.take(moves[list][place], false)))
        ++place;
      if (place == moves[list].size()) continue;
      taken.push_back(moves[list][place]);
      lists.push_back(list);
    }
    if (!moved.any()) return std::nullopt;
    StandIns all = moved.stand_ins();
    const Pairs pairs = pairs_of(all);
    const std::optional<std::size_t> unkept = wires.first_unkept(taken, pairs);
    if (!unkept)
      return take_routes(pairs, wires, all) ? std::optional(std::move(all)) : std::nullopt;
    ++firsts[lists[*unkept]];
  }
  return std::nullopt;
}

std::optional<StandIns> find_turned(std::span<const PlayedProgram> programs,
                                    const std::vector<uint64_t>& first, Resources& wires) {
  const std::size_t count = first.size();
  const auto workers = static_cast<int64_t>(count);
  const Orders orders = orders_of(programs, static_cast<int>(workers));
  if (orders.unit == 0) return std::nullopt;
  const auto is_known = [&](const PlayedProgram& one) {
    return one.network->workers() == workers && !one.network->has_bands() &&
           one.network->ports().empty();
  };
  if (!std::all_of(programs.begin(), programs.end(), is_known)) return std::nullopt;
  Moved moved(count, wires);
  for (int64_t length = workers; length >= (orders.all ? 2 : workers); --length) {
    if (workers % length != 0) continue;
    for (int64_t unit = orders.all ? 1 : orders.unit; unit < length; ++unit) {
      if (length % unit != 0 || unit % orders.unit != 0) continue;
      const Places places = turned(count, length, unit);
      if (is_like(first, places) && moved.take(places, true)) break;
    }
  }
  if (!moved.any()) return std::nullopt;
  StandIns all = moved.stand_ins();
  if (all.workers.size() * count > Alikeness::most_messages) return std::nullopt;
  if (!take_routes(pairs_of(programs, all), wires, all)) return std::nullopt;
  return all;
}

}  // namespace sgdsim
