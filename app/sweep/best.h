// The best point of every group of points that differ in chosen axes only: the best strategy for
// each number of nodes and each bandwidth.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "app/sweep/sweep_file.h"
#include "app/sweep/sweep_run.h"

namespace sgdsim {

// The value of an axis in a word or two: of an object its name, then its other fields.
std::string value_label(const Json& value);

class Best {
 public:
  // `over`: the axes to choose from; strategy if none is given.
  Best(const Sweep& sweep, std::string objective, std::vector<std::string> over);
  void add(DonePoint&& point);
  // How many groups have several winners.
  int64_t groups_with_ties() const;
  const std::vector<std::string>& others() const { return others_; }  // axes not chosen from
  void print(std::ostream& out, bool as_json) const;
  Json json() const;  // sgdsim/best/1

 private:
  struct Group {
    Json fixed;   // the values of the other axes
    Json chosen;  // of the axes to choose from, at the best point; the first of equals
    double value = 0;
    std::vector<Json> tied;  // the others that are as good, some of them
    int64_t ties = 0;        // all of them
    double next = 0;         // of the best point that is no tie
    int64_t points = 0;      // that were compared
    int64_t failed = 0;
  };

  std::string objective_;
  std::vector<std::string> over_;
  std::vector<std::string> others_;
  std::vector<Group> groups_;  // in the order of their first points
  std::map<std::string, std::size_t> group_of_;
};

}  // namespace sgdsim
