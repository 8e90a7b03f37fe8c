# Language level, warnings, caches and linkers. Only what Tessera's own targets need; nothing here leaks to a parent project.

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(TESSERA_CCACHE ccache)
  if(TESSERA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT TESSERA_PRECOMPILED_HEADERS)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${TESSERA_CCACHE})
  endif()
  find_program(TESSERA_MOLD mold)
  if(TESSERA_MOLD AND NOT CMAKE_CROSSCOMPILING)  # a cross compiler does not find it
    add_link_options(-fuse-ld=mold)
  endif()
endif()

add_library(tessera_flags INTERFACE)
target_compile_features(tessera_flags INTERFACE cxx_std_20)
# No contraction: evaluators and emitted code must agree to the bit.
target_compile_options(tessera_flags INTERFACE -ffp-contract=off -Wall -Wextra -Wno-missing-field-initializers)
# What libstdc++ 12 implements stable_sort with is marked as deprecated, of which clang tells whoever calls stable_sort.
target_compile_options(tessera_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
# Everything in the process: examples and tests too, so that the memory and the locks of inline code are seen as well.
if(TESSERA_SANITIZE)
  add_compile_options(-fsanitize=${TESSERA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  # Clang looks for a function's type in front of its code, where compiled kernels have none, and perhaps no memory.
  add_compile_options($<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  add_link_options(-fsanitize=${TESSERA_SANITIZE})
endif()
