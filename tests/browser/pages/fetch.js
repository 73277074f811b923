/** A page that calls fetch: every other call through a wrapped one, the rest through the global that was replaced. */
import { installFetch, wrapFetch } from '/pkg/fetch.js'
import { api, expose, order, queue } from './app.js'

const wrapped = wrapFetch(queue)
globalThis.uninstall = installFetch(queue)

expose(async (intent, at = 0) => {
  const send = at % 2 === 0 ? wrapped : fetch
  const response = await send(api, order(intent, 'fetch'))
  if (!response.ok) throw new Error(`${intent}: ${response.status}`)
  return await response.json()
})
