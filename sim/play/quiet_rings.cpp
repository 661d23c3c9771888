// Which groups have wires that nobody else uses.
#include "sim/play/quiet_rings.h"

#include <algorithm>

namespace sgdsim {
namespace {

constexpr uint32_t nobody = UINT32_MAX;
constexpr uint32_t several = UINT32_MAX - 1;
// Of collectives that are no rings, so many are looked at; where there are more, no ring is quiet.
constexpr double most_others = 1 << 22;

}  // namespace

QuietRings::QuietRings(const RankSchedule& schedule, const Network& network, Resources& resources,
                       AlphaRule alpha, const Stopper* stopper)
    : schedule_(schedule),
      network_(network),
      resources_(resources),
      alpha_(alpha),
      stopper_(stopper),
      groups_(schedule.groups()),
      ways_(schedule.ranks()),
      capacities_(resources.capacities()),
      owners_(capacities_.size(), nobody),
      asked_(capacities_.size()) {
  find_talk();
  std::vector<uint32_t> rings;
  bool are_known = true;
  for (uint32_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].doing.empty()) continue;
    if (is_ring(group) && take_ring(group))
      rings.push_back(group);
    else
      are_known = are_known && take_others(group);
  }
  for (const uint32_t group : rings) groups_[group].is_alone = are_known && has_room(group);
  take_sends();
}

bool QuietRings::are_any() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const Group& one) { return one.is_alone; });
}

// Who sends how often to whom, and what each group does.
void QuietRings::find_talk() {
  const std::vector<RankOperation>& operations = schedule_.operations();
  for (uint32_t place = 0; place < operations.size(); ++place) {
    const RankOperation& one = operations[place];
    if (one.verb == RankVerb::call) {
      const RankCall call = one.call();
      std::vector<Doing>& doing = groups_[call.group].doing;
      auto known = std::find_if(doing.begin(), doing.end(),
                                [&](const Doing& it) { return it.program == call.program; });
      if (known == doing.end()) known = doing.insert(known, {call.program, 0});
      ++known->calls;
    } else if (one.verb == RankVerb::send) {
      const uint32_t from = schedule_.rank_of(place);
      std::vector<Way>& ways = ways_[from];
      auto way =
          std::find_if(ways.begin(), ways.end(), [&](const Way& it) { return it.to == one.peer; });
      if (way == ways.end()) way = ways.insert(way, {.to = one.peer, .sends = 0});
      ++way->sends;
    }
  }
}

// What each has goes around to all others.
bool QuietRings::is_ring(uint32_t group) const {
  const auto size = static_cast<int>(schedule_.group(group).size());
  const std::vector<Doing>& doing = groups_[group].doing;
  return size > 1 && std::all_of(doing.begin(), doing.end(), [&](const Doing& one) {
           const Phase* first = ring_of(schedule_.program(one.program), size);
           return first != nullptr && first->distance == 1 && first->rounds >= size - 1;
         });
}

template <class F>
void QuietRings::for_each_pair(uint32_t group, const F& f) const {
  const std::vector<int>& members = schedule_.group(group);
  for (std::size_t member = 0; member < members.size(); ++member)
    f(member, static_cast<uint32_t>(members[member]),
      static_cast<uint32_t>(members[member + 1 == members.size() ? 0 : member + 1]));
}

// Null: there is no way.
const std::vector<ResourceUse>* QuietRings::route(uint32_t from, uint32_t to) {
  uses_.clear();
  const Parcel parcel{.from = static_cast<int>(from), .to = static_cast<int>(to), .size_B = 1};
  return resources_.find(parcel, Resources::Part::whole, uses_) ? &uses_ : nullptr;
}

// Of all that a member sends to the next one, the most bytes per picosecond. A time that was
// rounded down would ask for more than there is. False if something waits for its receiver.
bool QuietRings::find_rate(uint32_t group, std::size_t member, double& rate) const {
  const std::vector<int>& members = schedule_.group(group);
  const int from = members[member];
  const int to = members[member + 1 == members.size() ? 0 : member + 1];
  const Wires wires(network_, AlphaRule::wire);
  rate = 0;
  for (const Doing& one : groups_[group].doing)
    for (const Stage& stage : schedule_.program(one.program).stages) {
      const auto* phase = std::get_if<Phase>(&stage);
      if (phase == nullptr) continue;
      const double size_B = phase->sent_B(0, phase->team.relative(static_cast<int>(member)), 0);
      const Leg leg = wires.leg(from, to, size_B, false, phase->goes_both_ways());
      if (leg.agreed > Duration()) return false;
      constexpr double rounded_ps = 0.5;
      if (size_B > 0 && leg.transit > Duration())
        rate = std::max(rate, size_B / (static_cast<double>(leg.transit.ps()) + rounded_ps));
    }
  return true;
}

bool QuietRings::take_ring(uint32_t group) {
  bool all = true;
  for_each_pair(group, [&](std::size_t member, uint32_t from, uint32_t to) {
    const std::vector<ResourceUse>* uses = route(from, to);
    double rate = 0;
    all = all && uses != nullptr && find_rate(group, member, rate);
    if (!all) return;
    for (const ResourceUse& use : *uses) {
      uint32_t& owner = owners_[use.resource];
      if (owner != group) owner = owner == nobody ? group : several;
      asked_[use.resource] += use.share * rate;
    }
  });
  return all;
}

// False if it is not known, or too much to look at, which wires it takes.
bool QuietRings::take_others(uint32_t group) {
  const std::vector<int>& members = schedule_.group(group);
  bool is_known = true;
  for (const Doing& one : groups_[group].doing)
    for (const Stage& stage : schedule_.program(one.program).stages) {
      if (std::holds_alternative<TreePipeline>(stage)) return false;
      const auto* phase = std::get_if<Phase>(&stage);
      if (phase == nullptr) continue;
      others_ += static_cast<double>(phase->rounds) * static_cast<double>(members.size());
      if (others_ > most_others) return false;
      for (int round = 0; round < phase->rounds; ++round)
        for (int worker = 0; worker < static_cast<int>(members.size()); ++worker) {
          if (!phase->team.takes_part(worker)) continue;
          const int v = phase->team.relative(worker);
          const int to = phase->receiver(round, v);
          if (to < 0) continue;
          const int other = phase->team.colleague(worker, v, to);
          const std::vector<ResourceUse>* uses =
              route(static_cast<uint32_t>(members[static_cast<std::size_t>(worker)]),
                    static_cast<uint32_t>(members[static_cast<std::size_t>(other)]));
          is_known = is_known && uses != nullptr;
          if (!is_known) return false;
          for (const ResourceUse& use : *uses) owners_[use.resource] = several;
        }
    }
  return true;
}

// Its messages have room, too, where several of them take a wire.
bool QuietRings::has_room(uint32_t group) {
  constexpr double rounding = 1e-9;
  bool has_room = true;
  for_each_pair(group, [&](std::size_t, uint32_t from, uint32_t to) {
    for (const ResourceUse& use : *route(from, to))
      has_room = has_room && owners_[use.resource] == group &&
                 asked_[use.resource] <= capacities_[use.resource] * (1 + rounding);
  });
  return has_room;
}

// Who sends by the wires of a ring, of those that others take.
void QuietRings::take_sends() {
  for (uint32_t from = 0; from < ways_.size(); ++from)
    for (Way& way : ways_[from]) {
      const std::vector<ResourceUse>* uses = way.to == from ? nullptr : route(from, way.to);
      if (uses == nullptr) continue;
      for (const ResourceUse& use : *uses) {
        const uint32_t owner = owners_[use.resource];
        if (owner >= groups_.size() || !groups_[owner].is_alone) continue;
        if (std::find(way.groups.begin(), way.groups.end(), owner) == way.groups.end())
          way.groups.push_back(owner);
      }
    }
}

std::span<const uint32_t> QuietRings::met_by(uint32_t from, uint32_t to) const {
  for (const Way& way : ways_[from])
    if (way.to == to) return way.groups;
  return {};
}

double QuietRings::least_messages() const {
  double messages = 0;
  for (const std::vector<Way>& ways : ways_)
    for (const Way& way : ways) messages += static_cast<double>(way.sends);
  for (uint32_t group = 0; group < groups_.size(); ++group) {
    if (may_be_quiet(group)) continue;
    const auto members = static_cast<int>(schedule_.group(group).size());
    for (const Doing& one : groups_[group].doing)
      messages +=
          static_cast<double>(traffic_of(schedule_.program(one.program), members).messages) /
          members * static_cast<double>(one.calls);
  }
  return messages;
}

RingPlay QuietRings::ring_play(uint32_t group, uint32_t program) const {
  return {.network = network_,
          .alpha = alpha_,
          .members = &schedule_.group(group),
          .folds = schedule_.folds(program),
          .stopper = stopper_};
}

void QuietRings::carry(uint32_t group, const std::vector<double>& sent_B) {
  std::vector<double>& all = groups_[group].sent_B;
  all.resize(sent_B.size());
  for (std::size_t member = 0; member < sent_B.size(); ++member) all[member] += sent_B[member];
}

void QuietRings::add_carried(std::vector<double>& carried_B) {
  for (uint32_t group = 0; group < groups_.size(); ++group) {
    const std::vector<double>& sent_B = groups_[group].sent_B;
    if (sent_B.empty()) continue;
    for_each_pair(group, [&](std::size_t member, uint32_t from, uint32_t to) {
      for (const ResourceUse& use : *route(from, to))
        carried_B[use.resource] += use.share * sent_B[member];
    });
  }
}

}  // namespace sgdsim
