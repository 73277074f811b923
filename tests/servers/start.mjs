/** Starts the flaky server in its own process and speaks to it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('./flaky.mjs', import.meta.url))

export async function startFlaky(options = {}) {
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const url = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([line]) => JSON.parse(line).url),
    ended.then(([code]) => Promise.reject(new Error(`the flaky server ended with code ${code} before it was ready`))),
  ])
  const call = async (path, init) => {
    const response = await fetch(url + path, init)
    const value = await response.json()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${value.error}`)
    return value
  }
  return {
    url,
    report: (detail = {}) => call(detail.visits ? '/report?visits=1' : '/report'),
    nextAnswer: () => call('/next'),
    configure: (faults) => call('/config', { method: 'POST', body: JSON.stringify(faults) }),
    reset: () => call('/reset', { method: 'POST' }),
    async close() {
      child.stdin.end()
      await ended
    },
  }
}
