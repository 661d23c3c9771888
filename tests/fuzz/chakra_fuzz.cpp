// Whatever bytes come, the readers of Chakra traces answer with nodes or an InputError; nodes that
// were read are written so that they read back; and as the traces of three ranks they are played to
// their end, until they are stuck, or until a limit.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/core/error.h"
#include "sim/play/replay.h"
#include "study/replay/chakra_schedule.h"
#include "traces/chakra.h"

namespace sgdsim {
namespace {

std::vector<ChakraNode> read(const std::string& text) {
  std::vector<ChakraNode> nodes;
  parse_chakra(text, "fuzz.et", [&](ChakraNode& node) { nodes.push_back(node); });
  return nodes;
}

// Rank 2 has only a part of the nodes.
void play_nodes(const std::vector<ChakraNode>& nodes) {
  const Network network = Network::uniform(
      3, {.latency = Duration::ns(50), .per_byte = PerByte::ps(900), .reduce = PerByte::ps(7)});
  ChakraQuestion question;
  question.files = {"fuzz.0.et", "fuzz.1.et", "fuzz.2.et"};
  question.network = &network;
  question.pays_folds = true;
  question.operations_per_s = 1e12;
  question.groups = {{"0", {0, 1}}, {"1", {2, 0, 1}}};
  question.has_groups = nodes.size() % 2 == 0;
  question.read = [&](uint32_t rank, const ChakraVisitor& visit) {
    const bool is_part = rank == 2 && nodes.size() % 3 == 0;
    for (std::size_t i = 0; i < nodes.size() / (is_part ? 2 : 1); ++i) {
      ChakraNode node = nodes[i];
      visit(node);
    }
  };
  const ChakraSchedule schedule(question);
  schedule.notes();
  if (!schedule.problems().empty()) return;
  assert(schedule.schedule().find_circle().empty());
  Replay replay;
  replay.schedule = &schedule.schedule();
  replay.network = &network;
  replay.limits.events = 100'000;
  const Replayed played = play(replay);
  for (const uint32_t place : played.waiting) schedule.text_of(place);
  for (const uint32_t place : played.not_received) schedule.text_of(place);
}

}  // namespace
}  // namespace sgdsim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace sgdsim;
  try {
    const std::vector<ChakraNode> nodes =
        read(std::string(reinterpret_cast<const char*>(bytes), size));
    std::string text;
    write_chakra_head(text, "0.0.4");
    for (const ChakraNode& node : nodes) write_chakra_node(text, node);
    assert(read(text) == nodes);
    play_nodes(nodes);
  } catch (const InputError&) {
    return 0;
  }
  return 0;
}
