#!/usr/bin/env bash
# ky 2.1.0 under Bun 1.4.5: a refused connection is not retried.
# Guess: ky retries a GET whose connection was refused, whatever runs it. Seen: twice under Node, never under Bun: ky knows lost connections by the words of their error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund ky@2.1.0 bun@1.4.5
cat > run.mjs <<'JS'
import { once } from 'node:events'
import { createServer } from 'node:net'
import ky from 'ky'

const server = createServer().listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address()
await new Promise((resolve) => server.close(resolve))
let retries = 0
const hooks = { beforeRetry: [() => void retries++] }
await ky.get(`http://127.0.0.1:${port}/`, { retry: { limit: 2, delay: () => 10 }, hooks }).catch(() => {})
console.log(retries)
JS
node=$(node run.mjs)
bun=$(./node_modules/.bin/bun run.mjs)
echo "a refused connection was retried $node times under Node, and $bun under Bun"
[ "$node" = 2 ] && [ "$bun" = 0 ]
