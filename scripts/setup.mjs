// Installs what a fresh machine with Node and Rust lacks, step by step; a second run finds everything there and changes
// nothing. Every entry script calls `setup` first, so a fresh clone needs no `npm install` before `npm run demo` or `npm test`.
// Only `node:` imports, here and in what it imports, and nothing newer than Node 20.
import { chromiumStep } from './setup/chromium.mjs'
import { consumersStep } from './setup/consumers.mjs'
import { firefoxStep } from './setup/firefox.mjs'
import { nodeStep } from './setup/node.mjs'
import { packagesStep } from './setup/packages.mjs'
import { prometheusStep } from './setup/prometheus.mjs'
import { rustStep, wasmTargetStep } from './setup/rust.mjs'
import { webkitStep } from './setup/webkit.mjs'

export { wasmCargo } from './setup/rust.mjs'

/**
 * Installs Node, npm packages, Rust and the wasm target; Chromium, Firefox, WebKit, Prometheus and large consumers on request only.
 * If this Node is too old the script starts again under a newer one, and this call never returns.
 * @param {{ chromium?: boolean, firefox?: boolean, webkit?: boolean, prometheus?: boolean, consumers?: boolean }} [options]
 */
export async function setup({
  chromium = false,
  firefox = false,
  webkit = false,
  prometheus = false,
  consumers = false,
} = {}) {
  await nodeStep()
  await packagesStep()
  await rustStep()
  await wasmTargetStep()
  if (chromium) await chromiumStep()
  if (firefox) await firefoxStep()
  if (webkit) await webkitStep()
  if (prometheus) await prometheusStep()
  if (consumers) await consumersStep()
}
