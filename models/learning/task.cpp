// Finding a task by its name.
#include "models/learning/task.h"

#include "models/learning/registry.h"

namespace sgdsim::learning {

Field data_seed_field(uint64_t& seed) {
  return Field("data_seed", seed, "seed of the samples").from(0, int64_t{1} << 53);
}

Fields fields_of(DataSize& size) {
  return {
      Field("training_samples", size.training, "samples to learn from").from(1, size.most_training),
      Field("held_out_samples", size.held_out, "samples to measure with").from(1, 1'000'000),
      data_seed_field(size.seed)};
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
  return read_part(value, tasks(), "task", [](const TaskKind& kind, Object& fields) {
    Task task = kind.read(fields);
    task.name = kind.name;
    return task;
  });
}

Json schema_of_tasks() { return schema_of_parts(texts_of(tasks())); }

}  // namespace sgdsim::learning
