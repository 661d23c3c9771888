# The CUDA toolkit, if SGDSIM_CUDA asks for it: sets SGDSIM_HAS_CUDA and enables the language.
#
# AUTO takes the toolkit where it is found, on the PATH or in /usr/local/cuda, and does without one
# that is too old or does not know the C++ compiler; ON fails. A toolkit takes compilers up to some
# version (12.4: GCC 13). One compiler builds all: with another, two C++ libraries would meet.
# Kernels are built for every GPU generation that the toolkit knows from 7.5 on (6.0 with CUDA 12),
# with intermediate code for later ones; a generation runs what is built for an earlier number of
# the same first digit.
set(SGDSIM_HAS_CUDA OFF)
if(SGDSIM_CUDA STREQUAL "OFF")
  return()
endif()

macro(sgdsim_without_cuda reason)
  if(NOT SGDSIM_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "SGDSIM_CUDA=${SGDSIM_CUDA}: ${reason}")
  endif()
  message(STATUS "${reason}: sgdsim-calibrate measures threads only")
  return()
endmacro()

if(CMAKE_CUDA_COMPILER)
  set(SGDSIM_NVCC ${CMAKE_CUDA_COMPILER})
else()
  find_program(SGDSIM_NVCC nvcc HINTS ENV CUDAToolkit_ROOT PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(NOT SGDSIM_NVCC)
    sgdsim_without_cuda("No CUDA toolkit found")
  endif()
endif()
execute_process(COMMAND ${SGDSIM_NVCC} --version OUTPUT_VARIABLE version)
string(REGEX MATCH "release ([0-9]+)" version "${version}")
if(CMAKE_MATCH_1 LESS 12)
  sgdsim_without_cuda("CUDA 12 or later is needed, found ${version} in ${SGDSIM_NVCC}")
endif()
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90-real 100) # 100: code and intermediate code
  if(CMAKE_MATCH_1 EQUAL 12)
    set(CMAKE_CUDA_ARCHITECTURES 60-real 70-real 75-real 80-real 90)
  endif()
endif()
if(NOT CMAKE_CUDA_HOST_COMPILER)
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
endif()
if(NOT CMAKE_CUDA_COMPILER)
  unset(CMAKE_CUDA_COMPILER CACHE)
  # By way of the environment, which the check passes on to the project that it tries.
  set(ENV{CUDACXX} ${SGDSIM_NVCC})
  set(ENV{CUDAHOSTCXX} ${CMAKE_CUDA_HOST_COMPILER})
  if(SGDSIM_CUDA STREQUAL "AUTO")
    include(CheckLanguage)
    check_language(CUDA)
    if(NOT CMAKE_CUDA_COMPILER)
      sgdsim_without_cuda("${SGDSIM_NVCC} does not work with ${CMAKE_CUDA_HOST_COMPILER}")
    endif()
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
