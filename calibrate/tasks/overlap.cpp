// What products and exchanges take beside each other, of which a training step is made: each alone,
// and each while the other goes on.
//
// Rank 0 multiplies. Between ranks 0 and 1 a message goes in each direction, by copy engines or by
// the multiprocessors; or all ranks reduce together through NCCL. One of the two is timed in the
// first lane; the other, in the second, is repeated until the first has ended, so that the whole of
// what is timed is disturbed.
#include "calibrate/tasks/pattern.h"
#include "calibrate/tasks/tasks.h"

namespace sgdsim::calibrate {
namespace {

enum class Exchange { copy_engines, multiprocessors, nccl };

std::string name_of(Exchange exchange) {
  if (exchange == Exchange::nccl) return "nccl";
  return exchange == Exchange::copy_engines ? "copy engines" : "multiprocessors";
}

// Where a rank has what it exchanges: behind the matrices of rank 0, alike everywhere.
struct Places {
  int64_t product_B = 0;
  int64_t given_B = 0;
  int64_t taken_B = 0;
  int64_t end_B = 0;
};

class Overlap {
 public:
  Overlap(int ranks, Type type, int64_t bytes)
      : ranks_(ranks),
        type_(type),
        bytes_(bytes),
        product_(product_task(product_rows(bytes, type), type)) {
    places_.given_B = aligned_B(product_.plan.room.data_B);
    places_.taken_B = places_.given_B + aligned_B(bytes);
    places_.end_B = places_.taken_B + aligned_B(bytes);
  }

  Task product_alone() const {
    PlanWriter writer(ranks_, 1);
    multiply(writer, 0);
    return task("product alone", std::move(writer), {});
  }
  Task exchange_alone(Exchange exchange) const {
    PlanWriter writer(ranks_, 1);
    communicate(writer, exchange, 0);
    return task(name_of(exchange) + " alone", std::move(writer), exchange);
  }
  Task product_beside(Exchange exchange) const {
    PlanWriter writer(ranks_, 2);
    multiply(writer, 0);
    communicate(writer, exchange, 1);
    return task("product beside " + name_of(exchange), std::move(writer), exchange);
  }
  Task exchange_beside(Exchange exchange) const {
    PlanWriter writer(ranks_, 2);
    communicate(writer, exchange, 0);
    multiply(writer, 1);
    return task(name_of(exchange) + " beside product", std::move(writer), exchange);
  }

 private:
  void multiply(PlanWriter& writer, int lane) const {
    const Step& step = product_.plan.steps.front();
    writer.product(writer.stream(0, lane), step.to, step.from, step.with, step.shape);
  }

  void communicate(PlanWriter& writer, Exchange exchange, int lane) const {
    if (exchange == Exchange::nccl) {
      for (int rank = 0; rank < ranks_; ++rank)
        writer.call(LibraryCall::allreduce, writer.stream(rank, lane),
                    {rank, Buffer::data, places_.given_B}, bytes_);
      return;
    }
    for (const int rank : {0, 1})
      writer.copy(writer.stream(rank, lane), {rank, Buffer::data, places_.taken_B},
                  {1 - rank, Buffer::data, places_.given_B}, bytes_,
                  exchange == Exchange::multiprocessors);
  }

  Stretch numbers_of(int rank, int64_t at_B) const {
    return repeating(
        type_, bytes_ / size_of(type_), [rank](int64_t i) { return pattern(rank, i); }, at_B, 0,
        bytes_);
  }

  Task task(const std::string& what, PlanWriter writer, std::optional<Exchange> exchange) const {
    Task task{.operation = "overlap",
              .algorithm = what,
              .type = type_,
              .bytes = bytes_,
              .plan = writer.take()};
    task.plan.beside = task.plan.room.lanes == 2 ? 1 : 0;
    task.plan.in_graph = true;
    task.plan.room.data_B = places_.end_B;
    const bool has_product = what.find("product") != std::string::npos;
    task.before = [*this](int rank) {
      Stretches all = rank == 0 ? product_.before(0) : Stretches{};
      all.push_back(numbers_of(rank, places_.given_B));
      return all;
    };
    task.first_broken = [*this, has_product, exchange](int rank,
                                                       const std::vector<std::byte>& data) {
      if (has_product && rank == 0)
        if (const int64_t broken = product_.first_broken(0, data); broken >= 0) return broken;
      return first_broken(rank, data, exchange);
    };
    return task;
  }

  int64_t first_broken(int rank, const std::vector<std::byte>& data,
                       std::optional<Exchange> exchange) const {
    if (!exchange || (rank > 1 && exchange != Exchange::nccl)) return -1;
    const bool is_sum = exchange == Exchange::nccl;
    const int64_t at_B = is_sum ? places_.given_B : places_.taken_B;
    for (int64_t i = 0; i < bytes_ / size_of(type_); ++i) {
      float expected = is_sum ? 0 : pattern(1 - rank, i);
      for (int other = 0; is_sum && other < ranks_; ++other) expected += pattern(other, i);
      const float is = load(type_, data.data() + at_B + i * size_of(type_));
      if (is != rounded(type_, expected)) return at_B / size_of(type_) + i;
    }
    return -1;
  }

  int ranks_;
  Type type_;
  int64_t bytes_;
  Task product_;
  Places places_;
};

}  // namespace

std::vector<Task> overlap_tasks(int ranks, const std::vector<int64_t>& sizes_B, Type type) {
  std::vector<Task> tasks;
  const auto add = [&](const auto& make) {
    for (const int64_t bytes : sizes_B) tasks.push_back(make(Overlap(ranks, type, bytes)));
  };
  add([](const Overlap& overlap) { return overlap.product_alone(); });
  for (const Exchange exchange :
       {Exchange::copy_engines, Exchange::multiprocessors, Exchange::nccl}) {
    add([&](const Overlap& overlap) { return overlap.exchange_alone(exchange); });
    add([&](const Overlap& overlap) { return overlap.product_beside(exchange); });
    add([&](const Overlap& overlap) { return overlap.exchange_beside(exchange); });
  }
  return tasks;
}

}  // namespace sgdsim::calibrate
