// Where the files of this repository are, for tests that read them.
#pragma once

#include <filesystem>
#include <string>

namespace sgdsim {

inline const std::filesystem::path repository = SGDSIM_SOURCE_DIR;

inline std::string in_repository(const std::string& name) { return (repository / name).string(); }

}  // namespace sgdsim
