import type { ScriptedServer, SeenRequest } from './server.ts'

/**
 * A matcher for `expect.extend` of Vitest and Jest: a fake server has seen exactly `times` retries. A request is a retry where one of its method,
 * URL and Idempotency-Key came before.
 *
 * @example
 * expect.extend({ toHaveBeenRetried })
 * expect(server).toHaveBeenRetried(2)
 */
export function toHaveBeenRetried(
  server: ScriptedServer,
  times: number,
): { readonly pass: boolean; readonly message: () => string } {
  const lines = server.requests.map(lineOf)
  const retries = lines.length - new Set(lines).size
  const pass = retries === times
  const message = () =>
    `expected ${pass ? `other than ${times}` : times} retries, got ${retries}; requests: ${lines.join(', ') || 'none'}`
  return { pass, message }
}

const lineOf = ({ method, url, headers }: SeenRequest): string =>
  [method, url, headers.get('idempotency-key') ?? []].flat().join(' ')
