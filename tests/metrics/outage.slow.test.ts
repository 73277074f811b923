// The run behind `npm run outage`, made short: real processes, a real server that goes away, and what is drawn of it.
import { expect, test } from 'vitest'
import { chart } from '../../scripts/outage/chart.mjs'
import { outage } from '../../scripts/outage/run.mjs'

const SHORT = { clients: 2, slots: 10, serviceMs: 20, load: 0.05, beforeS: 1, downS: 1, afterS: 0.5, limitS: 40 }

test('a server that was away for a second has done every call once, and it is drawn', async () => {
  const run = await outage(SHORT)
  const { summary, samples, downAt, upAt, drainedAt } = run
  expect(summary).toMatchObject({ lost: 0, repeated: 0, deadLetters: 0 })
  expect(summary.effects).toBe(summary.calls)
  expect(summary.deepest).toBeGreaterThan(0)
  expect(summary.amplification).toBeGreaterThan(1)
  expect(drainedAt).toBeGreaterThan(upAt)
  const during = samples.filter(({ at }) => at > downAt && at < upAt)
  expect(during.at(-1)?.seen).toBe(during[0]?.seen)

  const picture = chart({
    ...run,
    circuits: [
      { at: downAt, client: 1, to: 'OPEN' },
      { at: upAt, client: 1, to: 'HALF_OPEN' },
      { at: upAt, client: 1, to: 'CLOSED' },
    ],
  })
  expect(picture).toContain(`${summary.calls} calls`)
  const rows = [...picture.matchAll(/<rect class="mark (closed|half|open)" x=[^>]*height="14"/g)]
  expect(rows.map(([, state]) => state)).toEqual(['closed', 'closed', 'open', 'closed', 'half'])
  expect(picture).not.toMatch(/NaN|undefined|Infinity|width="-/)
})
