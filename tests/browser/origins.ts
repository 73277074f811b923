/** Servers on loopback for the tests of one file: each is an origin of its own. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll } from 'vitest'

export interface Origin {
  readonly server: Server
  /** Known once the server listens. */
  url: string
}

/** They listen while the file's tests run. */
export function listenDuringTests(...origins: readonly Origin[]): void {
  beforeAll(async () => {
    for (const origin of origins) {
      await new Promise<void>((listening) => origin.server.listen(0, '127.0.0.1', listening))
      origin.url = `http://127.0.0.1:${(origin.server.address() as AddressInfo).port}`
    }
  })
  afterAll(async () => {
    for (const { server } of origins) {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
  })
}

/** A page that runs `script` alone. */
export const scripted = (script: () => string): Origin => ({
  server: createServer((request, response) => {
    const isScript = request.url === '/script.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? script() : '<!doctype html><script src="/script.js"></script>')
  }),
  url: '',
})
