# cmake --install BUILD --prefix P gives, in any folder P and wherever P is moved:
#   bin/weft                the command
#   include/weft, lib       the library: one header, one archive, and the package that find_package(weft) finds
#   share/weft/report.html  the page of weft explore --html, where npm was there to make it
#   share/man, share/bash-completion, share/zsh, share/fish   the manual page and completions, where Python could make them
#   share/doc/weft          the pages
#   lib/python3/dist-packages/weft   the Python package, where it was built
#   share/weft              machine profiles, published curves, scenarios (models/machine/machine_files.hpp finds them)
# --component command leaves out what only compilers and Python need.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME command)

add_library(weft_archive STATIC
  $<TARGET_OBJECTS:weft_models> $<TARGET_OBJECTS:weft_sim> $<TARGET_OBJECTS:weft_scenarios> $<TARGET_OBJECTS:weft_study>)
set_target_properties(weft_archive PROPERTIES OUTPUT_NAME weft EXPORT_NAME weft LINKER_LANGUAGE CXX)
target_compile_features(weft_archive INTERFACE cxx_std_20)
target_compile_definitions(weft_archive INTERFACE $<INSTALL_INTERFACE:WEFT_SHARE="$<INSTALL_PREFIX>/share/weft">)
target_link_libraries(weft_archive PRIVATE TBB::tbb Threads::Threads ZLIB::ZLIB)

install(TARGETS weft_command)
install(TARGETS weft_archive EXPORT weft_targets ARCHIVE COMPONENT development INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES scenarios/library/weft.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft COMPONENT development)
install(FILES models/base/input_error.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/models/base COMPONENT development)
install(DIRECTORY calibration/machines calibration/published ${PROJECT_BINARY_DIR}/share/weft/machines DESTINATION share/weft)
install(DIRECTORY scenarios/ DESTINATION share/weft/scenarios
  FILES_MATCHING PATTERN "*.json" PATTERN families EXCLUDE PATTERN study EXCLUDE PATTERN report EXCLUDE PATTERN library EXCLUDE PATTERN python EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET weft_device)  # beside the command, which loads it
  install(TARGETS weft_device LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET weft_mpi)
  install(TARGETS weft_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(WEFT_STATIC AND WEFT_TBB_IS_SHARED)
  set_target_properties(weft_command PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(FILES $<TARGET_SONAME_FILE:TBB::tbb> DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

if(TARGET weft_manual)
  foreach(folder man bash-completion fish)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/share/${folder} DESTINATION share)
  endforeach()
  set(WEFT_ZSH_COMPLETIONS share/zsh/site-functions CACHE STRING "Where the completion of zsh is installed")
  install(FILES ${PROJECT_BINARY_DIR}/share/zsh/site-functions/_weft DESTINATION ${WEFT_ZSH_COMPLETIONS})
endif()
if(TARGET weft_report_page)  # of weft explore --html
  install(FILES ${PROJECT_BINARY_DIR}/share/weft/report.html DESTINATION share/weft)
endif()
if(TARGET weft_python)
  set(WEFT_PYTHON_DESTINATION lib/python3/dist-packages CACHE STRING "Where the Python package is installed")
  install(TARGETS weft_python LIBRARY DESTINATION ${WEFT_PYTHON_DESTINATION}/weft COMPONENT python)
  install(DIRECTORY scenarios/python/weft DESTINATION ${WEFT_PYTHON_DESTINATION} COMPONENT python PATTERN __pycache__ EXCLUDE)
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weft_targets FILE weftTargets.cmake NAMESPACE weft:: DESTINATION ${package} COMPONENT development)
configure_package_config_file(cmake/weftConfig.cmake.in ${PROJECT_BINARY_DIR}/weftConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
  DESTINATION ${package} COMPONENT development)
