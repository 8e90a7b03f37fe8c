# A component is a library that programs link by its name, such as tessera::core; tessera::tessera is all of them. The core is
# made of the rooms of src/ that are listed here, in the order of their dependencies; every other component is the room of its
# name and needs the core. tests/check_rooms.py reads these lists, and finds files that include what their component does not need.
set(TESSERA_COMPONENTS core stablehlo platforms explain autosharding nn optim data checkpoints)
set(TESSERA_ROOMS_core base processes ir ops transform spmd codegen runtime api)
set(TESSERA_NEEDS_platforms stablehlo)
set(TESSERA_NEEDS_autosharding explain)

# The libraries from outside that a component links, and the same by name or path for whoever links an installed archive, so that
# the package needs no other packages.
set(TESSERA_LINKS_core fmt::fmt PkgConfig::XXHASH DNNL::dnnl PkgConfig::SLEEF ${TESSERA_LLVM_LIBRARY} TBB::tbb
  ${TESSERA_OPENBLAS} Threads::Threads ${CMAKE_DL_LIBS})
set(TESSERA_LINKS_data ZLIB::ZLIB)
set(TESSERA_LINKS_checkpoints PkgConfig::LIBZIP)
set(TESSERA_INSTALLED_LINKS_core ${TESSERA_LLVM_LIBRARY} ${TESSERA_DNNL_LIBRARY} ${TESSERA_OPENBLAS} sleef tbb fmt xxhash pthread dl)
set(TESSERA_INSTALLED_LINKS_data z)
set(TESSERA_INSTALLED_LINKS_checkpoints zip)

set(TESSERA_ROOMS ${TESSERA_ROOMS_core})
foreach(component IN LISTS TESSERA_COMPONENTS)
  if(NOT component STREQUAL "core")
    set(TESSERA_ROOMS_${component} ${component})
    list(APPEND TESSERA_NEEDS_${component} core)
    list(APPEND TESSERA_ROOMS ${component})
  endif()
endforeach()
