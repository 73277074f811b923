// One contestant in one run, in a process of its own: its memory and its connections are nobody else's.
import { subscribe } from 'node:diagnostics_channel'
import { quantile } from '../measure.mjs'
import { contestants } from './contestants.mjs'

const { name, url, calls, ...given } = JSON.parse(process.argv[2])
// a run that is ended early leaves nobody who goes on trying
process.on('disconnect', () => process.exit())
let requests = 0
// the built-in fetch, undici from npm and node:http; one that finds the port closed is a request too
for (const channel of ['undici:request:create', 'http.client.request.created']) subscribe(channel, () => requests++)

const { call, close } = await contestants[name].open(given)
const start = performance.now()
const tookMs = []
let lost = 0
const errors = new Map()
await Promise.all(
  Array.from({ length: calls }, async (_, id) => {
    try {
      await call(`${url}/calls/${id}`, id)
    } catch (error) {
      lost++
      const why = error.code ?? error.message
      errors.set(why, (errors.get(why) ?? 0) + 1)
    }
    tookMs.push(performance.now() - start)
  }),
)
process.send({
  seconds: Math.max(...tookMs) / 1_000,
  requests,
  lost,
  p50: quantile(tookMs, 0.5) / 1_000,
  p99: quantile(tookMs, 0.99) / 1_000,
  // in kilobytes, the most that was resident at any time
  megabytes: process.resourceUsage().maxRSS / 1_024,
  errors: Object.fromEntries(errors),
})
await close?.()
process.disconnect()
