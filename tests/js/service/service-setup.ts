/** A service in this process whose tasks go to real targets, and files that keep secrets. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { ApiStore } from '../../../js/service/api/context.ts'
import { createService, type ServiceLogEntry, type ServiceOptions } from '../../../js/service.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { folder, json } from './program.ts'

export async function setup(options: Partial<ServiceOptions> = {}) {
  const log: ServiceLogEntry[] = []
  const store = (options.store ?? memoryStore({ everyone: true })) as ApiStore
  const service = createService({ allowLoopback: true, log: (entry) => log.push(entry), ...options, store })
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
  const ended = async (answer: Response) => {
    const { taskId } = await json(answer)
    return json(await ask(`/retry-tasks/${taskId}`, { headers: { prefer: 'wait=20' } }))
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
