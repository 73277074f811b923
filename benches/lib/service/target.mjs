// Where requests go: servers in a process of their own, which read each request to its end and know when it came.
import { createServer } from 'node:http'
import { createServer as createConnections } from 'node:net'
import { answer } from './meter.mjs'

const now = () => performance.timeOrigin + performance.now()
const texts = { 200: '{"ok":true}', 503: '{"ok":false}' }

/** The first request for each path fails, but for one path in so many; 0: none fails. */
let failsBut = 0
/** Paths whose next request succeeds. */
const failed = new Set()
/** [path, epoch ms] of each. */
let arrivals = []
/** The first of each path that has SINGLE, and when it came. */
const singles = new Map()
const SINGLE = '/single/'
let requests = 0
let successes = 0
let wake = () => {}

/** Paths end with a number. */
function statusOf(path) {
  if (failsBut === 0 || failed.delete(path) || Number(path.slice(path.lastIndexOf('/') + 1)) % failsBut === 0)
    return 200
  failed.add(path)
  return 503
}

/** `holdMs`: how long each answer takes. */
function serverOf(status, holdMs = 0) {
  return createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const at = now()
    const { url } = request
    if (url.includes(SINGLE) && !singles.has(url)) singles.set(url, at)
    request.resume()
    const end = () => {
      const code = status(url, at)
      response.writeHead(code, { 'content-type': 'application/json', 'content-length': texts[code].length })
      response.end(texts[code])
      requests++
      if (code === 503) return
      successes++
      wake()
    }
    request.on('end', holdMs > 0 ? () => setTimeout(end, holdMs) : end)
  })
}

const listening = (server) =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', () => resolve(server.address().port))
  })

answer({
  /** The port of the server that is watched, and those of `down` others that always fail. */
  open(down = 0) {
    const watched = serverOf((path, at) => {
      arrivals.push([path, at])
      return statusOf(path)
    })
    const others = Array.from({ length: down }, () => serverOf(() => 503))
    return Promise.all([watched, ...others].map(listening))
  },
  /** The ports of so many servers that are slow. */
  openSlow: (count, holdMs) => Promise.all(Array.from({ length: count }, () => listening(serverOf(() => 200, holdMs)))),
  /** As many ports of one server that answers at once. */
  openMany(count) {
    const server = serverOf(() => 200)
    const ports = Array.from({ length: count }, () =>
      listening(createConnections((socket) => server.emit('connection', socket))),
    )
    return Promise.all(ports)
  },
  /** Forgets what it has seen. */
  begin(how = {}) {
    failsBut = how.failsBut ?? 0
    failed.clear()
    arrivals = []
    singles.clear()
    requests = 0
    successes = 0
  },
  counts: () => ({ requests, successes }),
  /** How many have succeeded, once there are more than `least`. */
  async past(least) {
    while (successes <= least) {
      await new Promise((resolve) => {
        wake = resolve
      })
    }
    return successes
  },
  arrivals: () => arrivals,
  /** [path, epoch ms] of the first request for each path with `/single/`, once there are so many. */
  async singles(count) {
    while (singles.size < count) {
      await new Promise((resolve) => {
        wake = resolve
      })
    }
    return [...singles]
  },
})
