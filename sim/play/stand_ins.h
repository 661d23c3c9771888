// One worker stands for all that are alike, of several kinds: an equitable partition.
//
// Workers, messages and what messages share are vertices. Two are alike if they have the same
// neighbours: a worker sends what the other sends, round by round, to a worker that is alike, over
// resources that are alike, and hears from such. Then all members of a class do the same at the
// same time, because max-min fair rates are unique and follow from counts alone. Colour refinement
// finds the coarsest such partition (Berkholz, Bonsma and Grohe, Tight lower and upper bounds for
// the complexity of canonical colour refinement, 2017). So one member of each class is played: what
// it sends to any member of a class it sends to the one that stands for it, and of a resource it
// takes what all members of its class take of one resource of that class.
//
// It does not hold where something else than counts decides: turns at a port, a buffer that
// messages enter one after the other, jitter of every message, routes by chance (which are no
// longer alike, and so no class). Who uses this asks for none of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/net/resources.h"
#include "sim/net/wires.h"
#include "sim/work/schedule.h"

namespace sgdsim {

struct StandIns {
  std::vector<uint32_t> number_of;  // of each worker, that of who stands for it
  std::vector<int> workers;         // who stands for others, by their numbers
  std::vector<uint32_t> sizes;      // how many each stands for, itself included
  // Of each resource the number of its class, and how many are in each; empty: nothing is shared.
  std::vector<uint32_t> class_of;
  std::vector<uint32_t> class_sizes;
  // All messages over a resource have one sender and one receiver. Then every rate is found as
  // where all are played, to the last bit; else sums are rounded in another order, which in some
  // plays moves the last picosecond.
  bool is_exact = true;

  uint32_t size_of(int worker) const { return sizes[number_of[static_cast<std::size_t>(worker)]]; }
  // What each worker has, of those who stand for others.
  template <class T>
  std::vector<T> spread(const std::vector<T>& of_stand_ins) const {
    std::vector<T> all;
    all.reserve(number_of.size());
    for (const uint32_t number : number_of) all.push_back(of_stand_ins[number]);
    return all;
  }
  // What each resource carries, of those of the classes.
  std::vector<double> spread_carried(const std::vector<double>& of_classes) const;
};

// Members of calls that are alike; some stand for all. Each sits in a call
// of its own, and all of these are played as one.
struct Seats {
  struct Seat {
    const std::vector<int>* members = nullptr;  // of its call, by their numbers on the network
    int member = 0;                             // which of them
  };
  std::vector<Seat> seats;
  const std::vector<uint32_t>* stand_ins = nullptr;  // of workers of the network, by number
  std::vector<uint32_t> seat_of;                     // of each that stands for others
  uint32_t seat(int worker) const {
    return seat_of[(*stand_ins)[static_cast<std::size_t>(worker)]];
  }
};

// Ranks of a schedule that stand for others, and the groups that they are members of.
struct AlikeRanks {
  AlikeRanks() = default;
  AlikeRanks(const AlikeRanks&) = delete;  // seats know where the stand-ins are
  AlikeRanks& operator=(const AlikeRanks&) = delete;

  StandIns stand_ins;
  std::vector<uint32_t> class_of_group;  // of the schedule
  std::vector<Seats> classes;            // of groups that are played as one
  std::vector<double> groups;            // that each stands for
};
struct LabelledGroup {
  uint64_t label = 0;  // a rank is in at most one group of a label
  uint32_t number = 0;
  const std::vector<int>* members = nullptr;
};
// The groups of all ranks that stand for others. `members` must stay.
void take_seats(AlikeRanks& ranks, std::span<const LabelledGroup> groups, std::size_t group_count);

// Finds classes from what may ever be sent. Everything that is added has a label: messages of one
// label are sent together, by each worker at most one, and each worker gets at most one.
class Alikeness {
 public:
  // `first`: workers that differ in it are not alike. `resources`: what messages share; null:
  // nothing.
  Alikeness(std::vector<uint64_t> first, Resources* resources, AlphaRule alpha);

  // How many messages of a program among so many workers are looked at.
  static std::size_t messages_of(const Program& program, int workers);
  // So many will be added; false if that is too much to look at.
  bool expect(std::size_t messages);
  // The rounds of a program among `members` of the network (null: all of it). False if it has
  // stages for which nobody can stand.
  bool add(uint64_t label, const Program& program, const Network& network,
           const std::vector<int>* members, bool folds = true);
  void add(uint64_t label, const Network& network, int from, int to, double size_B);

  // No more is looked at than this.
  static constexpr std::size_t most_messages = 1 << 22;
  // Nothing if nobody or hardly anybody stands for others, or there is too much to look at.
  std::optional<StandIns> find();
  // From ways in which workers may take each other's places, each instead of the one before it in
  // its list: those that change nothing. The finest classes of these, and much less to look at,
  // because routes of stand-ins are asked for only. Then `resources` of this object must be null.
  using Places = std::vector<int>;  // of each worker, who takes its place
  std::optional<StandIns> find_by(const std::vector<std::vector<Places>>& moves, Resources& wires);

 private:
  struct Message {
    uint64_t label = 0;
    uint32_t from = 0;
    uint32_t to = 0;
  };
  // Who waits for each other.
  struct Meeting {
    uint64_t label = 0;
    std::vector<uint32_t> members;
  };
  bool add(uint64_t label, const Phase& phase, const Network& network,
           const std::vector<int>* members, bool folds);
  void add(uint64_t label, const Wires& wires, int from, int to, double size_B, bool folds,
           bool both_ways);
  void refine();
  StandIns stand_ins() const;
  void sort_by_sender();
  bool changes_nothing(const Places& places) const;
  Resources::Pairs pairs_of(const StandIns& all) const;

  std::vector<uint64_t> colours_;      // of workers
  std::vector<uint64_t> way_colours_;  // of resources
  Resources* resources_;
  AlphaRule alpha_;
  std::vector<Message> messages_;
  std::vector<ResourceUse> uses_;
  std::vector<uint32_t> uses_end_;  // of each message, where anything is shared
  std::vector<Meeting> meetings_;
  std::vector<uint32_t> first_of_;  // messages by sender: of each worker, the first
  bool is_too_much_ = false;
  std::vector<uint64_t> more_;  // of workers and resources, by the present round
  std::vector<uint64_t> more_of_ways_;
};

// What is the same of programs of which the same workers are alike: all but the number of bytes,
// where all chunks are equal.
uint64_t structure_of(const Program& program, const Network& network);
// Of programs of one structure, the one with the most bytes tells all that makes workers differ.
int64_t bytes_of(const Program& program);

// All workers of a network play programs on it, from `first` on as in Alikeness.
struct PlayedProgram {
  const Program* program = nullptr;
  const Network* network = nullptr;
};
std::optional<StandIns> find_stand_ins(std::span<const PlayedProgram> programs,
                                       std::vector<uint64_t> first, Resources* resources,
                                       AlphaRule alpha);

// One for all, if all are alike: they start together, go in step on a uniform network
// (symmetric.h), and share ports (`resources`) or nothing (null).
std::optional<StandIns> find_one_for_all(std::span<const PlayedProgram> programs,
                                         const std::vector<uint64_t>& first,
                                         const Resources* resources);

// The same from turns of their numbers alone, for collectives in which everybody sends to somebody
// as far away as everybody else does, over wires: much less to look at.
std::optional<StandIns> find_turned(std::span<const PlayedProgram> programs,
                                    const std::vector<uint64_t>& first, Resources& wires);

// Where stand-ins are used. Fitting: of collectives, where they are exact; of layouts also where
// they are not, from so many messages on, of which all take some hundredths of a second.
enum class Reduction : uint8_t { never, fitting, always };
inline constexpr double least_reduced_messages = 30'000;
inline bool is_used(Reduction reduction, const StandIns& stand_ins, double messages) {
  return reduction == Reduction::always || stand_ins.is_exact || messages >= least_reduced_messages;
}

// The resources of which one stands for all that are alike.
class AlikeResources final : public Resources {
 public:
  AlikeResources(Resources& all, const StandIns& stand_ins) : all_(all), stand_ins_(stand_ins) {}

  std::vector<double> capacities() const override;
  bool find(const Parcel& parcel, Part part, std::vector<ResourceUse>& uses) override;
  bool are_routes() const override { return all_.are_routes(); }
  ResourceName name_of(uint32_t resource) const override;
  bool open(std::span<const uint32_t>, bool) override { return false; }  // nothing changes

 private:
  Resources& all_;
  const StandIns& stand_ins_;
  std::vector<ResourceUse> found_;
};

// A number for anything, for comparing.
constexpr uint64_t mixed(uint64_t one, uint64_t other) {
  uint64_t x = one * 0x9e3779b97f4a7c15U + other + 0x632be59bd9b4e019U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}
template <class... More>
uint64_t mixed_all(uint64_t first, More... more) {
  ((first = mixed(first, static_cast<uint64_t>(more))), ...);
  return first;
}

}  // namespace sgdsim
