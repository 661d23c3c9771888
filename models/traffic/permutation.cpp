// Everybody sends to one other worker, and gets from one: to the one `shift` further on, or by
// chance.
#include "models/traffic/flow_sizes.h"
#include "models/traffic/registry.h"

namespace sgdsim::traffic::permutation {
namespace {

// Every permutation in which nobody sends to itself, equally likely: shuffled until it is one,
// which takes e times on average.
std::vector<std::size_t> derangement(std::size_t count, Random& random) {
  std::vector<std::size_t> to(count);
  for (bool is_one = false; !is_one;) {
    for (std::size_t i = 0; i < count; ++i) to[i] = i;
    for (std::size_t i = count; i > 1; --i)
      std::swap(to[i - 1], to[static_cast<std::size_t>(random.below(i))]);
    is_one = true;
    for (std::size_t i = 0; i < count; ++i) is_one = is_one && to[i] != i;
  }
  return to;
}

struct Options {
  FlowSizes size;
  std::string among;
  Duration start;
  std::optional<int> shift;
};

Fields fields_of(Options& o) {
  return {size_field(o.size), among_field(o.among), start_field(o.start),
          Field("shift", o.shift, "everybody sends to the worker this many further on")
              .from(1, 1 << 24)
              .otherwise("by chance")};
}

void add(Object& fields, const TrafficScene& scene, std::vector<PlainFlow>& flows) {
  const auto options = read_record<Options>(fields);
  const FlowSizes& sizes = options.size;
  const std::vector<int> workers = read_ranks(fields, "among", *scene.network);
  if (workers.size() < 2) fields.value().fail("traffic needs two workers");
  check_room(fields.value(), flows, static_cast<double>(workers.size()));
  const Time start = Time() + options.start;
  Random random = scene.random;
  std::vector<std::size_t> to;
  if (const auto field = fields.find("shift")) {
    const int64_t shift = field->whole(1, static_cast<int64_t>(workers.size()) - 1);
    for (std::size_t i = 0; i < workers.size(); ++i)
      to.push_back((i + static_cast<std::size_t>(shift)) % workers.size());
  } else {
    to = derangement(workers.size(), random);
  }
  for (std::size_t i = 0; i < workers.size(); ++i)
    flows.push_back({start, sizes.draw(random), workers[i], workers[to[i]]});
}

}  // namespace

TrafficGenerator describe() {
  return {"permutation", "everybody sends to one other worker, by chance or `shift` further on",
          options_of<Options>, add};
}

}  // namespace sgdsim::traffic::permutation
