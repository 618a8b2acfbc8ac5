# SPDX-License-Identifier: MIT
#
# find_package(distlock)                     distlock::distlock; distlock::hiredis can be linked where hiredis is found
# find_package(distlock COMPONENTS hiredis)  not found unless hiredis is

include(CMakeFindDependencyMacro)
find_dependency(Threads)

set(distlock_module_path ${CMAKE_MODULE_PATH})
list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
if("hiredis" IN_LIST distlock_FIND_COMPONENTS AND distlock_FIND_REQUIRED_hiredis)
    find_dependency(hiredis)
else()
    find_package(hiredis QUIET)
endif()
set(CMAKE_MODULE_PATH ${distlock_module_path})
unset(distlock_module_path)
set(distlock_hiredis_FOUND ${hiredis_FOUND})

include(${CMAKE_CURRENT_LIST_DIR}/distlock-targets.cmake)

foreach(component IN LISTS distlock_FIND_COMPONENTS)
    if(distlock_FIND_REQUIRED_${component} AND NOT distlock_${component}_FOUND)
        set(distlock_FOUND FALSE)
        set(distlock_NOT_FOUND_MESSAGE "distlock has no component ${component} here")
    endif()
endforeach()
