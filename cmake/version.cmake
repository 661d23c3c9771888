# Writes ROOM/version.h: cmake -D SOURCE_DIR= -D HEADER= -D VERSION= -D COMPILER= -D CUDA= -D MPI= -P this.
# Outside a git checkout the commit reads "unknown".
cmake_minimum_required(VERSION 3.25)
execute_process(
  COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit
  OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_QUIET
  RESULT_VARIABLE failed)
if(failed)
  set(commit unknown)
endif()
file(
  CONFIGURE
  OUTPUT ${HEADER}
  CONTENT
    "// What was built: version, commit, compiler. Written by cmake/version.cmake in every build.
#pragma once

#include <string_view>

namespace sgdsim {

inline constexpr std::string_view version_number = \"@VERSION@\";
inline constexpr std::string_view version_commit = \"@commit@\";
inline constexpr std::string_view version_compiler = \"@COMPILER@\";
inline constexpr bool version_has_cuda = @CUDA@;
inline constexpr bool version_has_mpi = @MPI@;

}  // namespace sgdsim
"
  @ONLY)
