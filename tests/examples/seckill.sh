# SPDX-License-Identifier: MIT
# The flash sale, in small.
source "$(dirname "$0")/common.sh"
seckill=$1
mkdir "$folder/tmp"
export TMPDIR=$folder/tmp # where the private server lives

# check_sales <stock> <number of a setting>...: the table in $out has these rows, their numbers fit together.
check_sales() {
    local stock=$1
    shift
    expect 'rows' "$(grep -o '^([0-9])' <<<"$out" | tr -d '()\n')" "$(printf '%s' "$@" "$@")"
    # From the right: failed, sold, left, total, mean, longest wait, commands per acquisition.
    grep '^(' <<<"$out" | head -n $# | while read -r row; do
        awk -v stock="$stock" '{ gsub(",", ""); exit !($(NF - 5) + $(NF - 4) == stock && $NF >= 2) }' <<<"$row" ||
            fail "does not add up: $row"
    done
    # From the right: nine percentiles, none smaller than the one before.
    grep '^(' <<<"$out" | tail -n $# | while read -r row; do
        awk '{ gsub(",", ""); for (i = NF - 7; i <= NF; i++) if ($i + 0 < $(i - 1) + 0) exit 1 }' <<<"$row" ||
            fail "percentiles not in order: $row"
    done
}

nothing_left() { [[ -z $(ls -A "$TMPDIR") ]]; }

# Starts a long sale in the background: $pid; and $server_pid, the private server's.
start_long_sale() {
    "$seckill" --setting 3 --buyers 20 --requests 1000000 --stock 1000000 "$@" \
        >"$folder/out" 2>"$folder/err" &
    pid=$!
}
private() { redis-cli -s "$TMPDIR"/seckill-*/socket "$@" 2>/dev/null; }
await_private_sale() {
    eventually private_sale_is_on
    server_pid=$(private info server | tr -d '\r' | sed -n 's/^process_id://p')
}
private_sale_is_on() { [[ $(private info commandstats) == *cmdstat_decr:* ]]; }

case $2 in
sale)
    run "$seckill" --buyers 20 --requests 200 --stock 150 --deadline 5s
    expect 'exit code' "$code" 0
    check_sales 150 1 2 3 4 5 6
    expect_part 'proof' "$out" \
        'Proven for every sale above: sold + left = stock (150), and no two buyers were ever inside.'
    expect 'progress or trouble, where nobody looks' "$err" ''
    nothing_left || fail 'something is left behind'
    ;;
choice)
    run "$seckill" --buyers 5 --requests 40 --stock 100 --setting 5 6
    expect 'exit code' "$code" 0
    check_sales 100 5 6
    expect 'sold at most once a request' "$(awk '/^\(5\)/ { print $(NF - 5), $(NF - 4); exit }' <<<"$out")" '40 60'
    ;;
no_lock)
    run "$seckill" --no-lock --setting 6 --buyers 50 --requests 2000 --stock 2000
    expect 'exit code' "$code" 1
    expect_part 'proof' "$out" 'NOT PROVEN under (6)'
    [[ ! $out == *' inside 0 times'* ]] || fail 'nobody met anybody without a lock'
    [[ $out != *'Proven for'* ]] || fail 'proven all the same'
    ;;
flags)
    while read -r flags; do
        read -ra words <<<"$flags"
        run "$seckill" "${words[@]}"
        expect "exit code of $flags" "$code" 2
        expect "output of $flags" "$out" ''
        expect_part "message about $flags" "$err" "${words[0]}"
        [[ $err != *secret* ]] || fail "a password is shown: $err"
    done <<'FLAGS'
--buyers 0
--buyers 10001
--buyers many
--buyers
--requests 0
--requests -1
--requests 1e6
--stock -1
--deadline 5
--deadline 0s
--deadline -5s
--deadline 5h
--deadline 99999999999999999999s
--ttl 0ms
--ttl 1441min
--setting 0
--setting 7
--setting two
--url http://127.0.0.1
--url rediss://127.0.0.1
--url redis://:secret@127.0.0.1:99999
--unknown
stray
FLAGS
    run "$seckill" --help
    expect 'exit code of --help' "$code" 0
    for flag in buyers requests stock deadline ttl setting url no-lock; do
        expect_part 'help' "$out" "--$flag"
    done
    ulimit -n 100
    run "$seckill" --buyers 1000
    expect 'exit code with few descriptors' "$code" 1
    expect_part 'message about few descriptors' "$err" 'try fewer --buyers'
    nothing_left || fail 'something is left behind'
    ;;
terminal)
    run script -qec "'$seckill' --setting 3 --buyers 20 --requests 300" /dev/null
    expect 'exit code' "$code" 0
    expect_part 'progress' "$out" ' of 300 requests, 0 failed'
    ;;
interrupted)
    for signal in INT TERM HUP; do
        start_long_sale
        await_private_sale
        kill -s "$signal" "$pid"
        code=0
        wait "$pid" || code=$?
        expect "exit code after $signal" "$code" $((128 + $(kill -l "$signal")))
        gone "$server_pid" || fail "the server lives on after $signal"
        nothing_left || fail "something is left behind after $signal"
        expect 'message' "$(<"$folder/err")" 'seckill: stopped by a signal'
    done
    ;;
killed)
    start_long_sale
    await_private_sale
    kill -KILL "$pid"
    eventually gone "$server_pid"
    ;;
own_server)
    start_server
    cli set mine precious >"$folder/set"
    run "$seckill" --url "unix://$folder/socket" --setting 6 --buyers 20 --requests 100 --stock 100
    expect 'exit code' "$code" 0
    check_sales 100 6
    expect 'keys after a sale' "$(cli keys '*')" mine

    start_long_sale --url "redis://127.0.0.1:$port"
    sale_is_on() { [[ $(cli keys '*:inside') ]]; }
    eventually sale_is_on
    kill -INT "$pid"
    code=0
    wait "$pid" || code=$?
    expect 'exit code after Ctrl-C' "$code" 130
    only_mine_is_left() { [[ $(cli keys '*') == mine ]]; }
    eventually only_mine_is_left # a release that nobody waited for may be on its way
    nothing_left || fail 'a private server was started too'
    ;;
no_server)
    run "$seckill" --url "unix://$folder/nobody"
    expect 'exit code' "$code" 1
    expect_part 'message' "$err" "seckill: unix:$folder/nobody: No such file or directory"

    PATH=$folder run "$seckill"
    expect 'exit code without redis-server' "$code" 1
    expect_part 'message without redis-server' "$err" 'redis-server is not installed'
    nothing_left || fail 'something is left behind'
    ;;
*) fail "no such case: $2" ;;
esac
