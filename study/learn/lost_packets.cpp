// Losses as simulated, and as stated.
#include "study/learn/lost_packets.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/fields.h"
#include "sim/core/refusal.h"
#include "study/table.h"

namespace sgdsim {
namespace {

enum class Endangered : uint8_t { all, first, middle, last, smallest, largest };
constexpr Named<Endangered, 6> endangered_names{{{"all", Endangered::all},
                                                 {"first", Endangered::first},
                                                 {"middle", Endangered::middle},
                                                 {"last", Endangered::last},
                                                 {"smallest", Endangered::smallest},
                                                 {"largest", Endangered::largest}}};
const auto& names_of(Endangered) { return endangered_names; }
enum class Divisor : uint8_t { workers, received };
constexpr Named<Divisor, 2> divisor_names{
    {{"workers", Divisor::workers}, {"received", Divisor::received}}};
const auto& names_of(Divisor) { return divisor_names; }

struct LostPackets {
  double push = 0;
  double pull = 0;
  Endangered of = Endangered::all;
  std::optional<double> fraction;
  int64_t packet = learning::PacketLosses().packet;
  Divisor divide_by = Divisor::workers;
};

Fields fields_of(LostPackets& o) {
  return {Field("push", o.push, "part of the packets of gradients that is lost").from(0, 1),
          Field("pull", o.pull,
                "part of the packets of weights that is lost: a worker keeps its old "
                "ones")
              .from(0, 1),
          Field("of", o.of, "which packets may be lost, by place or by mean magnitude"),
          Field("fraction", o.fraction, "of the weights that are in such packets (default: 0.2)")
              .from(1e-9, 1),
          Field("packet", o.packet, "elements of a packet").from(1, 1'000'000'000),
          Field("divide_by", o.divide_by, "what the sum of gradients is divided by")};
}

// The parts that were lost by place: messages from the front of the model on, and of the bytes of
// all as much as each carries. Empty where all have lost the same part.
std::vector<learning::PlaceLoss> losses_by_place(const PacketReport& report, Cargo cargo) {
  std::vector<learning::PlaceLoss> places;
  const Delivery all = report.of(cargo);
  const double all_B = all.size_B[0] + all.size_B[1];
  double passed_B = 0;
  bool differs = false;
  for (const auto& [freight, delivery] : report.delivery) {
    const double size_B = delivery.size_B[0] + delivery.size_B[1];
    if (freight.cargo != cargo || size_B <= 0) continue;
    passed_B += size_B;
    places.push_back({passed_B / all_B, std::max(0., 1 - delivery.part())});
    differs = differs || places.back().part != places.front().part;
  }
  if (!differs) places.clear();
  return places;
}

}  // namespace

bool sums_can_lose(const LearnMethod& method) {
  return !averages(method.log, method.optimizer) && !method.compressing.leaks;
}

void take_losses(const StepResult& result, bool is_learned, LearnMethod& method) {
  if (!result.packets || method.losses_are_stated) return;
  const double push = 1 - result.packets->of(Cargo::gradients).part();
  const double pull = 1 - result.packets->of(Cargo::parameters).part();
  if (push <= 0 && pull <= 0) return;
  if (is_learned) {
    method.losses.push = std::max(0., push);
    method.losses.pull = std::max(0., pull);
    method.losses.push_by_place = losses_by_place(*result.packets, Cargo::gradients);
    method.losses.pull_by_place = losses_by_place(*result.packets, Cargo::parameters);
  }
  const std::string parts = rounded(100 * push, 3) + " % of the gradients and " +
                            rounded(100 * pull, 3) + " % of the weights did not come";
  method.notes.push_back("lost packets, as simulated: " + parts +
                         (is_learned
                              ? "; at the same place of the task as many as in the model, and "
                                "which ones of those, is drawn at random"
                              : ", which the lesson does not know: it learns as if all had "
                                "come"));
}

void state_losses(const Json& lost, LearnMethod& method) {
  const Value value(lost, "--also " + method.label, "/lost");
  const auto stated = read_record<LostPackets>(value);
  if (stated.fraction && stated.of == Endangered::all)
    value.child("fraction").fail("is of some packets: say which, as in of=largest");
  learning::PacketLosses& losses = method.losses;
  losses.push = stated.push;
  losses.pull = stated.pull;
  losses.of = static_cast<learning::PacketLosses::Of>(stated.of);
  losses.fraction = stated.fraction.value_or(losses.fraction);
  losses.packet = stated.packet;
  losses.divides_by_received = stated.divide_by == Divisor::received;
  method.losses_are_stated = true;
}

void check_losses(LearnMethod& method, bool is_asynchronous) {
  if (!method.losses_are_stated) return;
  if (is_asynchronous || !sums_can_lose(method))
    throw not_together(
        "--also", "\"" + method.label +
                      "\" states lost packets, which are learned where gradients are summed: not "
                      "with async_ps, ssp, local_sgd of several steps, or put_back=absence");
  const bool is_of_all = method.losses.of == learning::PacketLosses::Of::all;
  const double part = is_of_all ? 1 : method.losses.fraction;
  method.quality.delivered = 1 - method.losses.push * part;
  method.notes.emplace_back("lost packets as stated; its times are those without losses");
}

std::optional<ToldLosses> told_losses(const learning::PacketLosses& losses) {
  if (!losses.any()) return {};
  return ToldLosses{losses};
}

Fields fields_of(const ToldLosses& o) {
  const learning::PacketLosses& losses = o.losses;
  std::optional<Endangered> of;
  std::optional<double> fraction;
  if (losses.of != learning::PacketLosses::Of::all) {
    of = static_cast<Endangered>(losses.of);
    fraction = losses.fraction;
  }
  return {
      Field("push", losses.push, "of gradients").from(0, 1),
      Field("pull", losses.pull, "of weights").from(0, 1),
      Field("push_by_place", losses.push_by_place,
            "of gradients by place, where that differs: messages from the front of the model "
            "on")
          .if_any(),
      Field("pull_by_place", losses.pull_by_place, "of weights, likewise").if_any(),
      {"of", std::move(of), "which packets may be lost, if not all"},
      Field("fraction", std::move(fraction), "of the weights that are in such packets").from(0, 1)};
}

namespace learning {
Fields fields_of(const PlaceLoss& o) {
  return {Field("until", o.until, "the part of the weights, from the front on, at which it ends")
              .at_least(0),
          Field("part", o.part, "of its packets that are lost").from(0, 1)};
}
}  // namespace learning

}  // namespace sgdsim
