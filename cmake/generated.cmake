# The files that the build writes itself: version.h of two rooms, and tables of files as text. They
# are rewritten only when their text changes, so that an unchanged build compiles and links nothing.
set(SGDSIM_GENERATED ${PROJECT_BINARY_DIR}/generated)

# ROOM/version.h is looked at in every build, because a commit changes no file that CMake watches; or that
# of another room, if it is named behind.
function(sgdsim_generate_version room)
  get_target_property(type sgdsim_${room} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    return() # a room without sources
  endif()
  set(folder ${room})
  if(ARGC GREATER 1)
    set(folder ${ARGV1})
  endif()
  set(header ${SGDSIM_GENERATED}/${folder}/version.h)
  add_custom_target(
    sgdsim_${room}_version
    COMMAND
      ${CMAKE_COMMAND} -D SOURCE_DIR=${PROJECT_SOURCE_DIR} -D HEADER=${header} -D
      VERSION=${PROJECT_VERSION} -D "COMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
      -D CUDA=$<IF:$<BOOL:${SGDSIM_HAS_CUDA}>,true,false>
      -D MPI=$<IF:$<BOOL:${SGDSIM_HAS_MPI}>,true,false> -P ${PROJECT_SOURCE_DIR}/cmake/version.cmake
    BYPRODUCTS ${header}
    COMMENT "Looking at the commit"
    VERBATIM)
  add_dependencies(sgdsim_${room} sgdsim_${room}_version)
  target_include_directories(sgdsim_${room} PUBLIC ${SGDSIM_GENERATED})
endfunction()

# The files of a pattern become the array behind `function`, of TYPE {name, text} in HEADER.
function(sgdsim_embed_files target pattern header type function)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${pattern})
  set(source ${SGDSIM_GENERATED}/${function}.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D "FILES=${files}" -D HEADER=${header} -D TYPE=${type} -D FUNCTION=${function} -D
            OUTPUT=${source} -P ${script}
    DEPENDS ${files} ${script}
    COMMENT "Embedding ${pattern}"
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
  # A page is longer than the longest text that every compiler must take.
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -Wno-overlength-strings)
endfunction()
