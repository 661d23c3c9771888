// Traces and clusters that ship, as text within the page's program, which has no disk.
#pragma once

#include <span>

#include "app/layout/shipped.h"

namespace sgdsim {

std::span<const ShippedFile> shipped_traces();
std::span<const ShippedFile> shipped_clusters();

}  // namespace sgdsim
