# The CUDA toolkit, if SGDSIM_CUDA asks for it: sets SGDSIM_HAS_CUDA and enables the language.
#
# AUTO takes the toolkit where it is found, on the PATH or in /usr/local/cuda; ON fails without it.
# Kernels are built for every GPU generation that the toolkit knows from 7.5 on (6.0 with CUDA 12),
# with intermediate code for later ones; a generation runs what is built for an earlier number of
# the same first digit.
set(SGDSIM_HAS_CUDA OFF)
if(SGDSIM_CUDA STREQUAL "OFF")
  return()
endif()

find_program(SGDSIM_NVCC nvcc HINTS ENV CUDAToolkit_ROOT PATHS /usr/local/cuda PATH_SUFFIXES bin)
if(NOT SGDSIM_NVCC AND SGDSIM_CUDA STREQUAL "AUTO")
  message(STATUS "No CUDA toolkit found: sgdsim-calibrate measures threads only")
  return()
endif()
if(SGDSIM_NVCC AND NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${SGDSIM_NVCC})
endif()
if(NOT CMAKE_CUDA_HOST_COMPILER)
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
endif()
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90-real 100) # 100: code and intermediate code
  execute_process(COMMAND ${SGDSIM_NVCC} --version OUTPUT_VARIABLE version)
  if(version MATCHES "release 12")
    set(CMAKE_CUDA_ARCHITECTURES 60-real 70-real 75-real 80-real 90)
  endif()
endif()
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 20)
# CMake 3.25 does not know nvcc's flag for it.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
string(REPLACE "-DNDEBUG" "" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
find_package(CUDAToolkit REQUIRED)
if(CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
set(SGDSIM_HAS_CUDA ON)
