// Columns of an answer as a stream that Arrow's readers take.
#pragma once

#include <memory>

#include "library/arrow.h"
#include "study/typed_columns.h"

namespace sgdsim {

// One piece with all rows. Nothing is copied: what is read from the stream keeps the columns alive.
void export_columns(std::shared_ptr<const TypedColumns> columns, ArrowArrayStream& stream);

}  // namespace sgdsim
