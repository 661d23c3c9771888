// Rows of cases of kind "schedule": what ranks did, message by message, on a cluster, by a
// transport of packets; and when operations of it ended.
#pragma once

#include <vector>

#include "study/validate/case_file.h"

namespace sgdsim {

// Takes the fields of this kind; `read_outcome` reads label, time and use of a row.
std::vector<CaseRow> read_schedule_rows(Object& fields,
                                        void (*read_outcome)(Object& fields, CaseRow& row));

}  // namespace sgdsim
