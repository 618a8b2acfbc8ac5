# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
#
# Read by tests/run, examples/run, bench/run and .ci/run: installs what is missing, configures, builds.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '== %s\n' "$*" >&2; }
die() { printf '%s\n' "$*" >&2; exit 1; }

# Is what this Debian package brings there already, wherever it came from?
have() {
    case $1 in
    g++ | cmake | ninja-build | pkg-config | redis-server | clang | clang-format | clang-tidy | git | strace)
        command -v "${1%-build}" >/dev/null ;;
    libhiredis-dev) pkg-config --exists hiredis 2>/dev/null ;;
    libgtest-dev) pkg-config --exists gtest 2>/dev/null ;;
    libbenchmark-dev) pkg-config --exists benchmark 2>/dev/null ;;
    libcli11-dev) pkg-config --exists CLI11 2>/dev/null ;;
    liblua5.1-0-dev) pkg-config --exists lua5.1 2>/dev/null ;;
    libclang-rt-*-dev) compgen -G "$(clang -print-resource-dir 2>/dev/null)/lib/*/libclang_rt.tsan*.a" >/dev/null ;;
    *) dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed ;;
    esac
}

# install_tools <Debian package>...: those that are missing. (Where systemd runs, Debian starts a redis-server of its own
# on port 6379 when the package is installed. Nothing here uses it: `systemctl disable --now redis-server`.)
install_tools() {
    local missing=() package apt=(apt-get)
    for package in "$@"; do
        have "$package" || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    ((EUID == 0)) || apt=(sudo -n apt-get)
    if ! command -v apt-get >/dev/null || { ((EUID != 0)) && ! sudo -n true 2>/dev/null; }; then
        die "These are missing, and apt-get as root is not to be had here: ${missing[*]} (the names are Debian's)"
    fi
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    { "${apt[@]}" update -q && "${apt[@]}" install -qy --no-install-recommends "${missing[@]}"; } >&2 ||
        die "apt-get could not install: ${missing[*]}"
}

build_tools=(g++ cmake ninja-build pkg-config libhiredis-dev)

# configure <build folder> <cmake argument>...
configure() {
    local build=$1 generator=()
    shift
    if command -v ninja >/dev/null && [[ ! -e $build/CMakeCache.txt ]]; then
        generator=(-G Ninja)
    fi
    cmake -S "$root" -B "$build" "${generator[@]}" "$@" >&2
}

# build <build folder> <target>...
build() {
    local build=$1
    shift
    cmake --build "$build" --parallel "$(nproc)" ${1:+--target "$@"} >&2
}
