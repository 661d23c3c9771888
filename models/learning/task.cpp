// Finding a task by its name.
#include "models/learning/task.h"

#include "models/learning/registry.h"

namespace sgdsim::learning {

uint64_t read_data_seed(Object& fields) {
  const auto field = fields.find("data_seed");
  return field ? static_cast<uint64_t>(field->whole(0, int64_t{1} << 53)) : 1;
}

DataSize read_data_size(Object& fields, DataSize usual, int64_t most_training) {
  if (const auto field = fields.find("training_samples"))
    usual.training = static_cast<std::size_t>(field->whole(1, most_training));
  if (const auto field = fields.find("held_out_samples"))
    usual.held_out = static_cast<std::size_t>(field->whole(1, 1'000'000));
  usual.seed = read_data_seed(fields);
  return usual;
}

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
