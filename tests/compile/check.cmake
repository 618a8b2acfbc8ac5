# SPDX-License-Identifier: MIT
#
# Compiles SOURCE twice. As it stands it has to be accepted, with -DREJECT it has to be refused: the two differ by the
# lines under #ifdef REJECT only, so a refusal has no other reason.
cmake_minimum_required(VERSION 3.25)

function(compile result output)
    execute_process(COMMAND ${CXX} -std=c++20 -I ${INCLUDE} -Wall -Wextra -Werror ${ARGN} -fsyntax-only ${SOURCE}
                    ERROR_VARIABLE errors RESULT_VARIABLE code)
    set(${result} ${code} PARENT_SCOPE)
    set(${output} "${errors}" PARENT_SCOPE)
endfunction()

compile(code errors)
if(NOT code EQUAL 0)
    message(FATAL_ERROR "${SOURCE} should compile:\n${errors}")
endif()

compile(code errors -DREJECT)
if(code EQUAL 0)
    message(FATAL_ERROR "${SOURCE} should not compile with -DREJECT")
endif()
message("refused, as it should be:\n${errors}")
