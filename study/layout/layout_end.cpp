// What the question leaves to the layout becomes settings of the question.
#include "study/layout/layout_end.h"

#include <algorithm>

#include "models/training/memory.h"
#include "sim/core/stopper.h"

namespace sgdsim {
namespace {

// A single replica cannot go on without itself.
void add_replicas(int64_t replicas, std::vector<std::string>& settings) {
  if (replicas >= 2) {
    settings.push_back("shrink.replicas=" + std::to_string(replicas));
  } else {
    settings.emplace_back("policy=restart");
    settings.emplace_back("shrink=null");
  }
}

std::string whole_bytes(const char* field, double bytes) {
  return std::string(field) + "=" + std::to_string(static_cast<int64_t>(bytes)) + " B";
}

// All GPUs wait for the one that saves most, and only where the fullest one has room for as much
// can all keep copies.
void add_copies(const LayoutQuestion& question, const FoundLayout& found,
                std::vector<std::string>& settings) {
  double saved = 0;
  for (int64_t stage = 0; stage < found.layout.pipeline; ++stage)
    saved = std::max(saved, saved_B(question.model, found.layout, stage));
  settings.push_back(whole_bytes("save.copy.bytes", saved));
  if (!question.training->keeps_copies_on_gpus()) return;
  const double room = static_cast<double>((question.space.memory - question.space.reserve).count());
  settings.push_back(whole_bytes("save.copy.free", std::max(0., room - found.memory_B)));
}

}  // namespace

bool have_own_ends(const LayoutQuestion& question) {
  return question.training &&
         (question.training->needs_replicas() || question.training->needs_bytes());
}

TrainingEnd end_of(const LayoutQuestion& question, const FoundLayout& found) {
  std::vector<std::string> settings;
  if (question.training->needs_replicas())
    add_replicas(found.layout.replicas * question.sites(), settings);
  if (question.training->needs_bytes()) add_copies(question, found, settings);
  return question.training->end(found.time, settings, [&question] { look(question.play.stopper); });
}

std::string order_of_ends(const LayoutQuestion& question, int64_t compared) {
  if (!have_own_ends(question)) return "";
  std::string why = "the soonest end comes first, of the " + std::to_string(compared) +
                    " layouts that were compared: ";
  if (question.training->needs_replicas())
    why += "replicas that fail are left out, which costs layouts with few of them more";
  if (!question.training->needs_bytes()) return why;
  if (question.training->needs_replicas()) why += "; ";
  why += question.training->keeps_copies_on_gpus()
             ? "a layout whose GPUs have room for a copy of what they save stands for less long"
             : "layouts save for as long as their fullest stage takes";
  return why;
}

}  // namespace sgdsim
