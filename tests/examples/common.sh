# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Read by the tests here: a temporary folder, a server in it, and checks. Everything is gone at the end.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
server=''

clean_up() {
    local started
    started=$(jobs -p) # the servers and programs of this test that still run
    [[ -z $started ]] || { kill -KILL $started && wait; } 2>/dev/null || true
    rm -rf "$folder"
}
trap clean_up EXIT

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

# expect <what> <found> <wanted>
expect() { [[ $2 == "$3" ]] || fail "$1: found <$2>, wanted <$3>"; }
# expect_part <what> <text> <part>
expect_part() { [[ $2 == *"$3"* ]] || fail "$1: no <$3> in <$2>"; }

# eventually <command>...: until it succeeds, for 20 seconds at most.
eventually() {
    local limit=$((SECONDS + 20))
    until "$@"; do
        ((SECONDS < limit)) || fail "in vain: $*"
        sleep 0.02
    done
}

# run <command>...: its exit code in $code, its output in $out and $err.
run() {
    code=0
    "$@" >"$folder/out" 2>"$folder/err" || code=$?
    out=$(<"$folder/out") err=$(<"$folder/err")
}

gone() { ! kill -0 "$1" 2>/dev/null; }

cli() { redis-cli -s "$folder/socket" "$@"; }

# A redis-server at $folder/socket and at $port.
start_server() {
    local tries
    for tries in {1..50}; do
        port=$((20000 + RANDOM % 12000))
        redis-server --bind 127.0.0.1 --port "$port" --unixsocket "$folder/socket" --dir "$folder" --save '' \
            --logfile "$folder/log" >/dev/null &
        server=$!
        eventually answers_or_is_gone
        ! gone "$server" || continue
        return 0
    done
    fail "no server after $tries tries: $(tail -n 1 "$folder/log")"
}
answers_or_is_gone() { gone "$server" || [[ $(cli ping 2>/dev/null) == PONG ]]; }
