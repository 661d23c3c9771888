// cuBLAS's products on the stand-in: right, of every type, and timed within a graph.
#include "calibrate/cuda/products.cuh"

#include <doctest/doctest.h>

#include "calibrate/tasks/tasks.h"
#include "tests/cuda_on_host/machine.h"

namespace sgdsim::cuda_on_host {

using namespace calibrate;

TEST_CASE("cuda on host: products of matrices are right and timed, of every type") {
  REQUIRE(cuda::why_no_products() == "");
  for (const int devices : {1, 3}) {
    restart(devices);
    {
      const auto backend = cuda_backend({});
      std::vector<Task> tasks;
      for (const Type type : {Type::float32, Type::float16, Type::bfloat16})
        for (const int64_t rows : {64, 128}) tasks.push_back(product_task(rows, type));
      for (const Type type : {Type::float32, Type::bfloat16})
        for (const ProductShape& shape : {ProductShape{3, 40, 17}, ProductShape{65, 1, 7},
                                          ProductShape{1, 1, 1}, ProductShape{5, 33, 12, 4}})
          tasks.push_back(shaped_product_task(shape, type));
      MeasureOptions options;
      options.rule = {1, 5, 5};
      options.time_limit_s = 1000;
      const Outcome outcome =
          measure(*backend, tasks, options, {[] { return false; }, [](const std::string&) {}});
      CHECK(outcome.failure == "");
      CHECK(outcome.wrong == std::vector<std::string>{});
      for (const Measured& point : outcome.points) {
        CHECK(point.verified);
        CHECK(median(point.samples_us) > 0);
      }
    }
    CHECK(alive() == 0);
  }
}

}  // namespace sgdsim::cuda_on_host
