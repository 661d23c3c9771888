// cuBLAS lays matrices column by column: rows of ours are columns of its own, so that it is asked
// for with x from.
//
// Its room is ours, and given anew after every change of stream, which takes it away: else it would
// be had while a graph is captured.
#include "calibrate/cuda/products.cuh"

#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdexcept>

#include "calibrate/cuda/values.cuh"

namespace sgdsim::calibrate::cuda {
namespace {

// The header overloads these two.
using Multiply = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                    int, const void*, const void*, cudaDataType, int, const void*,
                                    cudaDataType, int, const void*, void*, cudaDataType, int,
                                    cublasComputeType_t, cublasGemmAlgo_t);

using MultiplyMany = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int,
                                        int, int, const void*, const void*, cudaDataType, int,
                                        long long, const void*, cudaDataType, int, long long,
                                        const void*, void*, cudaDataType, int, long long, int,
                                        cublasComputeType_t, cublasGemmAlgo_t);

struct Library {
  std::string why_not;
  cublasStatus_t (*create)(cublasHandle_t*) = nullptr;
  cublasStatus_t (*destroy)(cublasHandle_t) = nullptr;
  cublasStatus_t (*set_stream)(cublasHandle_t, cudaStream_t) = nullptr;
  cublasStatus_t (*set_room)(cublasHandle_t, void*, std::size_t) = nullptr;
  Multiply multiply = nullptr;
  MultiplyMany multiply_many = nullptr;
};

Library load_library() {
  Library all;
  const std::string name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  void* const file = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) {
    all.why_not = name + " is not found";
    return all;
  }
  const auto find = [&](const char* function, auto& place) {
    place = reinterpret_cast<std::remove_reference_t<decltype(place)>>(dlsym(file, function));
    if (place == nullptr) all.why_not = name + " has no " + function;
  };
  find("cublasCreate_v2", all.create);
  find("cublasDestroy_v2", all.destroy);
  find("cublasSetStream_v2", all.set_stream);
  find("cublasSetWorkspace_v2", all.set_room);
  find("cublasGemmEx", all.multiply);
  find("cublasGemmStridedBatchedEx", all.multiply_many);
  return all;
}

const Library& library() {
  static const Library loaded = load_library();
  return loaded;
}

void check(cublasStatus_t answer, const char* call) {
  if (answer != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string("cuBLAS: ") + call + ": status " +
                             std::to_string(static_cast<int>(answer)));
}

cudaDataType type_of(Type type) {
  if (type == Type::float16) return CUDA_R_16F;
  return type == Type::float32 ? CUDA_R_32F : CUDA_R_16BF;
}

class CublasProducts : public Products {
 public:
  explicit CublasProducts(int device) : device_(device), room_(make_memory(device, room_B)) {
    const OnDevice there(device);
    check(library().create(&handle_), "cublasCreate");
  }
  CublasProducts(const CublasProducts&) = delete;
  CublasProducts& operator=(const CublasProducts&) = delete;
  ~CublasProducts() override {
    if (has_given_up()) return;
    const OnDevice there(device_);
    static_cast<void>(library().destroy(handle_));
  }

  // cuBLAS has matrices column by column, where ours lie transposed: the factors change places.
  void multiply(Type type, std::byte* to, const std::byte* from, const std::byte* with,
                const ProductShape& shape, cudaStream_t stream) override {
    const OnDevice there(device_);
    check(library().set_stream(handle_, stream), "cublasSetStream");
    check(library().set_room(handle_, room_.get(), room_B), "cublasSetWorkspace");
    const auto rows = static_cast<int>(shape.rows);
    const auto columns = static_cast<int>(shape.columns);
    const auto inner = static_cast<int>(shape.inner);
    const float one = 1;
    const float none = 0;
    const cudaDataType kind = type_of(type);
    if (shape.groups == 1)
      return check(library().multiply(handle_, CUBLAS_OP_N, CUBLAS_OP_N, columns, rows, inner, &one,
                                      with, kind, columns, from, kind, inner, &none, to, kind,
                                      columns, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                   "cublasGemmEx");
    check(library().multiply_many(handle_, CUBLAS_OP_N, CUBLAS_OP_N, columns, rows, inner, &one,
                                  with, kind, columns, shape.inner * shape.columns, from, kind,
                                  inner, shape.rows * shape.inner, &none, to, kind, columns,
                                  shape.rows * shape.columns, static_cast<int>(shape.groups),
                                  CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
          "cublasGemmStridedBatchedEx");
  }

 private:
  static constexpr std::size_t room_B = std::size_t{32} << 20;

  int device_;
  Memory room_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace

const std::string& why_no_products() { return library().why_not; }

std::unique_ptr<Products> make_products(int device) {
  return std::make_unique<CublasProducts>(device);
}

}  // namespace sgdsim::calibrate::cuda

#else

namespace sgdsim::calibrate::cuda {

const std::string& why_no_products() {
  static const std::string why_not = "this program was built without cublas_v2.h";
  return why_not;
}
std::unique_ptr<Products> make_products(int) { return nullptr; }

}  // namespace sgdsim::calibrate::cuda

#endif
