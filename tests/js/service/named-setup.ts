/** A service whose tasks name credentials and keys, a target that notes what it is sent, and files that keep secrets. */

import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createService, type ServiceLogEntry, type ServiceOptions } from '../../../js/service.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { folder, json } from './program.ts'

export interface Seen extends IncomingHttpHeaders {
  readonly body: string
}

/** A target on loopback; `answer` gives the status for what it hears. */
export async function target(answer: (seen: Seen) => number = () => 200) {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => {
      const heard = { ...request.headers, body: Buffer.concat(parts).toString() }
      seen.push(heard)
      response.writeHead(answer(heard)).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { origin, url: `${origin}/orders`, seen }
}

export async function setup(options: Partial<ServiceOptions> = {}) {
  const log: ServiceLogEntry[] = []
  const store = memoryStore({ everyone: true })
  const service = createService({ store, allowLoopback: true, log: (entry) => log.push(entry), ...options })
  onTestFinished(() => service.close({ drainMs: 0 }))
  await service.ready
  const ask = async (path: string, init: RequestInit = {}) =>
    service.fetch(new Request(`http://localhost${path}`, init))
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const ended = async (answer: Response, headers: Record<string, string> = {}) => {
    const { taskId } = await json(answer)
    return json(await ask(`/retry-tasks/${taskId}`, { headers: { prefer: 'wait=20', ...headers } }))
  }
  return { service, store, log, ask, post, ended }
}

export const QUICK = { strategy: 'fixed', initialDelayMs: 10, jitterType: 'NONE' } as const

/** A secret of this test, read from a file that may be written again. */
export function secretFile(text: string) {
  const cwd = folder({ secret: text })
  const path = join(cwd, 'secret')
  return { from: `file:${path}`, write: (next: string) => writeFileSync(path, next) }
}
