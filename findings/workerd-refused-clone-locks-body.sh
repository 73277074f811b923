#!/usr/bin/env bash
# workerd 1.20261023.1: a clone() that is refused to one request locks the Response for the request that it belongs to.
# Guess: objects of one request may not be used in another; such a use throws and changes nothing. Seen: `clone()` throws in the other
# request, as documented, and the Response then counts as read in its own: there, clone() and text() throw from then on.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund workerd@1.20261023.1
cat > worker.js <<'JS'
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const outcome = async (work) => {
  try {
    return `${await work()}`
  } catch (error) {
    return error.name
  }
}
let shared
let foreign
export default {
  async fetch(request) {
    if (new URL(request.url).pathname === '/other') {
      foreign = await outcome(() => shared.clone().text())
      return new Response('done')
    }
    const untouched = await outcome(() => new Response('a').clone().text())
    shared = new Response('a')
    while (foreign === undefined) await sleep(50)
    const clone = await outcome(() => shared.clone().text())
    const text = await outcome(() => shared.text())
    return Response.json({ untouched, foreign, clone, text })
  },
}
JS
cat > config.capnp <<'CAPNP'
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (modules = [(name = "worker", esModule = embed "worker.js")], compatibilityDate = "2026-07-01"))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
CAPNP
cat > run.mjs <<'JS'
import { spawn } from 'node:child_process'
import workerd from 'workerd'

const child = spawn(workerd.default ?? workerd, ['serve', 'config.capnp', '--control-fd=3'], {
  stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
})
const port = await new Promise((resolve) => {
  child.stdio[3].on('data', (chunk) => {
    for (const line of `${chunk}`.trim().split('\n')) if (JSON.parse(line).port) resolve(JSON.parse(line).port)
  })
})
const own = fetch(`http://127.0.0.1:${port}/own`)
await new Promise((resolve) => setTimeout(resolve, 500))
await (await fetch(`http://127.0.0.1:${port}/other`)).text()
const seen = await (await own).json()
child.kill()
console.log(JSON.stringify(seen))
const { untouched, foreign, clone, text } = seen
process.exitCode = untouched === 'a' && foreign === 'Error' && clone === 'TypeError' && text === 'TypeError' ? 0 : 1
JS
node run.mjs
