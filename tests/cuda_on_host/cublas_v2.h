// A stand-in for the part of cuBLAS that calibrate/ uses. Its library is cublas_on_host.cpp.
#pragma once

#include <cstddef>

#include "tests/cuda_on_host/cuda_runtime.h"

#define CUBLAS_VER_MAJOR 12

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cudaDataType { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F = 68 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };
using cublasHandle_t = struct cublasContext*;

extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t* handle);
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* room, std::size_t bytes);
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t left_as,
                            cublasOperation_t right_as, int rows, int columns, int depth,
                            const void* factor, const void* left, cudaDataType left_type,
                            int left_stride, const void* right, cudaDataType right_type,
                            int right_stride, const void* keep, void* to, cudaDataType to_type,
                            int to_stride, cublasComputeType_t sums, cublasGemmAlgo_t how);
cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t left_as, cublasOperation_t right_as, int rows,
    int columns, int depth, const void* factor, const void* left, cudaDataType left_type,
    int left_stride, long long left_step, const void* right, cudaDataType right_type,
    int right_stride, long long right_step, const void* keep, void* to, cudaDataType to_type,
    int to_stride, long long to_step, int count, cublasComputeType_t sums, cublasGemmAlgo_t how);
}
