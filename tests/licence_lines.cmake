# SPDX-License-Identifier: MIT
#
# Every text file of ours under ROOT begins with the SPDX line, in its own comment syntax; scripts have it after the #!.
cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/*.hpp ${ROOT}/*.cpp ${ROOT}/*.lua ${ROOT}/*.py ${ROOT}/*.sh ${ROOT}/*.cmake
     ${ROOT}/*.md ${ROOT}/*.yml ${ROOT}/*/CMakeLists.txt ${ROOT}/*/run)
list(FILTER files EXCLUDE REGEX "^build|^[.]git/|^[.]cache/")
list(APPEND files CMakeLists.txt .clang-format .clang-tidy .gitignore .ci/run)

set(missing "")
foreach(file IN LISTS files)
    file(STRINGS ${ROOT}/${file} lines LIMIT_COUNT 2)
    list(POP_FRONT lines first second)
    if(first MATCHES "^#!")
        set(first "${second}")
    endif()
    if(NOT first MATCHES "^(//|#|--|<!--) SPDX-License-Identifier: MIT( -->)?$")
        string(APPEND missing "  ${file}\n")
    endif()
endforeach()
if(missing)
    message(FATAL_ERROR "without the SPDX line at their head:\n${missing}")
endif()
list(LENGTH files count)
message("${count} files name their licence")
