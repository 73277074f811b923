// The entries of the packages, once: the bundles, the declarations and the check of what runs everywhere are made from these lists.
// A new one needs a line here, an export in its manifest in pkg-template/, and, if it is for Node alone, its place in `nodeOnly`
// and in the two tsconfig.build files.

/** Name in the package -> source. The `workerd` condition picks `*.workerd`, and production bundles of pages `*.page`. */
export const entries = {
  index: 'js/index.ts',
  'index.page': 'js/index.page.ts',
  'index.workerd': 'js/index.workerd.ts',
  core: 'js/core.ts',
  'core.workerd': 'js/core.workerd.ts',
  fetch: 'js/adapters/fetch.ts',
  axios: 'js/adapters/axios.ts',
  prometheus: 'js/adapters/prometheus.ts',
  opentelemetry: 'js/adapters/opentelemetry.ts',
  express: 'js/adapters/express.ts',
  fastify: 'js/adapters/fastify.ts',
  hono: 'js/adapters/hono.ts',
  grpc: 'js/adapters/grpc.ts',
  undici: 'js/adapters/undici.ts',
  testing: 'js/testing.ts',
  store: 'js/store.ts',
  memory: 'js/stores/memory.ts',
  indexeddb: 'js/stores/indexeddb.ts',
  sqlite: 'js/stores/sqlite.ts',
  redis: 'js/stores/redis.ts',
  node: 'js/node.ts',
  'background-sync': 'js/background-sync.ts',
  'service-worker': 'js/service-worker.ts',
  cloudflare: 'js/cloudflare.ts',
  'compat-axios-retry': 'js/compat-axios-retry.ts',
  'compat-axios-retry.page': 'js/compat-axios-retry.page.ts',
  'compat-axios-retry.workerd': 'js/compat-axios-retry.workerd.ts',
  'compat-workbox': 'js/compat/workbox.ts',
  internal: 'js/internal.ts',
  'internal.node': 'js/internal.node.ts',
}

/** Not for `require`: a service worker and Workers load modules alone, and so do the other two packages. */
const MODULES_ALONE = /\.page$|workerd$|^(service-worker|cloudflare|compat-workbox|internal.*)$/

/** Those that Jest can load, too, by `require`: see docs/adr/0005-esm-only.md. */
export const required = Object.fromEntries(Object.entries(entries).filter(([name]) => !MODULES_ALONE.test(name)))

/** `@redrive/service`. Name in the package -> source. */
export const serviceEntries = { service: 'js/service.ts', cli: 'js/cli.ts' }

/** `@redrive/ui`: the entry, its stand-in on a server, the sources, and the Worker of the lab. */
export const uiEntries = {
  ui: 'js/ui.ts',
  'ui.server': 'js/ui.server.ts',
  'ui-sources': 'js/ui-sources.ts',
  'ui-worker': 'js/ui-worker.ts',
}

/** An entry whose needs cut no file of the package in two: what it takes of a file that pages load would compress worse for them. */
export const uncut = 'internal.node'

/** Entries that may use Node's modules. All others run in pages, Workers and servers alike. */
export const nodeOnly = ['node', 'internal.node', 'sqlite', 'redis', 'express', 'fastify', 'grpc', 'undici']
