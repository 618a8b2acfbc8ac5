# SPDX-License-Identifier: MIT
# A transport in under 60 lines.
source "$(dirname "$0")/common.sh"

lines=$(awk '/^class own_transport/ { inside = 1 } inside { n++ } inside && /^};/ { print n; exit }' \
    "$root/examples/own_transport.cpp")
((lines > 0 && lines < 60)) || fail "the class has <$lines> lines"

start_server
run "$1" "$port"
expect 'exit code' "$code" 0
expect 'output' "$out$err" 'I have it. Do you get it? no
I gave it back. Do you get it? yes'
expect 'keys left behind' "$(cli dbsize)" 0
