// Traffic that no training step explains: who sends how much to whom, and when.
//
// A generator is one file and one line in registry.h. It describes its fields and adds flows;
// random ones are drawn from the generator that it is given, so that the same file gives the same
// flows on every machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/core/part.h"
#include "sim/core/random.h"
#include "sim/net/network.h"
#include "sim/work/plain_flow.h"

namespace sgdsim {

// What a generator knows of where its flows go.
struct TrafficScene {
  const Network* network = nullptr;
  Random random = Random(1);  // of this generator
};

struct TrafficGenerator {
  std::string_view name;
  std::string_view summary;
  PartOptions (*options)();
  // Takes its fields from the object, and adds flows in any order.
  void (*add)(Object& fields, const TrafficScene& scene, std::vector<PlainFlow>& flows);
};

// The field `flows`: one generator or a list of them. In the order of their starts; flows that
// start together keep the order of the file. `seed`: of generators that have none of their own, or
// of all, where somebody asked for it.
enum class OwnSeeds : uint8_t { hold, give_way };
std::vector<PlainFlow> read_flows(const Value& value, const Network& network, uint64_t seed,
                                  OwnSeeds own_seeds = OwnSeeds::hold);

// InputError if so many more are too many.
void check_room(const Value& value, const std::vector<PlainFlow>& flows, double more);

// The workers that a field names, "0-3,7"; all if there is no such field.
std::vector<int> read_ranks(Object& fields, const std::string& name, const Network& network);
Field start_field(Duration& start);
Field among_field(std::string& among);
// Of one generator, or of a list of them.
Json schema_of_flows();

}  // namespace sgdsim
