# What every target of ours is compiled with, as one INTERFACE target. Libraries of others are
# system libraries to CMake, so these warnings do not reach their headers.
add_library(sgdsim_options INTERFACE)
target_compile_features(sgdsim_options INTERFACE cxx_std_20)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD_REQUIRED ON)

# For CUDA the same as far as its generated code allows: it passes them on to the host compiler.
set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wold-style-cast
             -Wdouble-promotion -Werror)
if(NOT SGDSIM_PRECOMPILED) # where files are compiled together, a name hides what another file declares
  list(APPEND warnings -Wshadow)
endif()
target_compile_options(
  sgdsim_options
  INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>"
            "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Werror>")
# The same bits from every compiler and build type: no fused multiply-add. Nobody reads errno after
# a mathematical function or traps floating-point exceptions, and saying so lets loops vectorise.
target_compile_options(
  sgdsim_options
  INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
            $<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno>
            $<$<COMPILE_LANGUAGE:CXX>:-fno-trapping-math>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlaps inside std::string that are not there (GCC bug 105651).
  target_compile_options(sgdsim_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()

if(SGDSIM_SANITIZE)
  set(sanitize -fsanitize=${SGDSIM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(sgdsim_options INTERFACE ${sanitize})
  target_link_options(sgdsim_options INTERFACE ${sanitize})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC's own manual: sanitizers make this warning report values that are always set.
    target_compile_options(sgdsim_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(SGDSIM_FUZZ)
  target_compile_options(sgdsim_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(SGDSIM_TIDY)
  find_program(CLANG_TIDY NAMES clang-tidy-14 clang-tidy REQUIRED)
endif()
