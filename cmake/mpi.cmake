# MPI, if SGDSIM_MPI asks for it: sets SGDSIM_HAS_MPI. Only calibrate/processes/mpi.cpp calls it, in C.
set(SGDSIM_HAS_MPI OFF)
if(SGDSIM_MPI STREQUAL "OFF")
  return()
endif()
set(MPI_CXX_SKIP_MPICXX ON) # the old interface in C++
find_package(MPI QUIET COMPONENTS CXX)
if(MPI_CXX_FOUND)
  set(SGDSIM_HAS_MPI ON)
elseif(SGDSIM_MPI STREQUAL "AUTO")
  message(STATUS "No MPI found: sgdsim-calibrate measures within one process")
else()
  message(FATAL_ERROR "SGDSIM_MPI=${SGDSIM_MPI}: no MPI was found")
endif()
