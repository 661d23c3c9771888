# What an installation has besides programs and library: the Python module, the manual page, completion for
# shells; and a Debian package of all, by `cpack -G DEB`.
set(SGDSIM_PYTHON_FOLDER lib/python3/dist-packages CACHE STRING "Where the Python module goes, below the prefix")
install(DIRECTORY python/sgdsim DESTINATION ${SGDSIM_PYTHON_FOLDER} FILES_MATCHING PATTERN "*.py")

set(told ${PROJECT_BINARY_DIR}/share)
file(MAKE_DIRECTORY ${told})
add_custom_command(
  OUTPUT ${told}/sgdsim.1.gz ${told}/sgdsim.bash ${told}/_sgdsim ${told}/sgdsim.fish
  COMMAND sgdsim completion man > ${told}/sgdsim.1
  COMMAND gzip -9nf ${told}/sgdsim.1
  COMMAND sgdsim completion bash > ${told}/sgdsim.bash
  COMMAND sgdsim completion zsh > ${told}/_sgdsim
  COMMAND sgdsim completion fish > ${told}/sgdsim.fish
  DEPENDS sgdsim
  COMMENT "Writing the manual page and completion for shells"
  VERBATIM)
add_custom_target(sgdsim_told ALL DEPENDS ${told}/sgdsim.1.gz ${told}/sgdsim.bash ${told}/_sgdsim ${told}/sgdsim.fish)
install(FILES ${told}/sgdsim.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${told}/sgdsim.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME sgdsim)
install(FILES ${told}/_sgdsim DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${told}/sgdsim.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sgdsim)
set(CPACK_PACKAGE_CONTACT "The sgdsim authors <sgdsim@example.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(debian ${PROJECT_SOURCE_DIR}/cmake/debian)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${debian}/triggers ${debian}/shlibs)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3 (>= 3.9), python3-numpy, python3-pandas")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "simulate distributed training of neural networks")
set(CPACK_PACKAGE_DESCRIPTION
    "Replays the training of a neural network on a simulated cluster of GPU nodes:
how long a step takes, why, and what would change it. Programs, a shared
library with a C header, a CMake package and a Python module.")
# Where Debian looks for the licence and the changes.
set(doc ${CMAKE_INSTALL_DATADIR}/doc/sgdsim)
install(FILES LICENSE DESTINATION ${doc} RENAME copyright)
file(CONFIGURE OUTPUT ${told}/changelog CONTENT "sgdsim (@PROJECT_VERSION@) unstable; urgency=low

  * CHANGELOG.md of the sources lists what has changed.

 -- The sgdsim authors <sgdsim@example.org>  Thu, 01 Jan 2026 00:00:00 +0000
" @ONLY)
execute_process(COMMAND gzip -9nkf ${told}/changelog)
install(FILES ${told}/changelog.gz DESTINATION ${doc})
install(FILES cmake/debian/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME sgdsim)
execute_process(COMMAND gzip -9n INPUT_FILE ${PROJECT_SOURCE_DIR}/cmake/debian/sgdsim-calibrate.1
                OUTPUT_FILE ${told}/sgdsim-calibrate.1.gz)
install(FILES ${told}/sgdsim-calibrate.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
include(CPack)
