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
set(TESSERA_LLVM_ROOT /usr/lib/llvm-19 CACHE PATH "The folder of LLVM 19")
find_path(TESSERA_LLVM_INCLUDE NAMES llvm/IR/IRBuilder.h PATHS ${TESSERA_LLVM_ROOT}/include REQUIRED NO_DEFAULT_PATH)
find_library(TESSERA_LLVM_LIBRARY NAMES LLVM-19 LLVM PATHS ${TESSERA_LLVM_ROOT}/lib REQUIRED NO_DEFAULT_PATH)

# Libraries that are shipped with everything that they need take LLVM's archives instead of its shared library, which is four times as
# large as what is used of it, and brings further libraries along.
find_program(TESSERA_LLVM_CONFIG NAMES llvm-config-19 llvm-config PATHS ${TESSERA_LLVM_ROOT}/bin)
find_library(TESSERA_ZSTD NAMES zstd libzstd.so.1)
if(TESSERA_LLVM_ARCHIVES AND NOT (TESSERA_LLVM_CONFIG AND TESSERA_ZSTD))
  message(FATAL_ERROR "TESSERA_LLVM_ARCHIVES needs llvm-config-19 and libzstd")
endif()
set(TESSERA_LLVM_PARTS x86 orcjit passes)
# Replaces LLVM's shared library by its archives in a list of what to link, and in items $<BUILD_INTERFACE:...> of it.
function(tessera_replace_llvm list)
  execute_process(COMMAND ${TESSERA_LLVM_CONFIG} --link-static --libfiles ${TESSERA_LLVM_PARTS}
    OUTPUT_VARIABLE archives OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(archives UNIX_COMMAND "${archives}")
  set(replaced "")
  foreach(item IN LISTS ${list})
    if(item MATCHES "^(\\$<BUILD_INTERFACE:)?(.*[^>])>?$" AND CMAKE_MATCH_2 STREQUAL TESSERA_LLVM_LIBRARY)
      list(APPEND replaced ${archives} ZLIB::ZLIB ${TESSERA_ZSTD})
    else()
      list(APPEND replaced ${item})
    endif()
  endforeach()
  set(${list} ${replaced} PARENT_SCOPE)
endfunction()

find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
find_path(TESSERA_DLPACK_INCLUDE NAMES dlpack/dlpack.h REQUIRED)
pkg_check_modules(SLEEF REQUIRED IMPORTED_TARGET sleef)
find_library(TESSERA_OPENBLAS NAMES openblas PATH_SUFFIXES openblas-pthread REQUIRED)
find_path(TESSERA_CBLAS_INCLUDE NAMES cblas.h PATH_SUFFIXES openblas-pthread openblas ${CMAKE_LIBRARY_ARCHITECTURE} ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread REQUIRED)
