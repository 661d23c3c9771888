// Products of matrices by cuBLAS, where the machine has it: taken when the program runs, as NCCL
// is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <memory>
#include <string>

#include "calibrate/element.h"
#include "calibrate/plan/plan.h"

namespace sgdsim::calibrate::cuda {

// Empty where there is cuBLAS.
const std::string& why_no_products();

class Products {
 public:
  virtual ~Products() = default;
  // to = from x with, of matrices that lie row by row; sums in float.
  virtual void multiply(Type type, std::byte* to, const std::byte* from, const std::byte* with,
                        const ProductShape& shape, cudaStream_t stream) = 0;
};
// On this device, where nothing is captured; where why_no_products() knows of no reason against it.
std::unique_ptr<Products> make_products(int device);

}  // namespace sgdsim::calibrate::cuda
