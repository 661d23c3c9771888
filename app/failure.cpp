// Telling exceptions apart by their types.
#include "app/failure.h"

#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "sim/core/json.h"

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

}  // namespace sgdsim
