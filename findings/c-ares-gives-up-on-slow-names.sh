#!/usr/bin/env bash
# Node 24.21.0 with its c-ares 1.34: a Resolver with a timeout of 10 s gives up on a slow name after about a second, once its server has been quick.
# Guess: `new Resolver({ timeout: 10000, tries: 1 })` waits 10 s for each answer. Seen: a fresh one finds a name whose answer takes 3 s; one whose server
# has answered 30 questions at once ends the same question with ETIMEOUT long before: the timeout follows what the server took until then.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund node@24.21.0
cat > run.mjs <<'JS'
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'

/** Answers each question with 192.0.2.1; a name that begins with `slow` after three seconds. */
const server = createSocket('udp4', (question, { port, address }) => {
  const answer = Buffer.concat([
    question.subarray(0, 2),
    Buffer.from([0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]),
    question.subarray(12, question.indexOf(0, 12) + 5),
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1]),
  ])
  const isSlow = question.subarray(13, 17).toString() === 'slow'
  setTimeout(() => server.send(answer, port, address), isSlow ? 3_000 : 0)
})
server.bind(0, '127.0.0.1')
await once(server, 'listening')

async function ask(quick) {
  const resolver = new Resolver({ timeout: 10_000, tries: 1 })
  resolver.setServers([`127.0.0.1:${server.address().port}`])
  for (let i = 0; i < quick; i++) await resolver.resolve4(`quick${i}.test`)
  const begun = performance.now()
  const said = await resolver.resolve4('slow.test').catch(({ code }) => code)
  return { said: `${said}`, seconds: (performance.now() - begun) / 1_000 }
}

const [fresh, warm] = [await ask(0), await ask(30)]
setTimeout(() => server.close(), 3_000) // after the late answer
console.log(`Node ${process.versions.node}, c-ares ${process.versions.ares}: fresh ${JSON.stringify(fresh)}, after 30 quick answers ${JSON.stringify(warm)}`)
process.exitCode = fresh.said === '192.0.2.1' && warm.said === 'ETIMEOUT' && warm.seconds < 2.9 ? 0 : 1
JS
node_modules/.bin/node run.mjs
