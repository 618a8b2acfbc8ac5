# SPDX-License-Identifier: MIT
# Locks over the redisContext that the program uses for its own commands too.
source "$(dirname "$0")/common.sh"

start_server
run "$1" "$folder/socket"
expect 'exit code' "$code" 0
expect 'output' "$out$err" 'locked; keys there: 1
unlocked; keys there: 0'

run "$1" "$folder/nobody"
expect 'exit code without a server' "$code" 1
expect_part 'what it says without a server' "$err" 'no connection: No such file'
