// A real Prometheus scrapes the Node example, whose upstream is down, and evaluates the rules as they are published.
import { expect, test } from 'vitest'
import { onLoopback } from '../loopback.ts'
import { dashboard, dashboardQueries, filledIn, rules } from './dashboards.ts'
import { startNode, startPrometheus } from './programs.ts'

const EXAMPLE = 'examples/metrics/server.mjs'

interface Answer {
  readonly resultType: string
  readonly result: readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[]
}

/** Answers /up with 200 and anything else with 503. */
async function upstream(): Promise<string> {
  const origin = await onLoopback((request, response) => {
    request.resume()
    response.writeHead(request.url === '/up' ? 200 : 503).end()
  })
  return origin
}

async function order(url: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const { status } = await fetch(`${url}/orders`, { method: 'POST' })
    if (status !== 202) throw new Error(`an order was answered with ${status}`)
  }
}

/** A try each second or so, for as long as the whole test may take. */
const within = <T>(read: () => T) => expect.poll(read, { timeout: 45_000, interval: 250 })

test('the three alerts fire where they should, and the dashboard has its numbers', async () => {
  const address = await upstream()
  // whether failures in a row open a circuit, and whether a new order lets an earlier one go, is a matter of seconds
  const breaker = false
  // they wait long, so a small queue fills
  const waits = {
    capacity: 10,
    breaker,
    policy: { initialDelayMs: 600_000, maxDelayMs: 600_000, jitterType: 'NONE' },
  }
  // nothing can be tried again in time, so each call that fails is a dead letter at once
  const gives = { breaker, policy: { totalBudgetMs: 1 } }
  const [fine, full, dead] = await Promise.all([
    startNode(EXAMPLE, `${address}/up`),
    startNode(EXAMPLE, `${address}/down`, JSON.stringify(waits)),
    startNode(EXAMPLE, `${address}/down`, JSON.stringify(gives)),
  ])
  // promtool holds the rules to their minute; here it is a second
  const { api, firing } = await startPrometheus({ fine, full, dead }, rules.replace('for: 1m', 'for: 1s'))
  const query = async (expr: string) => (await api('query', { query: expr })) as Answer
  // what happens before the first scrape is no increase
  await within(async () => (await query('retry_queue_depth').catch(() => undefined))?.result.length).toBe(3)
  await order(fine, 40)
  await order(full, 9)
  await order(dead, 40)
  await within(firing).toEqual(
    expect.arrayContaining(['RetryQueueFilling full', 'RetryDeadLetters dead', 'RetryStorm dead']),
  )
  expect((await firing()).filter((alert) => alert.endsWith(' fine'))).toEqual([])

  for (const [title, expr] of dashboardQueries) {
    const { resultType, result } = await query(expr)
    expect([title, resultType]).toEqual([title, 'vector'])
    if (!/retry_(circuit|budget)/.test(expr)) expect(result.length, title).toBeGreaterThan(0)
  }
  for (const { expr } of dashboard.annotations.list) expect((await query(filledIn(expr))).result).toHaveLength(3)
  const [depth] = (await query('sum(retry_queue_depth{job="full"})')).result
  expect(depth?.value[1]).toBe('9')
  const failures = 'sum by (job) (retry_attempts_total{outcome="server_error"})'
  const counted = (await query(failures)).result.map(({ metric, value }) => [metric.job, Number(value[1])])
  expect(Object.fromEntries(counted)).toEqual({ fine: 0, full: 9, dead: 40 })
  await expect(query('sum by (')).rejects.toThrow('parse error')
})

test('the example shows its metrics as prom-client does', async () => {
  const url = await startNode(EXAMPLE, `${await upstream()}/up`)
  await order(url, 3)
  const response = await fetch(`${url}/metrics`)
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(await response.text()).toContain('retry_attempts_total{outcome="success",policy="default"} 3\n')
  expect((await fetch(`${url}/nowhere`)).status).toBe(404)
})
