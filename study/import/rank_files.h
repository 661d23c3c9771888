// Folders into which every rank of a job has written a file.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sgdsim {

// The regular files of a folder for which `fits` holds, by name.
std::vector<std::string> files_that(const std::string& folder,
                                    const std::function<bool(const std::string& file)>& fits);

// The format of measurements, one file a rank, of which files in a folder are; empty: none are.
std::string_view rank_format_in(const std::string& folder);

// The files as they are, and in place of a folder those in it that begin as files of the format do
// (empty: as those of rank_format_in). InputError if a folder has none. Formats of single files
// take no folders: a folder stays, for who opens it to refuse.
std::vector<std::string> files_of_ranks(const std::vector<std::string>& files,
                                        std::string_view format);

}  // namespace sgdsim
