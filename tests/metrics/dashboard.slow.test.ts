// There is no Grafana here. What can be judged without one: that it finds in the file what it needs to import it, and
// that everything it asks for is something that the exporter gives. `scrape.test.ts` has a Prometheus answer it all.
import { expect, onTestFinished, test } from 'vitest'
import { metricsOf } from '../../js/adapters/prometheus.ts'
import { RetryQueue } from '../../js/index.ts'
import { createService } from '../../js/service.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { text } from '../../scripts/dashboards.mjs'
import { dashboard, dashboardFile, dashboardQueries, labelsIn, metricsIn, ruleQueries, rules } from './dashboards.ts'

/** Metric -> its labels, and every outcome there is, as a queue that has a name and an origin prints them. */
function exported() {
  const queue = new RetryQueue()
  const none = {
    depth: 0,
    inFlight: 0,
    heldUntilAt: null,
    shutUntilAt: null,
    circuit: 'CLOSED',
    retryBudget: 1,
  } as const
  const stats = queue.stats()
  queue.stats = () => ({ ...stats, origins: { 'https://a.test': none } })
  return familiesIn(metricsOf([queue]).text())
}

/** Of the service, once it has looked at its store: those of the store come beside those of its queue. */
async function served() {
  const service = createService({ store: memoryStore({ everyone: true }) })
  onTestFinished(() => service.close())
  const scrape = async () => (await service.fetch(new Request('http://localhost/metrics'))).text()
  await service.ready
  await expect.poll(scrape, { timeout: 10_000 }).toContain('redrive_store_limit{')
  return familiesIn(await scrape())
}

function familiesIn(text: string) {
  const labels = new Map<string, Set<string>>()
  const outcomes = new Set<string>()
  for (const line of text.split('\n')) {
    const [, name, list = ''] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? []
    if (!name) continue
    const pairs = [...list.matchAll(/(\w+)="([^"]*)"/g)]
    labels.set(name, new Set(pairs.map(([, label = '']) => label)))
    for (const [, label, value = ''] of pairs) if (label === 'outcome') outcomes.add(value)
  }
  return { labels, outcomes }
}

/** What Prometheus puts on whatever it scrapes, and on alerts. */
const OF_THE_SCRAPE = ['job', 'instance']

const ALL = [...dashboardQueries, ...ruleQueries.map((expr, i) => [`rule ${i + 1}`, expr] as const)]

test('the file is what `node scripts/dashboards.mjs` writes', () => {
  expect(dashboardFile).toBe(text())
})

test('every expression of the rules is looked at', () => {
  expect(ruleQueries).toHaveLength(rules.match(/expr:/g)?.length ?? 0)
  expect(ruleQueries.every((expr) => metricsIn(expr).length > 0)).toBe(true)
})

test.each(ALL)('%s asks only for what there is', async (_, expr) => {
  const { labels, outcomes } = expr.includes('redrive_') ? await served() : exported()
  const metrics = metricsIn(expr)
  const { names, outcomes: asked } = labelsIn(expr)
  expect(metrics.length).toBeGreaterThan(0)
  expect(metrics.filter((name) => !labels.has(name))).toEqual([])
  const known = new Set([...OF_THE_SCRAPE, ...metrics.flatMap((name) => [...(labels.get(name) ?? [])])])
  expect(names.filter((name) => !known.has(name))).toEqual([])
  expect(asked.filter((outcome) => !outcomes.has(outcome))).toEqual([])
})

test('every metric is on the dashboard, or in a rule', () => {
  const used = new Set(
    ALL.flatMap(([, expr]) => metricsIn(expr)).map((name) => name.replace(/_(bucket|sum|count)$/, '')),
  )
  const given = [...exported().labels.keys()].map((name) => name.replace(/_(bucket|sum|count)$/, ''))
  expect(given.filter((name) => !used.has(name))).toEqual([])
})

test('the alerts that the dashboard marks are those of the rules', () => {
  const named = [...rules.matchAll(/alert: (\w+)/g)].map(([, name]) => name)
  expect(named).toHaveLength(4)
  expect(dashboard.annotations.list[0]?.expr).toContain(`"${named.join('|')}"`)
})

test('Grafana 10 and later find what they import it by', () => {
  expect(dashboard).toMatchObject({ uid: 'redrive', title: 'redrive', schemaVersion: 38 })
  expect(dashboard.templating.list.map(({ name, type }) => [name, type])).toEqual([
    ['datasource', 'datasource'],
    ['job', 'query'],
    ['instance', 'query'],
  ])
  const source = { type: 'prometheus', uid: '$' + '{datasource}' }
  for (const { datasource, targets, type, description } of dashboard.panels) {
    expect(['timeseries', 'state-timeline']).toContain(type)
    expect(description).toMatch(/\.$/)
    expect(datasource).toEqual(source)
    for (const target of targets) expect(target.datasource).toEqual(source)
  }
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
})

test('no panel lies on another, and none sticks out', () => {
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
  expect(dashboard.panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true)
})

test('what a colour is given to is a legend of its panel', () => {
  for (const { fieldConfig, targets, title } of dashboard.panels) {
    const legends = targets.map((target) => (target as unknown as { legendFormat: string }).legendFormat)
    const outcomes = legends.includes('{{outcome}}') ? [...exported().outcomes] : []
    const strangers = fieldConfig.overrides.map(({ matcher }) => matcher.options)
    expect(
      strangers.filter((name) => ![...legends, ...outcomes].includes(name)),
      title,
    ).toEqual([])
  }
})
