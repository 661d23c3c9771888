// Telling exceptions apart by their types.
#include "study/failure.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "sim/core/json.h"
#include "sim/net/stuck.h"

namespace sgdsim {
namespace {

constexpr char ours[] = ", which is a mistake of sgdsim; please report this command and its files";

std::string about_files(const std::filesystem::filesystem_error& error) {
  return (error.path1().empty() ? "" : error.path1().string() + ": ") + error.code().message();
}

}  // namespace

std::string failure_text(const std::exception& error) {
  if (const auto* files = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return about_files(*files);
  if (const auto* system = dynamic_cast<const std::system_error*>(&error))
    return "the system refused: " + system->code().message();
  if (dynamic_cast<const Json::exception*>(&error) != nullptr)
    return std::string("a value of the input is of another kind than was checked") + ours;
  if (dynamic_cast<const std::logic_error*>(&error) != nullptr ||
      dynamic_cast<const std::bad_cast*>(&error) != nullptr)
    return std::string("an index or a size is out of range") + ours;
  return error.what();
}

std::string stuck_text(const NetworkStuck& stuck) {
  std::vector<Stranding> reasons;
  for (const Stranded& one : stuck.stranded) reasons.push_back(one.why);
  std::string text = "the network is stuck" + stuck.when + ": " +
                     (stuck.circle.empty() ? "" : printable(stuck.circle) + "; ") +
                     summary_of(reasons, "message");
  constexpr std::size_t most_lines = 10;
  for (std::size_t i = 0; i < std::min(most_lines, stuck.stranded.size()); ++i) {
    const Stranded& one = stuck.stranded[i];
    text += "\n  from worker " + std::to_string(one.what.from) + " to worker " +
            std::to_string(one.what.to) + ": " + std::string(reason_of(reasons[i]));
  }
  if (reasons.size() > most_lines)
    text += "\n  and " + std::to_string(reasons.size() - most_lines) + " more";
  return text;
}

}  // namespace sgdsim
