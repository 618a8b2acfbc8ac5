# SPDX-License-Identifier: MIT
# hello.cpp is the program that README shows, word for word, and it works.
source "$(dirname "$0")/common.sh"

in_readme=$(awk '/^<!-- hello.cpp -->$/ { near = 1; next }
                 near && /^```cpp$/     { inside = 1; next }
                 inside && /^```$/      { exit }
                 inside' "$root/README.md")
expect "README's program" "$in_readme" "$(tail -n +2 "$root/examples/hello.cpp")"

start_server
run "$1" "unix://$folder/socket"
expect 'exit code' "$code" 0
expect 'output' "$out$err" 'order 42 is ours'
expect 'keys left behind' "$(cli dbsize)" 0

run "$1" 'redis://:secret@127.0.0.1'
expect_part 'what it says without a right to log in' "$err" '"orders:42" at 127.0.0.1:6379'
