// Puts a record of failures together, whatever log it comes from.
#pragma once

#include <limits>
#include <map>
#include <string>

#include "sim/work/failure_record.h"

namespace sgdsim {

// InputError if it cannot be written as text.
void check_name(const std::string& name, const std::string& where);

class RecordWriter {
 public:
  explicit RecordWriter(FailureRecord& record) : record_(record) {}

  // InputError beyond as many causes as a file of failures may have.
  int32_t cause(const std::string& name, const std::string& where);
  FailureRecord::Unit& unit(const std::string& name);
  // A failure at a moment; the record begins with the first.
  void fail(double at_s, int32_t cause) { record_.failures.push_back({at_s, cause}); }
  // What was left out, if there is any: "3 rows without a time".
  void note_left_out(int64_t count, const std::string& what);
  // A spell of so many units, which ended by this cause (-1: none).
  void run(double from_s, double to_s, double units, int32_t cause);
  // Of which the log is.
  void see(double from_s, double to_s);
  // Times count from the start of the log then.
  void finish();

 private:
  FailureRecord& record_;
  double since_s_ = std::numeric_limits<double>::infinity();
  double until_s_ = -std::numeric_limits<double>::infinity();
  std::map<std::string, int32_t> causes_;
  std::map<std::string, std::size_t> units_;
};

}  // namespace sgdsim
