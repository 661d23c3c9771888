// Colours, refined until no class is divided any more.
#include "sim/play/stand_ins.h"

#include <algorithm>
#include <map>

#include "sim/core/cases.h"
#include "sim/play/circles.h"
#include "sim/play/symmetric.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_uses = 1 << 25;

// The C++ library of the page has no std::bit_cast.
uint64_t number_of(double value) { return __builtin_bit_cast(uint64_t, value); }

// Everybody sends to somebody as far away as in the round before, as much as all others.
bool rounds_alike(const Phase& phase) {
  if (phase.talk != Talk::shift || phase.doubles || phase.distance_step != 0) return false;
  return phase.load == Load::whole ||
         (phase.load == Load::chunk && (phase.padded_chunks || phase.share.even(phase.team.size)));
}

int different_rounds(const Phase& phase) {
  return rounds_alike(phase) ? std::min(1, phase.rounds) : phase.rounds;
}

bool is_even(const Phase& phase) {
  return phase.padded_chunks ||
         (phase.share.even(phase.team.size) && phase.share.even(phase.core()));
}

uint64_t structure_of(const Phase& phase, bool sizes_matter) {
  const auto flags = std::to_array<bool>({phase.folds, phase.doubles, phase.far_first,
                                          phase.odd_stays, phase.padded_chunks, phase.at_once});
  uint64_t number =
      mixed_all(1, phase.talk, phase.load, phase.handshake, phase.rounds, phase.team.size,
                phase.team.stride, phase.team.root, phase.team.only_lane, phase.distance,
                phase.distance_step, phase.chunk_offset, phase.chunk_slope, phase.share.fractional);
  for (const bool flag : flags) number = mixed(number, flag ? 1 : 0);
  for (const int part : phase.share.split) number = mixed_all(number, part);
  if (sizes_matter || !is_even(phase)) number = mixed_all(number, phase.share.total.count());
  return number;
}

std::vector<uint32_t> numbered(const std::vector<uint64_t>& colours, std::size_t& classes) {
  std::map<uint64_t, uint32_t> numbers;
  std::vector<uint32_t> all;
  all.reserve(colours.size());
  for (const uint64_t colour : colours)
    all.push_back(numbers.try_emplace(colour, static_cast<uint32_t>(numbers.size())).first->second);
  classes = numbers.size();
  return all;
}

std::size_t different(std::vector<uint64_t> colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

// All workers are alike, and so are their ports.
StandIns one_for_all(std::size_t workers, bool shares_ports) {
  StandIns all;
  all.number_of.resize(workers);
  all.workers = {0};
  all.sizes = {static_cast<uint32_t>(workers)};
  if (!shares_ports) return all;
  for (std::size_t i = 0; i < 2 * workers; ++i)
    all.class_of.push_back(static_cast<uint32_t>(i % 2));
  all.class_sizes.assign(2, static_cast<uint32_t>(workers));
  return all;
}

}  // namespace

int64_t bytes_of(const Program& program) {
  int64_t sum = 0;
  for (const Stage& stage : program.stages)
    if (const auto* phase = std::get_if<Phase>(&stage)) sum += phase->share.total.count();
  return sum;
}

uint64_t structure_of(const Program& program, const Network& network) {
  uint64_t number = 0;
  for (const Stage& stage : program.stages)
    std::visit(Cases{[&](const Phase& phase) {
                       number = mixed(number, structure_of(phase, network.has_bands()));
                     },
                     [&](const TreePipeline&) { number = mixed(number, 2); },
                     [&](const Barrier& barrier) {
                       number = mixed_all(number, 3, barrier.team.size, barrier.team.stride,
                                          barrier.team.only_lane);
                     },
                     [&](const Launch&) { number = mixed(number, 4); }},
               stage);
  return number;
}

Alikeness::Alikeness(std::vector<uint64_t> first, Resources* resources, AlphaRule alpha)
    : colours_(std::move(first)), resources_(resources), alpha_(alpha) {
  if (resources == nullptr) return;
  for (const double capacity : resources->capacities())
    way_colours_.push_back(mixed(1, number_of(capacity)));
}

std::size_t Alikeness::messages_of(const Program& program, int workers) {
  std::size_t sum = 0;
  for (const Stage& stage : program.stages) {
    const auto* phase = std::get_if<Phase>(&stage);
    if (phase == nullptr) continue;
    const int rounds = different_rounds(*phase);
    if (static_cast<double>(rounds) * workers > static_cast<double>(most_messages))
      return most_messages + 1;
    for (int worker = 0; worker < workers; ++worker) {
      if (!phase->team.takes_part(worker)) continue;
      if (phase->talk == Talk::shift) {
        sum += static_cast<std::size_t>(rounds);
        continue;
      }
      for (int round = 0; round < rounds; ++round)
        sum += phase->receiver(round, phase->team.relative(worker)) >= 0 ? std::size_t{1} : 0;
    }
  }
  return sum;
}

bool Alikeness::expect(std::size_t messages) {
  is_too_much_ = is_too_much_ || messages > most_messages;
  if (!is_too_much_) messages_.reserve(messages);
  return !is_too_much_;
}

bool Alikeness::add(uint64_t label, const Program& program, const Network& network,
                    const std::vector<int>* members, bool folds) {
  uint64_t place = 0;
  for (const Stage& stage : program.stages) {
    const uint64_t at = mixed(label, ++place);
    if (std::holds_alternative<TreePipeline>(stage)) return false;
    if (const auto* phase = std::get_if<Phase>(&stage)) {
      if (!add(at, *phase, network, members, folds)) return false;
    } else if (const auto* barrier = std::get_if<Barrier>(&stage)) {
      const int workers =
          members == nullptr ? network.workers() : static_cast<int>(members->size());
      for_each_lane(barrier->team, workers, [&](int base) {
        Meeting& meeting = meetings_.emplace_back();
        meeting.label = at;
        for (int v = 0; v < barrier->team.size; ++v) {
          const auto worker = static_cast<std::size_t>(barrier->team.colleague(base, v));
          meeting.members.push_back(static_cast<uint32_t>(
              members == nullptr ? static_cast<int>(worker) : (*members)[worker]));
        }
      });
    }
  }
  return !is_too_much_;
}

bool Alikeness::add(uint64_t label, const Phase& phase, const Network& network,
                    const std::vector<int>* members, bool folds) {
  const int workers = members == nullptr ? network.workers() : static_cast<int>(members->size());
  const Wires wires(network, alpha_);
  const int rounds = different_rounds(phase);
  if (static_cast<double>(rounds) * workers > static_cast<double>(most_messages)) return false;
  const auto place = [&](int worker) {
    return members == nullptr ? worker : (*members)[static_cast<std::size_t>(worker)];
  };
  for (int worker = 0; worker < workers; ++worker) {
    if (!phase.team.takes_part(worker)) {
      uint64_t& colour = colours_[static_cast<std::size_t>(place(worker))];
      colour = mixed_all(colour, label);
      continue;
    }
    const int v = phase.team.relative(worker);
    const int lane = phase.team.lane(worker);
    for (int round = 0; round < rounds; ++round) {
      const int to = phase.receiver(round, v);
      if (to < 0) continue;
      add(mixed_all(label, round), wires, place(worker), place(phase.team.colleague(worker, v, to)),
          phase.sent_B(round, v, lane), phase.folds && folds, phase.goes_both_ways());
      if (is_too_much_) return false;
    }
  }
  return true;
}

void Alikeness::add(uint64_t label, const Network& network, int from, int to, double size_B) {
  add(label, Wires(network, alpha_), from, to, size_B, false, false);
}

// Whatever the messages of a class may differ in is in its label.
void Alikeness::add(uint64_t label, const Wires& wires, int from, int to, double size_B, bool folds,
                    bool both_ways) {
  const Leg leg = wires.leg(from, to, size_B, folds, both_ways);
  const PairCost cost = wires.network().at_size(size_B).between(from, to);
  label = mixed_all(label, number_of(size_B), leg.flight.ps(), leg.out_busy.ps(), leg.in_busy.ps(),
                    leg.transit.ps(), leg.fold.ps(), cost.latency.ps(),
                    number_of(cost.per_byte.ps()), number_of(cost.reduce.ps()));
  if (const std::vector<Port>& ports = wires.network().ports(); !ports.empty())
    label = mixed_all(label, number_of(ports[static_cast<std::size_t>(from)].out.per_byte.ps()),
                      number_of(ports[static_cast<std::size_t>(to)].in.per_byte.ps()));
  for (const SharedWays& shared : wires.network().shared_ways())
    label = mixed(label, shared.carries(from, to) ? 1 : 0);
  messages_.push_back({label, static_cast<uint32_t>(from), static_cast<uint32_t>(to)});
  if (resources_ != nullptr) {
    if (size_B > 0 && !resources_->find({.from = from, .to = to, .size_B = size_B, .leg = leg},
                                        Resources::Part::whole, uses_))
      is_too_much_ = true;  // no way: nobody knows what would happen
    uses_end_.push_back(static_cast<uint32_t>(uses_.size()));
  }
  if (messages_.size() > most_messages || uses_.size() > most_uses) is_too_much_ = true;
}

// Sums do not depend on the order of what is added up.
void Alikeness::refine() {
  more_.assign(colours_.size(), 0);
  more_of_ways_.assign(way_colours_.size(), 0);
  uint32_t first_use = 0;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    const Message& one = messages_[i];
    const uint32_t end = uses_end_.empty() ? 0 : uses_end_[i];
    const std::span<const ResourceUse> uses(uses_.data() + first_use, end - first_use);
    first_use = end;
    uint64_t ways = 0;
    for (const ResourceUse& use : uses)
      ways += mixed_all(way_colours_[use.resource], number_of(use.share));
    const uint64_t colour = mixed_all(one.label, colours_[one.from], colours_[one.to], ways);
    more_[one.from] += mixed(colour, 1);
    more_[one.to] += mixed(colour, 2);
    for (const ResourceUse& use : uses)
      more_of_ways_[use.resource] += mixed_all(colour, number_of(use.share));
  }
  for (const Meeting& meeting : meetings_) {
    uint64_t sum = 0;
    for (const uint32_t member : meeting.members) sum += mixed(colours_[member], 3);
    for (const uint32_t member : meeting.members) more_[member] += mixed(meeting.label, sum);
  }
  for (std::size_t i = 0; i < colours_.size(); ++i) colours_[i] = mixed(colours_[i], more_[i]);
  for (std::size_t i = 0; i < way_colours_.size(); ++i)
    way_colours_[i] = mixed(way_colours_[i], more_of_ways_[i]);
}

std::optional<StandIns> Alikeness::find() {
  if (is_too_much_) return std::nullopt;
  const std::size_t most_classes = colours_.size() / 2;  // more are not worth it
  std::size_t before = 0;
  std::size_t ways_before = 0;
  while (true) {
    const std::size_t now = different(colours_);
    const std::size_t ways = different(way_colours_);
    if (now > most_classes) return std::nullopt;
    if (now == before && ways == ways_before) return stand_ins();
    before = now;
    ways_before = ways;
    refine();
  }
}

StandIns Alikeness::stand_ins() const {
  StandIns all;
  std::size_t classes = 0;
  all.number_of = numbered(colours_, classes);
  all.workers.assign(classes, -1);
  all.sizes.assign(classes, 0);
  for (std::size_t worker = 0; worker < colours_.size(); ++worker) {
    const uint32_t number = all.number_of[worker];
    if (all.sizes[number]++ == 0) all.workers[number] = static_cast<int>(worker);
  }
  all.class_of = numbered(way_colours_, classes);
  all.class_sizes.assign(classes, 0);
  for (const uint32_t number : all.class_of) ++all.class_sizes[number];
  Owners owners(way_colours_.size());
  for (std::size_t i = 0, use = 0; i < uses_end_.size(); ++i)
    for (; use < uses_end_[i]; ++use)
      owners.add(uses_[use].resource, messages_[i].from, messages_[i].to);
  all.is_exact = owners.are_single();
  return all;
}

void take_seats(AlikeRanks& ranks, std::span<const LabelledGroup> groups, std::size_t group_count) {
  const StandIns& stand_ins = ranks.stand_ins;
  const auto number_of = [&](int worker) {
    return stand_ins.number_of[static_cast<std::size_t>(worker)];
  };
  struct Sitting {
    uint32_t group = 0;  // place among `groups`
    int member = 0;
  };
  std::map<std::pair<uint64_t, uint32_t>, Sitting> sittings;  // by label and stand-in
  for (uint32_t g = 0; g < groups.size(); ++g)
    for (std::size_t member = 0; member < groups[g].members->size(); ++member) {
      const int worker = (*groups[g].members)[member];
      const uint32_t number = number_of(worker);
      if (stand_ins.workers[number] == worker)
        sittings[{groups[g].label, number}] = {g, static_cast<int>(member)};
    }
  Circles circles(groups.size());
  for (uint32_t g = 0; g < groups.size(); ++g)
    for (const int worker : *groups[g].members)
      circles.join(g, sittings.at({groups[g].label, number_of(worker)}).group);
  std::vector<uint32_t> sizes;
  const std::vector<uint32_t> numbers = circles.numbered(sizes);
  ranks.classes.resize(sizes.size());
  ranks.groups.assign(sizes.size(), 0);
  ranks.class_of_group.assign(group_count, 0);
  for (uint32_t g = 0; g < groups.size(); ++g) ranks.class_of_group[groups[g].number] = numbers[g];
  for (Seats& seats : ranks.classes) {
    seats.stand_ins = &stand_ins.number_of;
    seats.seat_of.assign(stand_ins.workers.size(), UINT32_MAX);
  }
  for (const auto& [place, sitting] : sittings) {
    const uint32_t number = numbers[sitting.group];
    const std::vector<int>& members = *groups[sitting.group].members;
    Seats& seats = ranks.classes[number];
    seats.seat_of[place.second] = static_cast<uint32_t>(seats.seats.size());
    seats.seats.push_back({&members, sitting.member});
    ranks.groups[number] +=
        static_cast<double>(stand_ins.sizes[place.second]) / static_cast<double>(members.size());
  }
}

std::optional<StandIns> find_one_for_all(std::span<const PlayedProgram> programs,
                                         const std::vector<uint64_t>& first,
                                         const Resources* resources) {
  if (resources != nullptr && resources->are_routes()) return std::nullopt;
  const bool are_alike =
      std::all_of(first.begin(), first.end(), [&](uint64_t one) { return one == first.front(); }) &&
      std::all_of(programs.begin(), programs.end(), [](const PlayedProgram& one) {
        const int node = one.network->inner_links().node;  // which has ports of its own
        const bool has_inner = node > 1 && node < one.network->workers();
        return one.network->is_uniform() && !has_inner && goes_in_step(*one.program, *one.network);
      });
  if (!are_alike) return std::nullopt;
  return one_for_all(first.size(), resources != nullptr);
}

std::optional<StandIns> find_stand_ins(std::span<const PlayedProgram> programs,
                                       std::vector<uint64_t> first, Resources* resources,
                                       AlphaRule alpha) {
  if (auto one = find_one_for_all(programs, first, resources)) return one;
  std::vector<const Network*> networks;
  std::map<uint64_t, const PlayedProgram*> by_structure;
  for (const PlayedProgram& one : programs) {
    auto network = std::find(networks.begin(), networks.end(), one.network);
    if (network == networks.end()) network = networks.insert(network, one.network);
    const uint64_t structure = structure_of(*one.program, *one.network);
    const PlayedProgram*& known = by_structure[mixed_all(structure, network - networks.begin())];
    if (known == nullptr || bytes_of(*known->program) < bytes_of(*one.program)) known = &one;
  }
  Alikeness alikeness(std::move(first), resources, alpha);
  for (const auto& [structure, one] : by_structure)
    if (!alikeness.add(structure, *one->program, *one->network, nullptr)) return std::nullopt;
  return alikeness.find();
}

}  // namespace sgdsim
