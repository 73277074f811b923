#!/usr/bin/env bash
# express-idempotency 1.0.6: after an answer by `response.end()` or `response.redirect()`, its key is "in progress" for ever.
# Guess: an answer that Express has sent is kept, or the key is free again. Seen: only `response.send()` and what calls it end a request. After a
# 201 by `end()` and a 303 by `redirect()`, each further request with the key gets 409, though the work is done.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund express-idempotency@1.0.6 express@4.21.2
cat > run.mjs <<'JS'
import { once } from 'node:events'
import express from 'express'
import keys from 'express-idempotency'

const runs = {}
const answers = {
  json: (response) => response.status(201).json({}),
  end: (response) => response.status(201).end(),
  redirect: (response) => response.redirect(303, '/orders/1'),
}
const app = express()
app.use(keys.idempotency())
for (const [name, answer] of Object.entries(answers)) {
  app.post(`/${name}`, (request, response) => {
    if (keys.getSharedIdempotencyService().isHit(request)) return
    runs[name] = (runs[name] ?? 0) + 1
    answer(response)
  })
}
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
const seen = {}
for (const name of Object.keys(answers)) {
  seen[name] = []
  for (let time = 0; time < 3; time++) {
    const url = `http://127.0.0.1:${server.address().port}/${name}`
    const { status } = await fetch(url, { method: 'POST', redirect: 'manual', headers: { 'idempotency-key': name } })
    seen[name].push(status)
  }
}
server.close()
server.closeAllConnections()
console.log(`statuses ${JSON.stringify(seen)}; each handler ran once: ${Object.values(runs).every((count) => count === 1)}`)
const isAsSeen = `${seen.json}` === '201,201,201' && `${seen.end}` === '201,409,409' && `${seen.redirect}` === '303,409,409'
process.exitCode = isAsSeen && `${Object.values(runs)}` === '1,1,1' ? 0 : 1
JS
node run.mjs 2> errors.txt
