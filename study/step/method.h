// A way of exchanging gradients as people name it: a label, and the fields of an experiment that it
// sets.
//
// "gTop-k: compression=gtopk, density=0.001". Strategies, compressions and synchronizations can so
// stand on one axis. What a method does not name stays as the experiment has it; but one that names
// a synchronization and no strategy is played with the strategy that this synchronization has.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/core/json.h"

namespace sgdsim {

struct Method {
  std::string label;
  std::vector<std::pair<std::string, Json>> fields;  // path and value; null removes the field
};

// What stands behind --method, or another option that takes methods. A known name may stand for its
// field (`gtopk`), and a field that is none of an experiment belongs to the part before it
// (`density`). Without "LABEL: ", the text is its own label.
Method method_in(const std::string& text, const std::string& option = "--method");
// The methods of a sweep's file: {"gTop-k": {"compression": "gtopk", "density": 0.001}, ...}.
std::vector<Method> methods_in(const Value& axis);
// InputError if two have the same label, or do the same.
void check_distinct(const std::vector<Method>& methods, const std::string& where);

// As of --set.
std::vector<std::string> settings_of(const Method& method);
// As in a sweep's file.
Json to_json(const std::vector<Method>& methods);

}  // namespace sgdsim
