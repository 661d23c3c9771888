# sgdsim_room(NAME FILES pattern... LINKS target... [PROGRAM name])
#
# The library sgdsim_NAME from the files that match now or later. With PROGRAM, the room's main.cpp
# stays out of the library and becomes that program, in bin/ of the build tree. Programs start where the
# C++ library is older or another one: they bring along what they use of it, and with it no symbol of a
# newer C library that they do not need.
function(sgdsim_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PROGRAM" "FILES;LINKS")
  list(TRANSFORM arg_FILES PREPEND ${PROJECT_SOURCE_DIR}/)
  file(GLOB sources CONFIGURE_DEPENDS ${arg_FILES})
  set(main ${PROJECT_SOURCE_DIR}/${room}/main.cpp)
  list(FIND sources ${main} main_at)
  list(REMOVE_ITEM sources ${main})

  set(library sgdsim_${room})
  if(sources OR room STREQUAL "app") # app always has its generated sources
    add_library(${library} STATIC ${sources})
    set(scope PUBLIC)
    # The shared library is made of rooms, too. Nothing of them is replaced when programs start, so that
    # calls are as direct as in a program; what the library shows is in library/symbols.map.
    set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${library} PRIVATE -fno-semantic-interposition)
    if(SGDSIM_TIDY)
      set_target_properties(${library} PROPERTIES CXX_CLANG_TIDY "${CLANG_TIDY};--quiet")
    endif()
  else()
    add_library(${library} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${library} ${scope} ${PROJECT_SOURCE_DIR})
  target_link_libraries(${library} ${scope} ${arg_LINKS} sgdsim_options)

  if(arg_PROGRAM AND main_at GREATER_EQUAL 0)
    add_executable(${arg_PROGRAM} ${main})
    target_link_libraries(${arg_PROGRAM} PRIVATE ${library})
    set_target_properties(${arg_PROGRAM} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                    ${PROJECT_BINARY_DIR}/bin)
    if(NOT SGDSIM_SANITIZE)
      target_link_options(${arg_PROGRAM} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections)
    endif()
  endif()
endfunction()

# sgdsim_precompile(ROOM header... | ROOM LIKE other room): the room's files start from these headers, compiled
# once, or from what was compiled for a room with the same options. The presets that check that every file
# includes what it uses turn this off.
set(standard_headers <algorithm> <functional> <map> <memory> <optional> <string> <vector>)
function(sgdsim_precompile room)
  if(SGDSIM_PRECOMPILED)
    if("${ARGV1}" STREQUAL LIKE)
      target_precompile_headers(sgdsim_${room} REUSE_FROM sgdsim_${ARGV2})
    else()
      target_precompile_headers(sgdsim_${room} PRIVATE ${ARGN})
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # GCC 12 forgets that a precompiled header is the system's and reports std::string itself.
      target_compile_options(sgdsim_${room} PRIVATE -Wno-array-bounds -Wno-stringop-overflow
                                                    -Wno-stringop-overread)
    endif()
  endif()
endfunction()

# sgdsim_units(ROOM ["folder folder..."]... | ROOM BY_LETTER): the files of a folder are compiled as one,
# or those of the folders that are named together, counted from the room; BY_LETTER those whose names begin
# alike. Headers, and templates of headers, are then read once. The presets that check that every file
# includes what it uses turn this off, too.
function(sgdsim_units room)
  get_target_property(sources sgdsim_${room} SOURCES)
  if(NOT SGDSIM_PRECOMPILED OR NOT sources)
    return()
  endif()
  set_target_properties(sgdsim_${room} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # It takes the files of a unit for headers; and it looks for memory to use again for 6 to 15 % of its time, until
    # it is told that it may have half a gigabyte before (8 to 40 % more than it has at most without).
    target_compile_options(sgdsim_${room} PRIVATE -Wno-subobject-linkage
                                                  $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=500000>)
  endif()
  foreach(file IN LISTS sources)
    cmake_path(ABSOLUTE_PATH file)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
    get_filename_component(name ${path} NAME)
    get_filename_component(folder ${path} DIRECTORY)
    set(unit ${folder})
    if(ARGN STREQUAL BY_LETTER)
      string(SUBSTRING ${name} 0 1 letter)
      string(APPEND unit " ${letter}")
    else()
      foreach(together IN LISTS ARGN)
        separate_arguments(folders UNIX_COMMAND "${together}")
        list(TRANSFORM folders PREPEND ${room}/)
        list(TRANSFORM folders REPLACE "/[.]$" "")
        if(folder IN_LIST folders)
          set(unit "${folders}")
        endif()
      endforeach()
    endif()
    string(REGEX REPLACE "[^a-z]+" "_" unit "${unit}")
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${unit})
  endforeach()
endfunction()
