#!/usr/bin/env bash
# workbox-background-sync 7.4.1: in a new database, only the first `unshiftRequest` puts its request at the front.
# Guess: each becomes the first. Seen: the first gets the id 0, which counts as none, so the next two go to the end.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund workbox-background-sync@7.4.1 fake-indexeddb@6.2.8 esbuild@0.28.2
cat > run.mjs <<'JS'
import 'fake-indexeddb/auto'

// what a service worker has and Node lacks
globalThis.self = globalThis
globalThis.registration = { scope: 'http://127.0.0.1/', sync: { register: async () => {} } }
globalThis.addEventListener = () => {}
const { Queue } = await import('workbox-background-sync')

const queue = new Queue('orders')
await queue.pushRequest({ request: new Request('http://127.0.0.1/pushed') })
for (const name of ['a', 'b', 'c']) await queue.unshiftRequest({ request: new Request(`http://127.0.0.1/${name}`) })
const order = (await queue.getAll()).map(({ request }) => new URL(request.url).pathname.slice(1)).join(' ')
console.log(`pushed, then a, b, c unshifted: ${order}`)
process.exit(order === 'c b a pushed' ? 1 : 0)
JS
npx esbuild run.mjs --bundle --platform=node --format=esm --outfile=bundled.mjs --log-level=error
NODE_ENV=production node bundled.mjs
