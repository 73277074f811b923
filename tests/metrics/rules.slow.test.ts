import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { metricsOf } from '../../js/adapters/prometheus.ts'
import { RetryQueue } from '../../js/index.ts'
import { fakeClock } from '../../js/testing.ts'
import { freshFolder } from '../folder.ts'
import { rules, ruleTests } from './dashboards.ts'
import { dashboards, promtool } from './programs.ts'

test('promtool takes the rules', () => {
  const { code, output } = promtool(['check', 'rules', join(dashboards, 'redrive.rules.yml')])
  expect(output).toContain('SUCCESS: 9 rules found')
  expect(code).toBe(0)
})

test('the rules do as their tests say', () => {
  const { code, output } = promtool(['test', 'rules', join(dashboards, 'redrive.rules.test.yml')])
  expect(output).toContain('SUCCESS')
  expect(code).toBe(0)
})

const ALERTS = ['> 0.8', '* 60 > 5', '10 * sum', '>= 20', 'for: 1m', '>= 0.9']

test.each(ALERTS)('their tests notice when %s is another', (words) => {
  const folder = freshFolder()
  const changed = rules.replace(words, (found) =>
    found.replace(/\d+(\.\d+)?(?=\D*$)/, (number) => `${Number(number) * 3}`),
  )
  expect(changed).not.toBe(rules)
  writeFileSync(join(folder, 'redrive.rules.yml'), changed)
  const tests = join(folder, 'redrive.rules.test.yml')
  writeFileSync(tests, ruleTests)
  expect(promtool(['test', 'rules', tests]).code).toBe(1)
})

test('promtool has nothing to say about the metrics of a queue at work', async () => {
  const clock = fakeClock()
  const answers = [503, 200, 503, 404]
  const fetch = async () => new Response(null, { status: answers.shift() ?? 200 })
  const queue = new RetryQueue({ clock, fetch, policies: [{ policyId: 'quo"ted\\' }] })
  await queue.ready
  const { text } = metricsOf(queue, { labels: { team: 'line\nbreak' } })
  for (const path of ['/1', '/2']) {
    const call = queue.fetch(`https://api.test${path}`)
    await clock.advance(60_000)
    await call
  }
  expect(promtool(['check', 'metrics'], text())).toEqual({ code: 0, output: '' })
  const ends = ['succeeded', 'exhausted'].map((outcome) => `_count{team="line\\nbreak",outcome="${outcome}"} 1`)
  expect(ends.filter((end) => !text().includes(`retry_task_age_seconds${end}\n`))).toEqual([])
  const wrong = promtool(['check', 'metrics'], text().replaceAll('retry_attempts_total', 'retry_attempts'))
  expect(wrong.output).toContain('counter metrics should have "_total" suffix')
})
