#!/usr/bin/env bash
# Node 24.21.0 (libuv 1.52.1) on Linux: a server takes one waiting connection each time round its event loop, however many the system holds for it.
# Guess: all that wait are accepted at once, and what they ask for shares the next round. Seen: of 50 connections that waited, each came in a round of its own. A handler that
# stands still for 10 ms a request keeps the last of 1,000 new clients for 10 s, though it has a connection and has sent its request; work cannot be batched by the round.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund node@24.21.0
cat > clients.mjs <<'JS'
import { once } from 'node:events'
import { connect } from 'node:net'

const sockets = Array.from({ length: 50 }, () => connect(Number(process.argv[2]), '127.0.0.1').on('error', () => {}))
await Promise.all(sockets.map((socket) => once(socket, 'connect')))
JS
cat > run.mjs <<'JS'
import { spawnSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'

const MOST = 50
const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 100 })
await once(server, 'listening')
let round = 0
const accepted = []
const clients = spawn(process.execPath, ['clients.mjs', `${server.address().port}`])
server.on('connection', (socket) => {
  socket.on('error', () => {})
  accepted.push(round)
})
// stands still until the clients have connected, for which the system needs no server that accepts
spawnSync(process.execPath, ['-e', 'setTimeout(() => {}, 3_000)'])
while (accepted.length < MOST) {
  await new Promise(setImmediate)
  round++
}
const most = Math.max(...accepted.map((each) => accepted.filter((other) => other === each).length))
clients.kill()
server.close()
console.log(`Node ${process.versions.node}, libuv ${process.versions.uv}: ${MOST} waiting connections in ${new Set(accepted).size} rounds, at most ${most} in one`)
process.exit(most === 1 ? 0 : 1)
JS
node_modules/.bin/node run.mjs
