# Installs the build into a folder of its own, builds the consumer against it by CMake and by pkg-config, and compares
# what it prints. Static or shared as the build is.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(code)
    message(FATAL_ERROR "failed: ${ARGN}\n${out}")
  endif()
  set(out ${out} PARENT_SCOPE)
endfunction()
function(consume program)
  execute_process(COMMAND ${program} OUTPUT_VARIABLE out ERROR_VARIABLE errors RESULT_VARIABLE code)
  if(code OR NOT out STREQUAL "10.0 [2. 4.]\n")
    message(FATAL_ERROR "${program} printed '${out}${errors}' and ended with ${code}")
  endif()
endfunction()

step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
step(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G Ninja -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_BUILD_TYPE=Debug)
step(${CMAKE_COMMAND} --build ${WORK}/build)
consume(${WORK}/build/consumer)

# By pkg-config, asked as anybody asks: without --static.
file(GLOB_RECURSE pc ${WORK}/prefix/*/tessera.pc)
cmake_path(GET pc PARENT_PATH pc_folder)
cmake_path(GET pc_folder PARENT_PATH libraries)
set(ENV{PKG_CONFIG_PATH} ${pc_folder})
step(pkg-config --cflags --libs tessera)
separate_arguments(flags UNIX_COMMAND "${out}")
step(${COMPILER} -std=c++20 ${SOURCE}/main.cc -o ${WORK}/by_pkg_config ${flags} -Wl,-rpath,${libraries})
consume(${WORK}/by_pkg_config)
