// Moments as logs write them: "2023-03-01 00:18:22+08:00", "2023-03-01T00:18:22Z", "2023-03-01",
// or seconds since any moment.
#pragma once

#include <string>
#include <string_view>

namespace sgdsim {

struct TimeStamp {
  enum class Kind : unsigned char { seconds, local, zoned };
  double s = 0;  // since 1970 in its zone, or as it stands
  Kind kind = Kind::seconds;
};

// All of one log must be of one kind, or they could not be compared.
class TimeStamps {
 public:
  explicit TimeStamps(std::string file) : file_(std::move(file)) {}
  double read(std::string_view text, const std::string& where);

 private:
  std::string file_;
  bool has_first_ = false;
  std::string first_where_;
  TimeStamp::Kind first_ = TimeStamp::Kind::seconds;
};

// InputError if it is no moment from 1900 to 9999.
TimeStamp time_stamp(std::string_view text, const std::string& where);

}  // namespace sgdsim
