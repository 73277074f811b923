// Installs what a fresh machine with Node and Rust lacks, step by step; a second run finds everything there and changes
// nothing. Every entry script calls `setup` first, so a fresh clone needs no `npm install` before `npm run demo` or `npm test`.
// Only `node:` imports, here and in what it imports, and nothing newer than Node 20.
import { chromiumStep } from './setup/chromium.mjs'
import { consumersStep } from './setup/consumers.mjs'
import { firefoxStep } from './setup/firefox.mjs'
import { nodeStep } from './setup/node.mjs'
import { oldestNodeStep } from './setup/oldest-node.mjs'
import { openapiStep } from './setup/openapi.mjs'
import { packagesStep } from './setup/packages.mjs'
import { prometheusStep } from './setup/prometheus.mjs'
import { redisStep } from './setup/redis.mjs'
import { rustStep, wasmTargetStep } from './setup/rust.mjs'
import { s3Step } from './setup/s3.mjs'
import { siteStep } from './setup/site.mjs'
import { valkeyStep } from './setup/valkey.mjs'
import { webkitStep } from './setup/webkit.mjs'

export { wasmCargo } from './setup/rust.mjs'

/** Programs that only some suites need, by the name under which a suite asks for them. */
const programs = {
  chromium: chromiumStep,
  firefox: firefoxStep,
  webkit: webkitStep,
  prometheus: prometheusStep,
  redis: redisStep,
  valkey: valkeyStep,
  openapi: openapiStep,
  s3: s3Step,
  oldestNode: oldestNodeStep,
  consumers: consumersStep,
  site: siteStep,
}

/**
 * Installs Node, npm packages, Rust and the wasm target; Chromium, Firefox, WebKit, Prometheus, Redis, Valkey, judges of OpenAPI, servers of S3, an old Node, large consumers and what builds the site on request only.
 * If this Node is too old the script starts again under a newer one, and this call never returns.
 * @param {{ [name in 'chromium' | 'firefox' | 'webkit' | 'prometheus' | 'redis' | 'valkey' | 'openapi' | 's3' | 'oldestNode' | 'consumers' | 'site']?: boolean }} [wanted]
 */
export async function setup(wanted = {}) {
  const { tools } = await beginSetup()
  await tools
  for (const [name, install] of Object.entries(programs)) if (wanted[name]) await install()
}

/**
 * Begins the same in parts that need not be waited for together: `rust`, `tools` (Rust and npm packages), and each of `names`,
 * which are installed one after another, since a machine has one package manager.
 * @param {readonly string[]} [names]
 */
export async function beginSetup(names = []) {
  await nodeStep()
  const rust = rustStep().then(wasmTargetStep)
  const packages = packagesStep()
  const begun = { rust, tools: Promise.all([packages, rust]) }
  let before = begun.tools
  for (const name of names) {
    before = before.catch(() => {}).then(programs[name])
    begun[name] = before
  }
  // a failure is heard by whatever awaits the part
  for (const each of Object.values(begun)) each.catch(() => {})
  return begun
}
