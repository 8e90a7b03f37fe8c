# Headers, library, CMake package and pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS tessera EXPORT tesseraTargets)
if(TARGET tessera_mpi)
  install(TARGETS tessera_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET tessera_command)
  install(TARGETS tessera_command)
  install(FILES ${PROJECT_SOURCE_DIR}/docs/tessera.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
install(EXPORT tesseraTargets NAMESPACE tessera:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tesseraConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfigVersion.cmake
  DESTINATION ${package_dir})
# A shared library knows what it needs; an archive alone does not link, so there its dependencies are not private.
set(TESSERA_PC_DEFINES "")
set(TESSERA_PC_LIBS "")
if(NOT BUILD_SHARED_LIBS)
  set(TESSERA_PC_DEFINES "-DTESSERA_STATIC")
  set(TESSERA_PC_LIBS "${TESSERA_LLVM_LIBRARY} ${TESSERA_DNNL_LIBRARY} ${TESSERA_OPENBLAS} -lsleef -ltbb -lz -lzip -lfmt -lxxhash -lpthread -ldl")
endif()
# Relative to itself, so that `cmake --install --prefix` and moved packages are right.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(TESSERA_PC_PREFIX "\${pcfiledir}/${pc_to_prefix}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/tessera.pc.in ${CMAKE_CURRENT_BINARY_DIR}/tessera.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tessera.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
