#!/usr/bin/env bash
# Redis 7.0.15: while a library of functions loads there is nothing of Lua but the language: neither `string`, `math` and `tonumber` nor `redis.call`.
# Guess: what a script may say at its top, such as `local upper = string.upper`, a library may say at its top, too. Seen: FUNCTION LOAD
# refuses it, "nonexistent global variable 'string'"; inside a function of the same library `string.upper` is there.
set -euo pipefail
dir=$(mktemp -d)
trap 'kill "${server:-}" 2> /dev/null || true; rm -rf "$dir"' EXIT
cd "$dir"
apt-get -qq -o APT::Sandbox::User=root download redis-tools=5:7.0.15-1~deb12u10 libjemalloc2=5.3.0-1 liblzf1=3.6-3
for file in *.deb; do dpkg-deb -x "$file" .; done
export LD_LIBRARY_PATH="$dir/usr/lib/$(uname -m)-linux-gnu"
# the server is the same program under another name
ln -s "$dir/usr/bin/redis-check-rdb" redis-server
./redis-server --port 0 --unixsocket "$dir/socket" --save '' > server.log &
server=$!
ask() { usr/bin/redis-cli -s "$dir/socket" "$@"; }
for _ in $(seq 100); do [ "$(ask ping 2> /dev/null)" = PONG ] && break || sleep 0.1; done
script=$(ask eval "local upper = string.upper return upper('a')" 0)
atTop=$(ask function load $'#!lua name=t\nlocal upper = string.upper\nredis.register_function("f", function() return upper("a") end)' 2>&1)
ask function load $'#!lua name=t\nredis.register_function("f", function() local upper = string.upper return upper("a") end)' > /dev/null
inside=$(ask fcall f 0)
echo "in a script: $script; at the top of a library: $atTop; in its function: $inside"
[[ $script = A && $inside = A && $atTop = *"nonexistent global variable 'string'"* ]]
