// Finding a task by its name.
#include "models/learning/task.h"

#include "models/learning/registry.h"

namespace sgdsim::learning {

std::vector<Tensor> placed(std::vector<Tensor> tensors) {
  std::size_t offset = 0;
  for (Tensor& tensor : tensors) {
    tensor.offset = offset;
    offset += tensor.size();
  }
  return tensors;
}

Task read_task(const Value& value) {
  const Json named = {{"name", value.json()}};
  Object fields(value.json().is_string() ? Value(named, value.file(), value.path()) : value);
  const Value name_field = fields.at("name");
  const std::string name = name_field.text();
  std::vector<std::string> known;
  for (const TaskKind& kind : tasks()) {
    known.emplace_back(kind.name);
    if (kind.name != name) continue;
    Task task = kind.read(fields);
    fields.done();
    task.name = name;
    return task;
  }
  name_field.fail(unknown_name("task", name, known));
}

}  // namespace sgdsim::learning
