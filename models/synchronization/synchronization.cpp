// Reading by name.
#include "models/synchronization/synchronization.h"

#include "models/synchronization/registry.h"
#include "sim/core/error.h"

namespace sgdsim {

Synchronization read_synchronization(const Value& value) {
  const Json named = {{"name", value.json()}};
  Object fields(value.json().is_string() ? Value(named, value.file(), value.path()) : value);
  const Value name = fields.at("name");
  std::vector<std::string> known;
  for (const SynchronizationKind& kind : synchronizations()) {
    known.emplace_back(kind.name);
    if (kind.name != name.text()) continue;
    Synchronization synchronization = kind.read(fields);
    synchronization.name = kind.name;
    fields.done();
    return synchronization;
  }
  throw InputError(name.where(), unknown_name("synchronization", name.text(), known));
}

}  // namespace sgdsim
