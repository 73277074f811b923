/**
 * The server of the form: the page, the package as plain modules, and an API that takes a report once, however often it is
 * sent. It refuses a place without a letter in it, so that a failing report can be seen.
 */
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { staticFiles } from '../../tests/servers/static.mjs'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

/** @param latencyMs how long an answer takes, so that 'Sending' can be seen */
export function formServer({ latencyMs = 400 } = {}) {
  /** By their keys. */
  const reports = new Map()
  const serveFile = staticFiles({ '/': here('.'), '/redrive/': here('../../pkg') })
  return createServer((request, response) => {
    route(request, response).catch((error) => sendJson(response, 500, { error: error.message }))
  })

  async function route(request, response) {
    const url = new URL(request.url, 'http://server')
    if (url.pathname === '/api/reports' && request.method === 'POST') return receive(request, response)
    if (url.pathname === '/api/reports') return sendJson(response, 200, [...reports.values()])
    if (request.method === 'GET' && (await serveFile(url, response))) return
    sendJson(response, 404, { error: `nothing at ${url.pathname}` })
  }

  async function receive(request, response) {
    const form = await new Response(request, { headers: request.headers }).formData()
    const [key, place, photo] = [request.headers['idempotency-key'], form.get('place').trim(), form.get('photo')]
    await new Promise((resolve) => setTimeout(resolve, latencyMs))
    if (!/\p{L}/u.test(place)) return sendJson(response, 400, { error: `'${place}' is no place` })
    const known = reports.get(key)
    if (known) known.sent++
    else reports.set(key, { place, what: form.get('what'), photo: { name: photo.name, bytes: photo.size }, sent: 1 })
    sendJson(response, known ? 200 : 201, { received: place })
  }
}

function sendJson(response, status, value) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
