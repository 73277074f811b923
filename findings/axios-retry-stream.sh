#!/usr/bin/env bash
# axios-retry 4.5.0 (axios 1.21.1): a stream as body is sent again as an empty body, and the call succeeds.
# Guess: the call fails, or the stream is not retried. Seen: the second PUT has no byte, and its 200 is the answer.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund axios@1.21.1 axios-retry@4.5.0
cat > run.mjs <<'JS'
import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import axios from 'axios'
import axiosRetry from 'axios-retry'

const bodies = []
const server = createServer(async (request, response) => {
  let bytes = 0
  for await (const chunk of request) bytes += chunk.length
  bodies.push(bytes)
  response.writeHead(bodies.length < 2 ? 503 : 200).end()
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
axiosRetry(axios, { retries: 3 })
const url = `http://127.0.0.1:${server.address().port}/`
const answer = await axios.put(url, Readable.from([Buffer.alloc(1_000)]), { maxRedirects: 0 }).catch((error) => error)
server.close()
server.closeAllConnections()
console.log(`${answer.status ?? answer.code}; bytes of each request: ${bodies.join(', ')}`)
process.exitCode = answer.status === 200 && bodies.join() === '1000,0' ? 0 : 1
JS
node run.mjs
