// The traces and clusters that ship, carried inside the program, so that a name is enough. The
// build writes the tables; names are file names without ".json", in alphabetical order.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "sim/core/json.h"
#include "study/layout/shipped.h"

namespace sgdsim {

std::span<const ShippedFile> shipped_traces();
std::span<const ShippedFile> shipped_clusters();

// What ships under this name; nothing if it is none, as a path of a file is.
std::optional<Document> shipped_trace(const std::string& name);
std::optional<Document> shipped_cluster(const std::string& name);

// The trace or cluster of this name, or that of a file. A word that is neither is refused with the
// nearest name.
Document trace_document(const std::string& name_or_file);
Document cluster_document(const std::string& name_or_file);
// The same where it stands in the file `from`, whose folder paths count from; `place`: the name, or
// the file as it is found from here.
Document cluster_document_in(const std::string& from, const std::string& name_or_file,
                             std::string& place);
// A sentence about a word that is neither the name of a trace nor a file; "" if it may be a path.
std::string unknown_trace(const std::string& word);

}  // namespace sgdsim
