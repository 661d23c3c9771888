// A deadline as answers say it, those of layouts, too.
#include "sim/core/fields.h"
#include "study/goodput/goodput_answer.h"
#include "study/goodput/spans.h"

namespace sgdsim {
namespace {

enum class CountedBy : uint8_t { counting, strata };
const auto& names_of(CountedBy) {
  static constexpr Named<CountedBy, 2> names{
      {{"counting", CountedBy::counting}, {"strata", CountedBy::strata}}};
  return names;
}

}  // namespace

Fields fields_of(const DeadlineAnswer& o) {
  return {{"days", o.until_s / seconds_of_day, "from the start"},
          {"done", 1 - o.late, "the chance to be done by then"},
          {"late", o.late, "the chance not to be"},
          {"late_standard_error", o.standard_error, "of that chance"},
          {"late_at_most", o.at_most,
           "where none of the runs that were counted is late: with 95 % the chance is no more"},
          {"by", o.by_strata ? CountedBy::strata : CountedBy::counting,
           "counting: of runs; strata: runs for each number of failures, with the exact weight of "
           "that number"}};
}

}  // namespace sgdsim
