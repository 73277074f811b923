#!/usr/bin/env bash
# workbox-background-sync 7.4.1: a replay that is answered with 500 counts as delivered.
# Guess: what the server could not do stays in the queue. Seen: only a lost connection keeps it; after an answer of any status it is gone.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund workbox-background-sync@7.4.1 fake-indexeddb@6.2.8 esbuild@0.28.2
cat > run.mjs <<'JS'
import 'fake-indexeddb/auto'
import { createServer } from 'node:http'

// what a service worker has and Node lacks
globalThis.self = globalThis
globalThis.registration = { scope: 'http://127.0.0.1/', sync: { register: async () => {} } }
globalThis.addEventListener = () => {}
const { Queue } = await import('workbox-background-sync')

let requests = 0
const server = createServer((_, response) => {
  requests += 1
  response.writeHead(500).end()
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const queue = new Queue('orders')
await queue.pushRequest({ request: new Request(`http://127.0.0.1:${server.address().port}/`, { method: 'POST', body: '1' }) })
const before = await queue.size()
await queue.replayRequests()
const left = await queue.size()
server.close()
server.closeAllConnections()
console.log(`queued ${before}, sent ${requests}, answered 500, left ${left}`)
process.exit(before === 1 && requests === 1 && left === 0 ? 0 : 1)
JS
npx esbuild run.mjs --bundle --platform=node --format=esm --outfile=bundled.mjs --log-level=error
NODE_ENV=production node bundled.mjs
