# Installs the build, static or shared, into a folder of its own. Builds the consumer against it by CMake, with all components and with
# the core alone, and by pkg-config, and compares its output.
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

# A program of the core alone is linked with no library that only other components need. (A shared library names its own.)
step(${CMAKE_COMMAND} -S ${SOURCE}/core -B ${WORK}/core -G Ninja -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_BUILD_TYPE=Debug)
step(${CMAKE_COMMAND} --build ${WORK}/core)
consume(${WORK}/core/core_consumer)
step(readelf -d ${WORK}/core/core_consumer)
if(NOT out MATCHES "NEEDED[^\n]*lib(LLVM|tessera)" OR out MATCHES "NEEDED[^\n]*lib(zip|z)\\.so")
  message(FATAL_ERROR "a program of the core is linked with\n${out}")
endif()

# The project that the installed command writes builds, runs and passes its tests with the line that the command prints.
file(GLOB command ${WORK}/prefix/bin/tessera)
if(NOT command)
  message(FATAL_ERROR "the command is not installed")
endif()
step(${CMAKE_COMMAND} -E chdir ${WORK} ${command} new two_spirals)
if(NOT out MATCHES "\n    cmake -B build -Dtessera_DIR='([^'\n]*)'\n")
  message(FATAL_ERROR "tessera new printed\n${out}")
endif()
set(package ${CMAKE_MATCH_1})
step(${command} --cmake-dir)
if(NOT out STREQUAL "${package}\n")
  message(FATAL_ERROR "tessera --cmake-dir printed '${out}', and tessera new '${package}'")
endif()
set(project ${WORK}/two_spirals)
step(${CMAKE_COMMAND} -S ${project} -B ${project}/build -G Ninja -Dtessera_DIR=${package} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Debug)
step(${CMAKE_COMMAND} --build ${project}/build)
step(${CMAKE_COMMAND} -E chdir ${project} ${project}/build/two_spirals)
if(NOT out MATCHES "^step   0  loss 0\\.[0-9]+\n.*\naccuracy (1\\.000|0\\.99[0-9])\nsaved spirals.safetensors\n$" OR NOT EXISTS ${project}/spirals.safetensors)
  message(FATAL_ERROR "the project printed\n${out}")
endif()
step(${CMAKE_CTEST_COMMAND} --test-dir ${project}/build)

# Asking for a component that does not exist makes the whole request fail.
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE}/wrong_component -B ${WORK}/wrong_component -G Ninja
  -DCMAKE_PREFIX_PATH=${WORK}/prefix RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE errors)
string(REGEX REPLACE "^.*Reason given by package:" "" reason "${errors}")
string(STRIP "${reason}" reason)
set(expected "tessera: there is no component 'layers' or 'optimisers'

    rule: the components are core, stablehlo, platforms, explain, autosharding, nn, optim, data, checkpoints
    try: name those that the program uses, or leave COMPONENTS out and link tessera::tessera, which is all of them")
if(NOT code OR NOT reason STREQUAL expected)
  message(FATAL_ERROR "wrong components gave ${code} and\n${errors}")
endif()

# pkg-config, called in the usual way, without --static.
file(GLOB_RECURSE pc ${WORK}/prefix/*/tessera.pc)
cmake_path(GET pc PARENT_PATH pc_folder)
cmake_path(GET pc_folder PARENT_PATH libraries)
set(ENV{PKG_CONFIG_PATH} ${pc_folder})
step(pkg-config --cflags --libs tessera)
separate_arguments(flags UNIX_COMMAND "${out}")
step(${COMPILER} -std=c++20 ${SOURCE}/main.cc -o ${WORK}/by_pkg_config ${flags} -Wl,-rpath,${libraries})
consume(${WORK}/by_pkg_config)
