// cuBLAS of the stand-in, a shared library as the real one, which finds the stand-in's runtime in
// the program that opens it.
//
// Matrices lie column by column. It is stricter than the real one: a product without room of its
// caller's, given after the stream was, is refused, because it would allocate within a capture.
#include "calibrate/element.h"
#include "tests/cuda_on_host/cublas_v2.h"

using sgdsim::calibrate::Type;

struct cublasContext {
  cudaStream_t stream = nullptr;
  void* room = nullptr;
};

namespace {

Type type_of(cudaDataType type) {
  if (type == CUDA_R_16F) return Type::float16;
  return type == CUDA_R_32F ? Type::float32 : Type::bfloat16;
}

struct Shape {
  Type type = Type::float32;
  int rows = 0;
  int columns = 0;
  int depth = 0;
  int left_stride = 0;
  int right_stride = 0;
  int to_stride = 0;
};

void multiply_columns(const std::byte* left, const std::byte* right, std::byte* to, Shape shape) {
  const auto at = [&](auto* matrix, int row, int column, int stride) {
    return matrix + (static_cast<std::ptrdiff_t>(column) * stride + row) *
                        sgdsim::calibrate::size_of(shape.type);
  };
  for (int j = 0; j < shape.columns; ++j)
    for (int i = 0; i < shape.rows; ++i) {
      float sum = 0;
      for (int k = 0; k < shape.depth; ++k)
        sum += load(shape.type, at(left, i, k, shape.left_stride)) *
               load(shape.type, at(right, k, j, shape.right_stride));
      store(shape.type, at(to, i, j, shape.to_stride), sum);
    }
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  handle->room = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* room, std::size_t bytes) {
  if (bytes < (std::size_t{32} << 20)) return CUBLAS_STATUS_INVALID_VALUE;
  handle->room = room;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t left_as,
                            cublasOperation_t right_as, int rows, int columns, int depth,
                            const void* factor, const void* left, cudaDataType left_type,
                            int left_stride, const void* right, cudaDataType right_type,
                            int right_stride, const void* keep, void* to, cudaDataType to_type,
                            int to_stride, cublasComputeType_t sums, cublasGemmAlgo_t how) {
  const bool is_plain = left_as == CUBLAS_OP_N && right_as == CUBLAS_OP_N &&
                        *static_cast<const float*>(factor) == 1 &&
                        *static_cast<const float*>(keep) == 0 && left_type == right_type &&
                        left_type == to_type && sums == CUBLAS_COMPUTE_32F &&
                        how == CUBLAS_GEMM_DEFAULT;
  const bool fits = left_stride >= rows && right_stride >= depth && to_stride >= rows;
  if (!is_plain || !fits || handle->room == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = handle->stream;
  const Shape shape{type_of(to_type), rows, columns, depth, left_stride, right_stride, to_stride};
  const cudaError_t answer =
      cudaLaunchKernelEx(&config, multiply_columns, static_cast<const std::byte*>(left),
                         static_cast<const std::byte*>(right), static_cast<std::byte*>(to), shape);
  return answer == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

// As many single ones.
cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t left_as, cublasOperation_t right_as, int rows,
    int columns, int depth, const void* factor, const void* left, cudaDataType left_type,
    int left_stride, long long left_step, const void* right, cudaDataType right_type,
    int right_stride, long long right_step, const void* keep, void* to, cudaDataType to_type,
    int to_stride, long long to_step, int count, cublasComputeType_t sums, cublasGemmAlgo_t how) {
  const auto moved = [&](auto* matrix, long long step) {
    return matrix + step * sgdsim::calibrate::size_of(type_of(to_type));
  };
  for (int i = 0; i < count; ++i) {
    const cublasStatus_t answer = cublasGemmEx(
        handle, left_as, right_as, rows, columns, depth, factor,
        moved(static_cast<const std::byte*>(left), i * left_step), left_type, left_stride,
        moved(static_cast<const std::byte*>(right), i * right_step), right_type, right_stride, keep,
        moved(static_cast<std::byte*>(to), i * to_step), to_type, to_stride, sums, how);
    if (answer != CUBLAS_STATUS_SUCCESS) return answer;
  }
  return CUBLAS_STATUS_SUCCESS;
}
}
