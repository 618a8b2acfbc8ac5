# SPDX-License-Identifier: MIT
#
# How our own tests, benchmarks and examples are compiled. Nothing here reaches whoever uses the library.

option(DISTLOCK_WERROR "Treat warnings in our own targets as errors" ${PROJECT_IS_TOP_LEVEL})
set(DISTLOCK_SANITIZE "" CACHE STRING "Sanitizers for our own targets: address,undefined or thread")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_EXTENSIONS OFF)
set(distlock_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow $<$<BOOL:${DISTLOCK_WERROR}>:-Werror>)

# target_link_libraries(<own target> PRIVATE distlock_developer)
add_library(distlock_developer INTERFACE)
target_compile_options(distlock_developer INTERFACE ${distlock_warnings})
if(DISTLOCK_SANITIZE)
    target_compile_options(distlock_developer INTERFACE -fsanitize=${DISTLOCK_SANITIZE} -fno-sanitize-recover=all
                                                        -fno-omit-frame-pointer -g1)
    target_link_options(distlock_developer INTERFACE -fsanitize=${DISTLOCK_SANITIZE})
endif()
