#!/usr/bin/env bash
# Node 24.21.0: a stream made by Readable.from() of an async generator never runs the generator's `finally` if it is destroyed before it is first read.
# Guess: destroy() ends the generator, and a `finally` around its body is where what it reads from is closed. Seen: that holds once a part was read. Before, as where a
# client's connection is refused while its request has such a body, the body of the generator never began: the file or connection behind it stays open.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund node@24.21.0
cat > run.mjs <<'JS'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'

async function isClosed(isRead) {
  const source = createReadStream(process.argv[1])
  await once(source, 'open')
  const parts = async function* () {
    try {
      yield* source
    } finally {
      source.destroy()
    }
  }
  const body = Readable.from(parts())
  if (isRead) await once(body, 'readable')
  body.destroy()
  await once(body, 'close')
  await new Promise((resolve) => setTimeout(resolve, 200))
  const isIt = source.destroyed
  source.destroy()
  return isIt
}

const seen = { destroyedUnread: await isClosed(false), destroyedAfterARead: await isClosed(true) }
console.log(`source closed: ${JSON.stringify(seen)}`)
process.exitCode = !seen.destroyedUnread && seen.destroyedAfterARead ? 0 : 1
JS
node_modules/.bin/node run.mjs
