// Files are told apart by how they begin, whatever they are called.
#include "study/import/rank_files.h"

#include <algorithm>
#include <filesystem>

#include "sim/core/byte_source.h"
#include "sim/core/error.h"
#include "sim/core/name_order.h"
#include "study/import/profile_trace.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

constexpr std::size_t head_B = 1 << 18;

bool begins_as(const MeasurementFormat& format, const std::string& file) {
  try {
    std::string head = beginning_of(file, head_B);
    if (!is_pickle(head)) make_plain(head);
    return format.fits(head);
  } catch (const InputError&) {
    return false;
  }
}

std::vector<std::string> files_in(const std::string& folder, const MeasurementFormat& format) {
  return files_that(folder, [&](const std::string& file) { return begins_as(format, file); });
}

const MeasurementFormat* rank_format_named(std::string_view name) {
  for (const MeasurementFormat& format : measurement_formats)
    if (format.name == name && format.read_together != nullptr) return &format;
  return nullptr;
}

}  // namespace

std::vector<std::string> files_that(const std::string& folder,
                                    const std::function<bool(const std::string& file)>& fits) {
  std::vector<std::string> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (entry.is_regular_file(none) && fits(entry.path().string()))
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end(), counts_before);
  return files;
}

std::string_view rank_format_in(const std::string& folder) {
  for (const MeasurementFormat& format : measurement_formats)
    if (format.read_together != nullptr && !files_in(folder, format).empty()) return format.name;
  return {};
}

std::vector<std::string> files_of_ranks(const std::vector<std::string>& files,
                                        std::string_view format) {
  std::vector<std::string> all;
  for (const std::string& file : files) {
    const MeasurementFormat* one = nullptr;
    if (is_folder(file)) one = rank_format_named(format.empty() ? rank_format_in(file) : format);
    if (one == nullptr) {
      all.push_back(file);
      continue;
    }
    const std::vector<std::string> found = files_in(file, *one);
    if (found.empty())
      throw InputError(file, "holds no file of " + std::string(format) + ", one a rank");
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

}  // namespace sgdsim
