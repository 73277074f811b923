#!/usr/bin/env bash
# axios-retry 4.5.0 (axios 1.21.1): a `Retry-After` beyond 24.8 days is no wait at all.
# Guess: the next attempt comes after the time that the server asked for, or never. Seen: it comes at once, since the
# wait goes to `setTimeout` as it is, whose delay is a signed 32-bit number of milliseconds.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund axios@1.21.1 axios-retry@4.5.0
cat > run.mjs <<'JS'
import { createServer } from 'node:http'
import axios from 'axios'
import axiosRetry from 'axios-retry'

const at = []
const server = createServer((_, response) => {
  at.push(performance.now())
  response.writeHead(at.length < 3 ? 503 : 200, { 'retry-after': '3000000' }).end()
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
axiosRetry(axios, { retries: 3, retryDelay: axiosRetry.exponentialDelay })
const { status } = await axios.get(`http://127.0.0.1:${server.address().port}/`)
server.close()
server.closeAllConnections()
const waited = Math.round(at[2] - at[0])
console.log(`asked to wait 3,000,000 s twice, answered ${status} after ${at.length} requests in ${waited} ms`)
process.exitCode = at.length === 3 && waited < 5_000 ? 0 : 1
JS
node run.mjs
