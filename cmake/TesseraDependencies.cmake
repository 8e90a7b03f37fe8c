# Packages by name; nothing is downloaded.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(TBB REQUIRED)
# Debian's package configuration of oneDNN asks for OpenCL, which the CPU library does not need.
find_path(TESSERA_DNNL_INCLUDE NAMES dnnl.hpp REQUIRED)
find_library(TESSERA_DNNL_LIBRARY NAMES dnnl REQUIRED)
add_library(DNNL::dnnl UNKNOWN IMPORTED)
set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${TESSERA_DNNL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${TESSERA_DNNL_INCLUDE})
# LLVM's own package configuration asks for libraries that only its tools need.
find_path(TESSERA_LLVM_INCLUDE NAMES llvm/IR/IRBuilder.h PATHS /usr/lib/llvm-19/include REQUIRED NO_DEFAULT_PATH)
find_library(TESSERA_LLVM_LIBRARY NAMES LLVM-19 LLVM PATHS /usr/lib/llvm-19/lib REQUIRED NO_DEFAULT_PATH)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
find_path(TESSERA_DLPACK_INCLUDE NAMES dlpack/dlpack.h REQUIRED)
pkg_check_modules(SLEEF REQUIRED IMPORTED_TARGET sleef)
find_library(TESSERA_OPENBLAS NAMES openblas REQUIRED)
find_path(TESSERA_CBLAS_INCLUDE NAMES cblas.h PATH_SUFFIXES openblas-pthread openblas x86_64-linux-gnu x86_64-linux-gnu/openblas-pthread REQUIRED)
find_path(TESSERA_KISSFFT_INCLUDE NAMES kissfft/kissfft.hh REQUIRED)  # a template: nothing to link
