# SPDX-License-Identifier: MIT
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/distlock)
install(TARGETS distlock distlock_hiredis EXPORT distlock-targets FILE_SET HEADERS)
install(EXPORT distlock-targets NAMESPACE distlock:: DESTINATION ${package_dir})

# Headers only: neither the processor nor the size of a pointer matters. Before 1.0 a minor version may break.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/distlock-config-version.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES cmake/distlock-config.cmake cmake/Findhiredis.cmake ${PROJECT_BINARY_DIR}/distlock-config-version.cmake
        DESTINATION ${package_dir})
