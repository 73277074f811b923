// Real time: a killed process has no other.

import { expect, test } from 'vitest'
import { freshFolder } from '../../folder.ts'
import { ended, linesOf, start } from '../processes/run.ts'
import { skins } from './servers.ts'

const ORDERS = 60

test.each(skins)(
  'S1 $name: a service that is killed does what it had answered with a 202 once it is back',
  {
    timeout: 60_000,
  },
  async ({ name }) => {
    const at = freshFolder()
    const first = start('middleware/service.ts', name, at, '0', 'away')
    const end = ended(first)
    const { value: port = '' } = await linesOf(first).next()
    const accepted: string[] = []
    // all at once, so that it is killed under the others
    const order = async (n: number) => {
      const target = `/orders/${n}`
      const { status } = await fetch(`http://127.0.0.1:${port}${target}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ pieces: n }),
      })
      expect(status).toBe(202)
      accepted.push(target)
      if (accepted.length === ORDERS / 3) first.kill('SIGKILL')
    }
    const outcomes = await Promise.allSettled(Array.from({ length: ORDERS }, (_, n) => order(n)))
    expect(await end).toEqual([null, 'SIGKILL'])
    // a request that was not answered was cut off, and not refused
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(TypeError)
    expect(accepted.length).toBeGreaterThanOrEqual(ORDERS / 3)

    const second = start('middleware/service.ts', name, at, port, 'back')
    const saved: string[] = []
    for await (const line of linesOf(second)) {
      if (line.startsWith('saved ')) saved.push(line.slice('saved '.length))
      if (accepted.every((target) => saved.includes(target))) break
    }
    expect(new Set(saved).size).toBe(saved.length)
  },
)
