// Packets that a lesson loses: those parts that the simulator lost, or those that a method states.
//
// "late weights: lost.pull=0.3, of=largest". A lost gradient counts as zero, and a worker keeps its
// old weights where new ones did not come. Which packets of so many: drawn at random.
#pragma once

#include "study/learn/learn_question.h"

namespace sgdsim {

// Lessons know of losses where gradients are summed; what leaks is no sum of what was sent.
bool sums_can_lose(const LearnMethod& method);
// What was simulated; where lessons know of no losses, that is noted.
void take_losses(const StepResult& result, bool is_learned, LearnMethod& method);
// The fields of `lost`.
void state_losses(const Json& lost, LearnMethod& method);
// When the rules of the method are known: InputError where it cannot lose what it states.
void check_losses(LearnMethod& method, bool is_asynchronous);

// What is told of them.
struct ToldLosses {
  learning::PacketLosses losses = {};
};
Fields fields_of(const ToldLosses& told);
std::optional<ToldLosses> told_losses(const learning::PacketLosses& losses);  // none: nothing

namespace learning {
Fields fields_of(const PlaceLoss& place);
}

}  // namespace sgdsim
