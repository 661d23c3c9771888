# libsgdsim.so, and what `cmake --install` puts beside it, so that find_package(sgdsim) finds it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(sgdsim_library SHARED library/sgdsim.cpp library/arrow_stream.cpp)
add_library(sgdsim::sgdsim ALIAS sgdsim_library)
set(symbols ${PROJECT_SOURCE_DIR}/library/symbols.map)
set_target_properties(sgdsim_library PROPERTIES OUTPUT_NAME sgdsim EXPORT_NAME sgdsim SOVERSION 1 VERSION ${PROJECT_VERSION}
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib CXX_VISIBILITY_PRESET hidden LINK_DEPENDS ${symbols})
target_link_libraries(sgdsim_library PRIVATE sgdsim_study)
target_link_options(sgdsim_library PRIVATE -Wl,--version-script=${symbols})
if(NOT SGDSIM_SANITIZE) # whose functions only programs bring
  target_link_options(sgdsim_library PRIVATE -Wl,--no-undefined)
endif()
target_include_directories(sgdsim_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS sgdsim sgdsim-calibrate)
install(TARGETS sgdsim_library EXPORT sgdsim LIBRARY)
install(FILES library/sgdsim.h library/arrow.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sgdsim)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/sgdsim)
install(EXPORT sgdsim FILE sgdsim-config.cmake NAMESPACE sgdsim:: DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sgdsim-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sgdsim-config-version.cmake DESTINATION ${package})
