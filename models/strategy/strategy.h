// How gradients are exchanged: which layers share a message, in which order messages go, and what
// the next iteration waits for.
//
// A strategy is one file and one line in registry.h. It describes its own fields and gives a
// planner; a planner is asked once, or before every iteration if what it does depends on when
// gradients are ready (Horovod's fusion).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/strategy/cost.h"
#include "sim/core/part.h"
#include "sim/work/trace.h"

namespace sgdsim {

// Gradients of layers first_layer .. last_layer (or a part of one layer's) in one collective.
struct PlannedMessage {
  int first_layer = 0;
  int last_layer = 0;
  Bytes size;
  Duration not_before;  // since the start of the iteration
  int priority = 0;     // lower first, where the plan goes by priority
  int first_piece = 0;  // where a layer is cut into pieces: which of them it begins with
  Bytes piece = {};     // their size; 0: it is not cut

  Group group() const { return {size, first_layer, last_layer, first_piece, piece}; }
};

enum class Order : uint8_t {
  first_ready,  // in the order of the plan, each as soon as it and the one before it can
  priority      // whenever the channel is free, the most urgent message that is ready
};

enum class Gate : uint8_t {
  all,       // the next forward waits for all messages and the update
  per_layer  // the forward of a layer waits for that layer's messages only
};

// Broadcasts of parameters before the forward of each layer, then reductions: BSP-SGD with a root.
enum class BspForm : uint8_t { none, serial, lockstep, fifo };
inline constexpr Named<BspForm, 3> bsp_forms{
    {{"serial", BspForm::serial}, {"lockstep", BspForm::lockstep}, {"fifo", BspForm::fifo}}};
inline const auto& names_of(BspForm) { return bsp_forms; }

struct GradientPlan {
  std::vector<PlannedMessage> messages;  // in backward order
  Order order = Order::first_ready;
  Gate gate = Gate::all;
  bool after_backward = false;  // nothing starts before the whole backward has ended
  Bytes credit;                 // priority: one more is sent while fewer bytes are on their way
  BspForm bsp = BspForm::none;
  bool bsp_broadcasts = false;  // parameters are broadcast layer by layer before forward
  Duration wakes;               // Horovod's thread, after this plan; of an iteration's start
  bool bsp_drains = true;       // a collective starts when the one before has ended everywhere
};

struct PlanInput {
  const Trace& trace;
  const MessageCost& cost;
  const std::vector<Duration>& ready;  // per layer, since the start of the iteration
  Duration wakes = {};                 // what the plan before left, of this iteration's start
};

using Planner = std::function<GradientPlan(const PlanInput&)>;

struct Strategy {
  std::string name;
  Planner plan;
  // Before every iteration: then messages go in order, and the next forward waits for all of them.
  bool replans = false;
  bool sends_all_at_once = false;  // in one message, behind the whole backward pass
  bool takes_turns = false;        // its own rule says how many messages are in flight
  std::string about = {};          // its sizes in words, where a default has to be told
};

struct StrategyKind {
  std::string_view name;
  std::string_view summary;
  PartOptions (*options)();
  Strategy (*read)(Object& fields);  // takes its fields from the object
  bool is_bound = false;             // no program does it: it says what others can gain at most
};

// What a training is taken to use if nothing else is said.
inline constexpr char usual_strategy[] = "ddp";

// "mg_wfbp", or {"name": "ddp", "bucket": "25 MiB", ...}.
Strategy read_strategy(const Value& value);
Json schema_of_strategies();
// By name with all defaults.
Strategy strategy_named(const std::string& name, const std::string& where);

// Whether this strategy is a bound; false for a name of no strategy.
bool is_bound(std::string_view strategy);

// The layers whose gradients weigh something, in backward order. The others send nothing, and no
// message waits for them.
std::vector<int> layers_with_gradients(const Trace& trace);

// One message of consecutive layers, whose sizes add up.
PlannedMessage message_of(const Trace& trace, int first_layer, int last_layer);
// One message per layer; all layers in one message.
std::vector<PlannedMessage> layer_by_layer(const Trace& trace);
std::vector<PlannedMessage> all_in_one(const Trace& trace);

// The end of the last message if the plan is played in order over one channel, from `ready`.
Duration end_in_order(const std::vector<PlannedMessage>& messages, const MessageCost& cost,
                      const std::vector<Duration>& ready);

}  // namespace sgdsim
