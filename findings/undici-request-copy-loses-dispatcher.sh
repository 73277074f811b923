#!/usr/bin/env bash
# undici 7.16.0: a Request that is copied to another URL loses its dispatcher.
# Guess: `new Request(url, request)`, the usual way to change the URL of a Request, keeps all that was given to the first one. Seen: method, headers
# and signal go along, and the `dispatcher` (a proxy, a client certificate, an own CA) does not: it is a private field, so the copy is
# sent by the global one, without a word. `new Request(request, init)` keeps it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund undici@7.16.0
cat > run.mjs <<'JS'
import { createServer } from 'node:http'
import { Agent, fetch, Request } from 'undici'

const server = createServer((request, response) => response.end(`${request.method} ${request.headers['x-own']}`))
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${server.address().port}/`
const own = new Agent()
let sent = 0
const dispatcher = own.compose((dispatch) => (options, handler) => {
  sent++
  return dispatch(options, handler)
})
const first = new Request(url, { method: 'DELETE', headers: { 'x-own': 'yes' }, dispatcher })
const ways = {
  'the Request itself': first,
  'new Request(request, init)': new Request(first, { redirect: 'manual' }),
  'new Request(url, request)': new Request(`${url}other`, first),
}
const seen = {}
for (const [way, request] of Object.entries(ways)) {
  sent = 0
  const said = await (await fetch(request)).text()
  seen[way] = `${said}, ${sent} by its dispatcher`
}
server.close()
server.closeAllConnections()
await own.close()
console.log(JSON.stringify(seen))
const [itself, again, copy] = Object.values(seen)
const kept = 'DELETE yes, 1 by its dispatcher'
process.exitCode = itself === kept && again === kept && copy === 'DELETE yes, 0 by its dispatcher' ? 0 : 1
JS
node run.mjs
