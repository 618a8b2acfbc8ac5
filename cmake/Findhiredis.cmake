# SPDX-License-Identifier: MIT
#
# Finds hiredis and defines distlock::libhiredis, however it was packaged:
# 1. upstream's own package (hiredis 1.0 and later), a target hiredis::hiredis,
# 2. pkg-config,
# 3. the header and the library, searched for.
# The target's include directories are SYSTEM, as those of every imported target: hiredis' headers do not compile
# cleanly under strict warnings. They are included as <hiredis/hiredis.h>.

# The name in lower case: Debian's HiredisConfig.cmake raises an error when no version is asked for, and has no target.
find_package(hiredis CONFIG QUIET)

if(TARGET hiredis::hiredis)
    set(hiredis_LIBRARY hiredis::hiredis)
    get_target_property(hint hiredis::hiredis INTERFACE_INCLUDE_DIRECTORIES)
else()
    find_package(PkgConfig QUIET)
    if(PKG_CONFIG_FOUND)
        pkg_check_modules(PC_HIREDIS QUIET hiredis)
    endif()
    set(hint ${PC_HIREDIS_INCLUDE_DIRS} ${PC_HIREDIS_INCLUDEDIR})
    find_library(hiredis_LIBRARY hiredis HINTS ${PC_HIREDIS_LIBRARY_DIRS} ${PC_HIREDIS_LIBDIR})
endif()

# Some packages name the directory of hiredis.h itself, others the one above it.
set(parents ${hint})
list(TRANSFORM parents APPEND "/..")
find_path(hiredis_INCLUDE_DIR hiredis/hiredis.h HINTS ${hint} ${parents})
mark_as_advanced(hiredis_LIBRARY hiredis_INCLUDE_DIR)

if(hiredis_INCLUDE_DIR AND EXISTS "${hiredis_INCLUDE_DIR}/hiredis/hiredis.h")
    file(STRINGS "${hiredis_INCLUDE_DIR}/hiredis/hiredis.h" version
         REGEX "^#define HIREDIS_(MAJOR|MINOR|PATCH) [0-9]+$")
    list(TRANSFORM version REPLACE "^.* " "")
    list(JOIN version "." hiredis_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(hiredis REQUIRED_VARS hiredis_LIBRARY hiredis_INCLUDE_DIR
                                  VERSION_VAR hiredis_VERSION)

if(hiredis_FOUND AND NOT TARGET distlock::libhiredis)
    add_library(distlock::libhiredis INTERFACE IMPORTED GLOBAL)
    target_link_libraries(distlock::libhiredis INTERFACE "${hiredis_LIBRARY}")
    target_include_directories(distlock::libhiredis INTERFACE "${hiredis_INCLUDE_DIR}")
endif()
