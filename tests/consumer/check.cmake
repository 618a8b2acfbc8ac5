# SPDX-License-Identifier: MIT
#
# Builds and runs the project beside this file in SCRATCH, with distlock as WAY says:
#   installed      installed from BUILD, then find_package
#   subdirectory   add_subdirectory of ROOT
#   wrong_version  installed; versions that it is not have to be refused, its own has to be taken
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${SCRATCH})
set(ENV{CXXFLAGS} "")
set(ENV{LDFLAGS} "")

function(run)
    execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${CXX} -S ${CMAKE_CURRENT_LIST_DIR})
set(installed -D CMAKE_PREFIX_PATH=${SCRATCH}/prefix)

if(NOT WAY STREQUAL "subdirectory")
    run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
endif()

if(WAY STREQUAL "wrong_version")
    file(STRINGS ${ROOT}/CMakeLists.txt version REGEX "^project[(]distlock VERSION")
    string(REGEX REPLACE ".* VERSION ([0-9]+)[.]([0-9]+)[.]([0-9]+).*" "\\1;\\2" version "${version}")
    list(POP_FRONT version major minor)
    run(${configure} ${installed} -B ${SCRATCH}/build -D WANTED_VERSION=${major}.${minor})
    math(EXPR next_major "${major} + 1")
    math(EXPR next_minor "${minor} + 1")
    foreach(wrong IN ITEMS ${next_major}.${minor} ${major}.${next_minor} ${major}.${minor}.999)
        execute_process(COMMAND ${configure} ${installed} -B ${SCRATCH}/${wrong} -D WANTED_VERSION=${wrong}
                        RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE errors)
        if(code EQUAL 0 OR NOT errors MATCHES "version")
            message(FATAL_ERROR "version ${wrong} was not refused for its version:\n${errors}")
        endif()
    endforeach()
    return()
endif()

if(WAY STREQUAL "installed")
    run(${configure} ${installed} -B ${SCRATCH}/build)
else()
    run(${configure} -D DISTLOCK_SOURCE_DIR=${ROOT} -B ${SCRATCH}/build)
    # As somebody's subdirectory we build nothing of our own.
    file(GLOB_RECURSE ours ${SCRATCH}/build/distlock/*_tests* ${SCRATCH}/build/distlock/*seckill*)
    if(ours)
        message(FATAL_ERROR "tests or examples in a user's build: ${ours}")
    endif()
endif()
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${SCRATCH}/build/consumer)
run(${SCRATCH}/build/consumer_alone)
