#!/usr/bin/env bash
# ioredis 6.0.0: a command whose answer is lost with the connection is sent again, an INCR too.
# Guess: the promise rejects, as the outcome is unknown. Seen: with default options it resolves, and the server has done it twice.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund ioredis@6.0.0
cat > run.mjs <<'JS'
import { createServer } from 'node:net'
import { Redis } from 'ioredis'

// as much of a Redis as the client asks for; it does the first INCR and is gone before it answers
let count = 0
const server = createServer((socket) => {
  socket.on('error', () => {})
  socket.on('data', (data) => {
    const text = data.toString().toLowerCase()
    if (!text.includes('incr')) return void socket.write(text.includes('info') ? '$19\r\nredis_version:7.0.0\r\n' : '+OK\r\n')
    count += 1
    if (count === 1) socket.destroy()
    else socket.write(`:${count}\r\n`)
  })
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const redis = new Redis({ port: server.address().port, host: '127.0.0.1', enableReadyCheck: false, disableClientInfo: true })
const answer = await redis.incr('orders').catch((error) => error.message)
redis.disconnect()
server.close()
console.log(`one incr() answered ${answer}; the server did ${count}`)
process.exitCode = answer === 2 && count === 2 ? 0 : 1
JS
node run.mjs
