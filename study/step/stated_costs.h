// What was changed about the cluster of an experiment, and whether its exchanges notice.
//
// Where `collective` states what an exchange costs, that holds whatever the cluster is: with other
// links or more nodes it stays the same, and a time that does not change would pass for an answer.
// Who sets `collective` together with the cluster states what it costs there.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/strategy/cost.h"
#include "sim/core/error.h"
#include "sim/core/json.h"

namespace sgdsim {

inline constexpr char costs_are_stated[] =
    "`collective` says itself what an exchange costs, whatever the cluster is; change "
    "collective.per_byte, or --set collective=ring";

// A change of the cluster that no exchange notices.
class StatedCosts : public InputError {
 public:
  // `field`: as in cluster.nodes. `more`: what else to say, behind the sentence.
  StatedCosts(const std::string& where, std::string field, const std::string& more = "")
      : InputError(where, costs_are_stated + more),
        field_(std::move(field)),
        sentence_(costs_are_stated + more) {}
  const std::string& field() const { return field_; }
  const std::string& sentence() const { return sentence_; }

 private:
  std::string field_;
  std::string sentence_;
};

class ClusterChanges {
 public:
  // Fields, or settings of them, that are set together on top of `experiment`.
  void set(const Json& experiment, const std::vector<std::string>& settings);
  // All of the cluster is another one than that of `experiment`.
  void replace(const Json& experiment);
  bool any() const { return is_replaced_ || !settings_.empty(); }
  // Throws StatedCosts for a field that the cost does not notice. Of another cluster it may be
  // meant: what there is to know then; empty if there is nothing.
  std::string check(const MessageCost& cost) const;

 private:
  std::vector<std::string> settings_;
  bool is_replaced_ = false;
};

}  // namespace sgdsim
