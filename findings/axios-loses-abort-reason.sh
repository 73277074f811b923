#!/usr/bin/env bash
# axios 1.21.1: the reason that a caller gives to `abort()` does not reach the call.
# Guess: the call rejects with the signal's reason, as fetch does, or carries it as its `cause`. Seen: a `CanceledError`
# without a cause. The fetch adapter copies the reason's message; the http adapter says "canceled", so that a call that
# its caller has ended and one that `AbortSignal.timeout` has ended look alike.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund axios@1.21.1
cat > run.mjs <<'JS'
import { createServer } from 'node:http'
import { inspect } from 'node:util'
import axios from 'axios'

const server = createServer(() => {}) // it never answers
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${server.address().port}/`
const reason = new Error('the user left')
const signals = [
  () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(reason), 50)
    return controller.signal
  },
  () => AbortSignal.timeout(50),
]
const seen = []
for (const adapter of ['http', 'fetch']) {
  for (const signal of signals) {
    const error = await axios.get(url, { adapter, signal: signal() }).catch((caught) => caught)
    seen.push({ adapter, code: error.code, message: error.message, cause: error.cause })
  }
}
const plain = await fetch(url, { signal: signals[0]() }).catch((caught) => caught)
server.close()
server.closeAllConnections()
console.log(`axios: ${inspect(seen, { breakLength: Infinity })}; fetch: its reason ${plain === reason}`)
const lost = seen.every((one) => one.code === 'ERR_CANCELED' && one.cause === undefined)
const alike = seen[0].message === 'canceled' && seen[1].message === 'canceled' && seen[2].message === reason.message
process.exitCode = plain === reason && lost && alike ? 0 : 1
JS
node run.mjs
