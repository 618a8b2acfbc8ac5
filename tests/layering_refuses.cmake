# SPDX-License-Identifier: MIT
#
# Shows layering.cmake small trees with one fault each, in SCRATCH, and wants each fault named.
cmake_minimum_required(VERSION 3.25)

set(begin "// SPDX-License-Identifier: MIT\n#pragma once\n")

# check(<text that the complaint contains, or ok> [<header> <its text>]...)
function(check expected)
    file(REMOVE_RECURSE ${SCRATCH})
    list(POP_FRONT ARGN file text)
    while(file)
        file(WRITE ${SCRATCH}/include/distlock/${file} "${text}")
        list(POP_FRONT ARGN file text)
    endwhile()
    execute_process(COMMAND ${CMAKE_COMMAND} -D ROOT=${SCRATCH} -P ${CMAKE_CURRENT_LIST_DIR}/layering.cmake
                    RESULT_VARIABLE code ERROR_VARIABLE output)
    if(expected STREQUAL "ok")
        if(NOT code EQUAL 0)
            message(FATAL_ERROR "refused a good tree:\n${output}")
        endif()
    elseif(code EQUAL 0)
        message(FATAL_ERROR "did not notice: ${expected}")
    else()
        string(FIND "${output}" "${expected}" at)
        if(at EQUAL -1)
            message(FATAL_ERROR "expected \"${expected}\", got:\n${output}")
        endif()
    endif()
endfunction()

set(clock clock.hpp "${begin}#include <chrono>\n")
check("ok" ${clock} reply.hpp "${begin}// hiredis\n#include \"distlock/clock.hpp\"\n"
      redis_lock.hpp "${begin}#include \"distlock/reply.hpp\"\n"
      hiredis.hpp "${begin}#include \"distlock/clock.hpp\"\n#include <hiredis/hiredis.h>\n")
check("on floor 1, includes redis_lock.hpp of floor 4" redis_lock.hpp "${begin}"
      clock.hpp "${begin}#include \"distlock/redis_lock.hpp\"\n")
check("includes its neighbour redis_lock.hpp" redis_lock.hpp "${begin}"
      fair_lock.hpp "${begin}#include <distlock/redis_lock.hpp>\n")
check("a leaf" hiredis.hpp "${begin}" distlock.hpp "${begin}#include \"distlock/hiredis.hpp\"\n")
check("a leaf, includes distlock.hpp" distlock.hpp "${begin}" hiredis.hpp "${begin}#include \"distlock/distlock.hpp\"\n")
check("reply.hpp: names hiredis" reply.hpp "${begin}#include <hiredis/hiredis.h>\n")
check("in a circle" clock.hpp "${begin}#include \"distlock/reply.hpp\"\n"
      reply.hpp "${begin}#include \"distlock/clock.hpp\"\n")
check("stranger.hpp: on no floor" ${clock} stranger.hpp "${begin}")
check("which does not exist" clock.hpp "${begin}#include \"distlock/reply.hpp\"\n")
check("named from distlock/ on" ${clock} reply.hpp "${begin}#include \"clock.hpp\"\n")
check("does not begin with the SPDX line" clock.hpp "#pragma once\n")
check("does not begin with the SPDX line" clock.hpp "// SPDX-License-Identifier: MIT\n#include <chrono>\n")
check("not a .hpp" ${clock} clock.h "${begin}")
check("no headers under")
