#!/usr/bin/env bash
# cockatiel 3.2.1: an abort does not end the wait between two attempts.
# Guess: `execute(fn, signal)` ends when the signal does. Seen: it goes on waiting, and ends when the wait does.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund cockatiel@3.2.1
cat > run.mjs <<'JS'
import { ConstantBackoff, handleAll, retry } from 'cockatiel'

const controller = new AbortController()
let attempts = 0
const policy = retry(handleAll, { maxAttempts: 2, backoff: new ConstantBackoff(1_500) })
setTimeout(() => controller.abort(), 200)
const began = performance.now()
const call = () => {
  attempts += 1
  throw new Error('away')
}
const error = await policy.execute(call, controller.signal).catch((error) => error)
const waited = Math.round(performance.now() - began)
console.log(`aborted after 200 ms; ended after ${waited} ms with '${error.message}', attempts ${attempts}`)
process.exitCode = waited > 1_000 ? 0 : 1
JS
node run.mjs
