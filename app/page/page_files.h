// Files that a page has: those that ship, and those that were dropped on it.
#pragma once

#include <string>

#include "sim/core/json.h"

namespace sgdsim {

// {"traces": [...], "clusters": [...]}: what lies in traces/data and topologies/data, each with its
// file, name and what a list shows of it.
Json shipped_files();

// Keeps a file that was dropped under its name, and says what it is: {"kind": "trace", "file": ...,
// "name": ..., "imports": [commands that make this file of the dropped one], "text": this file
// where it was made}. Files of other programs become traces by the importers of `sgdsim import`.
// InputError if it is none of these.
Json add_file(const std::string& name, const std::string& content);

}  // namespace sgdsim
