#!/usr/bin/env bash
# undici 8.13.1: RetryAgent asks again before the server's `Retry-After` is over.
# Guess: `maxTimeout` bounds its own growing waits, and the server's wait counts. Seen: the server's is cut to it, too (30 s by default).
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund undici@8.13.1
cat > run.mjs <<'JS'
import { createServer } from 'node:http'
import { Agent, RetryAgent, request } from 'undici'

const at = []
const server = createServer((_, response) => {
  at.push(performance.now())
  response.writeHead(at.length < 2 ? 503 : 200, { 'retry-after': '5' }).end()
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const dispatcher = new RetryAgent(new Agent(), { maxTimeout: 300 })
const { statusCode } = await request(`http://127.0.0.1:${server.address().port}/`, { dispatcher })
await dispatcher.close()
server.close()
const waited = Math.round(at[1] - at[0])
console.log(`asked to wait 5,000 ms; asked again after ${waited} ms and got ${statusCode}`)
process.exitCode = statusCode === 200 && waited < 2_500 ? 0 : 1
JS
node run.mjs
