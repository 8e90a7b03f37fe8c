# A vcpkg port of Tessera, for an overlay: vcpkg install tessera --overlay-ports=packaging/vcpkg. TESSERA_ARCHIVE in the environment is the
# path of the archive that `scripts/package source` makes.
#
# Tried: nothing but tests/check_recipes.py, which compares the dependencies of vcpkg.json with those of CMake.
# Not tried: an installation, because vcpkg was not at hand. It may need changes where vcpkg's packages lack the pkg-config files of
# libzip, SLEEF or xxHash, and vcpkg's LLVM has to be of version 19.
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "$ENV{TESSERA_ARCHIVE}")
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS
  -DTESSERA_BUILD_TESTS=OFF
  -DTESSERA_BUILD_EXAMPLES=OFF
  -DTESSERA_UNITY=ON
  "-DTESSERA_LLVM_ROOT=${CURRENT_INSTALLED_DIR}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME tessera CONFIG_PATH lib/cmake/tessera)
vcpkg_copy_tools(TOOL_NAMES tessera AUTO_CLEAN)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE")
