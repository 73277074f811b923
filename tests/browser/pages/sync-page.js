/** A page with a service worker: `?worker=` its script, `?type=` how that is loaded, `?asks` whether it asks for syncs. */
import { registerBackgroundSync } from '/pkg/background-sync.js'
import { RetryQueue } from '/pkg/index.js'

const query = new URL(location.href).searchParams
const queue = new RetryQueue({
  name: 'sync',
  durable: true,
  principal: null,
  ...JSON.parse(query.get('options') ?? '{}'),
})
const degraded = []
queue.on('degraded', ({ code, message }) => degraded.push({ code, message }))

const script = query.get('worker')
const supported = query.has('asks') && registerBackgroundSync(queue) !== false
const active = script
  ? navigator.serviceWorker.register(script, { type: query.get('type') ?? 'module' }).then(
      () => navigator.serviceWorker.ready.then(() => 'active'),
      (error) => String(error),
    )
  : Promise.resolve('none')

globalThis.syncPage = { queue, degraded, supported, active }
