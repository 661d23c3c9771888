// The answer of a question about a whole training, sgdsim/goodput/1: each field once, for the
// answer and for its schema.
#pragma once

#include "sim/core/fields.h"
#include "study/goodput/goodput_answer.h"

namespace sgdsim {

Fields fields_of(const GoodputQuestion& question);
Fields fields_of(const GoodputQuestion& question, const GoodputAnswer& answer);
Json schema_of_goodputs();

}  // namespace sgdsim
