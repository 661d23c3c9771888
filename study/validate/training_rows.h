// Rows of cases of kind "training": a model, a GPU, a cluster, and the layouts that were measured.
#pragma once

#include <vector>

#include "study/validate/case_file.h"

namespace sgdsim {

// Takes the fields of this kind; `read_outcome` reads label, time and use of a row.
std::vector<CaseRow> read_training_rows(Object& fields,
                                        void (*read_outcome)(Object& fields, CaseRow& row));

}  // namespace sgdsim
