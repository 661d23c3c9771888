# What must not compile. Included by tests/CMakeLists.txt it makes one test of every file in
# tests/compile_fail/; run as a script by that test it compiles the file twice: as it stands, which
# must fail with a message that matches its line "// EXPECT: regular expression", and with
# -DCONTROL, which must succeed, so that a misspelt include does not pass for a refusal.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/*.cpp)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    add_test(NAME "must not compile: ${name}"
             COMMAND ${CMAKE_COMMAND} -D COMPILER=${CMAKE_CXX_COMPILER} -D
                     ROOT=${PROJECT_SOURCE_DIR} -D SOURCE=${source} -P ${CMAKE_CURRENT_LIST_FILE})
  endforeach()
  return()
endif()

cmake_minimum_required(VERSION 3.25)

function(compile answer message)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${COMPILER} -std=c++20 -fsyntax-only -Wall -Wextra
            -Wconversion -Werror -I ${ROOT} ${ARGN} ${SOURCE}
    RESULT_VARIABLE status
    ERROR_VARIABLE text
    OUTPUT_QUIET)
  set(${answer} ${status} PARENT_SCOPE)
  set(${message} "${text}" PARENT_SCOPE)
endfunction()

file(STRINGS ${SOURCE} expected REGEX "^// EXPECT: ")
string(REPLACE "// EXPECT: " "" expected "${expected}")
if(NOT expected)
  message(FATAL_ERROR "${SOURCE}: no line '// EXPECT: regular expression'")
endif()
compile(status text)
if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE}: compiles, and must not")
elseif(NOT text MATCHES "${expected}")
  message(FATAL_ERROR "${SOURCE}: refused, but not with '${expected}':\n${text}")
endif()
compile(status text -DCONTROL)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${SOURCE}: the control, -DCONTROL, must compile:\n${text}")
endif()
