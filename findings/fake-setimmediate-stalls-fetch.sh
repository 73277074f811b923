#!/usr/bin/env bash
# Node 24.21.0 with @sinonjs/fake-timers 15.5.0, on which the fake timers of Vitest and Jest stand: a fetch over a kept connection waits for fake time.
# Guess: real I/O goes on under fake timers, or none does. Seen: the first request to a server is answered; the next one, over the connection that is
# kept, is answered only once the fake clock moves by 1 ms. Node's own fetch goes on by `setImmediate`. With `setTimeout` alone faked, both are answered.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund node@24.21.0 @sinonjs/fake-timers@15.5.0
cat > run.mjs <<'JS'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import FakeTimers from '@sinonjs/fake-timers'

const server = createServer((_, response) => response.end('ok')).listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${server.address().port}/`

async function ask(...toFake) {
  const clock = FakeTimers.install({ toFake })
  let text = 'none'
  const asked = fetch(url).then(async (response) => {
    text = await response.text()
  })
  await sleep(1_000)
  const before = text
  await clock.tickAsync(1)
  await sleep(200)
  const after = text
  clock.uninstall()
  await asked
  return `${before}, ${after}`
}

const seen = {
  first: await ask('setTimeout', 'setImmediate'),
  next: await ask('setTimeout', 'setImmediate'),
  'next, setTimeout alone': await ask('setTimeout'),
}
server.close()
server.closeAllConnections()
console.log(`Node ${process.versions.node}; after a second, and after 1 ms of fake time: ${JSON.stringify(seen)}`)
process.exitCode = `${Object.values(seen)}` === 'ok, ok,none, ok,ok, ok' ? 0 : 1
JS
node_modules/.bin/node run.mjs
