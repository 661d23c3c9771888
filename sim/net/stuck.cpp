// In words.
#include "sim/net/stuck.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace sgdsim {
namespace {

struct Words {
  Stranding why;
  const char* one;   // what one of them does
  const char* many;  // and several
  const char* line;
};
constexpr std::array<Words, 4> all_words = {{
    {Stranding::no_way, "has no way", "have no way", "still waiting"},
    {Stranding::given_up, "was given up by its sender", "were given up by their senders",
     "its sender gave up, since nothing was heard for too long"},
    {Stranding::lost, "lost packets for good", "lost packets for good",
     "packets were lost, and its transport sends nothing again; --transport dctcp does"},
    {Stranding::stopped, "has not arrived", "have not arrived", "still waiting"},
}};

std::vector<Stranding> reasons_of(const std::vector<Stranded>& messages) {
  std::vector<Stranding> reasons;
  reasons.reserve(messages.size());
  for (const Stranded& one : messages) reasons.push_back(one.why);
  return reasons;
}

std::string sentence_of(const std::vector<Stranded>& messages, const std::string& circle) {
  constexpr std::size_t shown = 5;
  std::string text = "the network is stuck: " + (circle.empty() ? "" : circle + "; ") +
                     summary_of(reasons_of(messages), "message");
  for (std::size_t i = 0; i < std::min(shown, messages.size()); ++i)
    text += (i == 0 ? ": from worker " : ", from worker ") + std::to_string(messages[i].what.from) +
            " to worker " + std::to_string(messages[i].what.to);
  if (messages.size() > shown) text += ", and " + std::to_string(messages.size() - shown) + " more";
  return text;
}

std::vector<Stranded> in_order(std::vector<Stranded> messages) {
  std::stable_sort(messages.begin(), messages.end(), [](const Stranded& a, const Stranded& b) {
    return std::pair(a.what.from, a.what.to) < std::pair(b.what.from, b.what.to);
  });
  return messages;
}

}  // namespace

std::string summary_of(const std::vector<Stranding>& reasons, const std::string& noun) {
  std::string text;
  for (const Words& words : all_words) {
    const auto count = std::count(reasons.begin(), reasons.end(), words.why);
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + noun +
            (count == 1 ? " " : "s ") + (count == 1 ? words.one : words.many);
  }
  return text;
}

std::string what_one_does(Stranding why) { return all_words[static_cast<std::size_t>(why)].one; }
std::string_view reason_of(Stranding why) { return all_words[static_cast<std::size_t>(why)].line; }

NetworkStuck::NetworkStuck(std::vector<Stranded> messages, std::string circle_of_ports)
    : InputError("", sentence_of(in_order(messages), circle_of_ports)),
      stranded(in_order(std::move(messages))),
      circle(std::move(circle_of_ports)) {}

}  // namespace sgdsim
