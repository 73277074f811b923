import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { RetryPolicy } from '../../../../js/api/policy.ts'
import { loadCore } from '../../../../js/core/files.ts'
import { presets } from '../../../../js/options/presets.ts'
import { bare, run, widest } from './setup.ts'

interface Row {
  readonly retry: number
  readonly minMs: number
  readonly meanMs: number
  readonly maxMs: number
  readonly totalMeanMs: number
  readonly totalMaxMs: number
}

interface Answer {
  readonly policy: RetryPolicy
  readonly schedule: readonly Row[]
  readonly longestMs: number
  readonly crowd: {
    readonly idleShare: number
    readonly pileUp: { readonly tasks: number; readonly retry: number } | null
  }
  readonly warnings: readonly string[]
}

const NAMES = Object.keys(presets) as (keyof typeof presets)[]

async function plan(argv: readonly string[], files: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
  const { code, err, out } = await run(['plan', '--json', ...argv], { files })
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out)
}

const planOf = (policy: Partial<RetryPolicy>, retries: number): Promise<Answer> =>
  plan(['--policy', 'p.json', '--retries', String(retries)], { 'p.json': policy })

test.each(NAMES)('%s: the numbers are those of backoffSchedule', async (name) => {
  const { schedule, longestMs } = await plan(['--preset', name])
  const core = await loadCore()
  const retries = Math.min((presets[name].maxAttempts ?? 0) - 1, 25)
  const steps = core.backoffSchedule({ ...presets[name], maxAttempts: retries + 1 })
  expect(schedule).toEqual(steps.map(({ attempt, ...step }) => ({ retry: attempt, ...step })))
  expect(longestMs).toBe(steps.at(-1)?.totalMaxMs)
})

test.each(NAMES.flatMap((name) => [40, 80, 200].map((columns) => ({ name, columns }))))(
  '$name fits into $columns columns',
  async ({ name, columns }) => {
    const { code, out } = await run(['plan', '--preset', name], { columns, isTTY: true })
    expect(code).toBe(0)
    // the table itself needs some 55
    expect(widest(out)).toBeLessThanOrEqual(Math.max(columns, 55))
  },
)

test('the table has a row for each retry, with its sums', async () => {
  const { out } = await run('plan --preset zizq --retries 3')
  const rows = out.split('\n').slice(2, 6)
  expect(rows.map((row) => row.trim().split(/ {2,}/).slice(0, 6))).toEqual([
    ['retry', 'min', 'mean', 'max', 'sum mean', 'sum max'],
    ['1', '16s', '31s', '46s', '31s', '46s'],
    ['2', '31s', '1m 1s', '1m 31s', '1m 32s', '2m 17s'],
    ['3', '1m 36s', '2m 21s', '3m 6s', '3m 53s', '5m 23s'],
  ])
})

test('a band goes from the least wait to the longest, and has its mean within', async () => {
  const { out } = await run('plan --preset grpc', { columns: 80 })
  const bands = out.split('\n').filter((line) => /^ +[1-3] /.test(line) && line.includes('●'))
  expect(bands).toHaveLength(3)
  expect(bands.map((line) => line.match(/[━●]+/)?.[0])).toEqual(bands.map(() => expect.stringMatching(/^━+●━+$/)))
  const starts = bands.map((line) => line.search(/[━●]/))
  expect([...starts].sort((a, b) => a - b)).toEqual(starts)
})

test('a dot is drawn for each retry of each task', async () => {
  const { out } = await run('plan --preset svix --tasks 4', { columns: 80 })
  const braille = [...out].filter((character) => character >= '\u2801' && character <= '\u28ff')
  const dots = braille.reduce(
    (sum, each) => sum + ((each.codePointAt(0) ?? 0) - 0x2800).toString(2).replaceAll('0', '').length,
    0,
  )
  // the first two are within one column of dots
  expect(dots).toBe(4 * 6)
})

test('the same plan is printed twice alike', async () => {
  expect((await run('plan --preset interactive')).out).toBe((await run('plan --preset interactive')).out)
})

/** From the table in docs/backoff.md: means of 200 crowds, and the tenth and ninetieth of 100. */
test.each([
  { policy: { strategy: 'fixed', initialDelayMs: 300_000, jitterType: 'NONE' }, from: 0.95, to: 0.96 },
  { policy: presets.zizq, from: 0.81, to: 0.85 },
  { policy: presets.sidekiq, from: 0.75, to: 0.79 },
  { policy: { strategy: 'buckets' }, from: 0.1, to: 0.18 },
  { policy: { strategy: 'exponential', initialDelayMs: 30_000, maxDelayMs: 1e12 }, from: 0.18, to: 0.32 },
  { policy: { strategy: 'spread', initialDelayMs: 10_000, maxDelayMs: 1e12 }, from: 0.18, to: 0.28 },
] as const)('the idle share of $policy.strategy is the published one', async ({ policy, from, to }) => {
  const { crowd } = await planOf(policy, 10)
  expect(crowd.idleShare).toBeGreaterThanOrEqual(from)
  expect(crowd.idleShare).toBeLessThanOrEqual(to)
})

test('waits without jitter are warned of as a pile-up and as gaps', async () => {
  const { warnings, crowd } = await plan(['--preset', 'svix'])
  expect(crowd.pileUp).toMatchObject({ tasks: 100, retry: 1 })
  expect(warnings).toEqual([
    expect.stringMatching(
      /^Pile-up: tasks that fail together come back together, at retry 1 all 100 in the same millisecond\./,
    ),
    expect.stringMatching(/^Idle gaps: 9\d % of the time nothing is sent, for up to 10h at a stretch/),
  ])
})

test.each(['background', 'interactive'])('%s has nothing to be warned of', async (name) => {
  expect((await plan(['--preset', name])).warnings).toEqual([])
})

test.each([
  ['--preset', 'background', '--retries', '1'],
  ['--preset', 'background', '--tasks', '50'],
  ['--preset', 'svix', '--tasks', '1'],
])('no one is told to use what would not help: %s %s %s %s', async (...words) => {
  expect((await plan(words)).warnings).toEqual([])
})

test('a schedule that is longer than a key is safe is warned of, with the first retry that may be missing', async () => {
  const { warnings } = await planOf({ ...presets.zizq, totalBudgetMs: 86_400_000, keyTtlMs: 86_400_000 }, 25)
  expect(warnings[0]).toMatch(
    /^Ends too early: the retries may take 25d 1h, and totalBudgetMs ends a task after 1d, from retry 13 on\./,
  )
  const { keyTtlMs: _, totalBudgetMs: __, ...without } = presets.zizq
  expect((await planOf(without, 25)).warnings[0]).toMatch(/and keyTtlMs ends a task after 1d, from retry 13 on\./)
})

test('the three flags, from wherever they come, are the curve of the default policy', async () => {
  const expected = (await plan(['--preset', 'zizq'])).schedule
  const words = '--default-backoff-base 15s --default-backoff-exponent 4 --default-backoff-jitter 30s'.split(' ')
  expect((await plan([...words, '--retries', '25'])).schedule).toEqual(expected)
  const env = {
    REDRIVE_DEFAULT_BACKOFF_BASE: '15s',
    REDRIVE_DEFAULT_BACKOFF_EXPONENT: '4',
    REDRIVE_DEFAULT_BACKOFF_JITTER: '30s',
    REDRIVE_DEFAULT_RETRY_LIMIT: '25',
  }
  const { out } = await run('plan --json', { env })
  expect(JSON.parse(out)).toMatchObject({ schedule: expected, warnings: [expect.any(String), expect.any(String)] })
})

test('without a word it is the default policy of the service', async () => {
  const files = { 'redrive.config.json': { defaultPolicy: 'svix' } }
  expect((await plan([], files)).policy.policyId).toBe('svix')
  expect((await plan([])).policy).toMatchObject({ policyId: 'default', strategy: 'spread', maxDelayMs: 600_000 })
})

test.each([
  ['--preset ziq', "--preset: there is no policy 'ziq'; did you mean zizq?"],
  ['--preset default', '--preset: default is no preset; redrive plan without it shows that policy'],
  ['--preset zizq --policy p.json', '--preset and --policy exclude each other: each chooses the policy'],
  ['--preset zizq --default-retry-limit 3', '--preset and --default-* exclude each other: each chooses the policy'],
  ['zizq', "plan: unexpected 'zizq'; write --preset zizq"],
  ['--policy zizq', '--policy: expected a file; write --preset zizq'],
  ['--policy l.json', '--policy: l.json has a list; write --policies l.json --default-policy NAME for one of it'],
  ['--policy gone.json', /^gone\.json: cannot be read/],
  ['--policy p.json', 'p.json.maxAttempts: expected a whole number from 1 to 1000000, got 0'],
  ['--retries 1001', "--retries: expected a whole number from 0 to 1000, got '1001'"],
  ['--tasks 0', "--tasks: expected a whole number from 1 to 1000, got '0'"],
  ['--default-backoff-base 5s', /^--default-backoff-exponent and --default-backoff-jitter are missing/],
])('plan %s is refused', async (line, message) => {
  const { code, err } = await run(`plan ${line}`, { files: { 'p.json': { maxAttempts: 0 }, 'l.json': [] } })
  expect(code).toBe(2)
  const said = err.replace(/^redrive: /, '').trimEnd()
  if (typeof message === 'string') expect(said).toBe(message)
  else expect(said).toMatch(message)
})

test('a policy that is tried once has nothing to plot', async () => {
  expect((await run('plan --preset zizq --retries 0')).out).toContain('A task is sent once, and not again.')
})

test('colours are for terminals, and NO_COLOR turns them off', async () => {
  const plain = await run('plan --preset zizq', { isTTY: false })
  const coloured = await run('plan --preset zizq', { isTTY: true })
  const asked = await run('plan --preset zizq', { isTTY: true, env: { NO_COLOR: '1' } })
  expect(coloured.out).toContain('\u001b[')
  expect(bare(coloured.out)).toBe(plain.out)
  expect(asked.out).toBe(plain.out)
})

test('--svg writes a picture for light and dark, in which text of others is only text', async () => {
  const files = { 'p.json': { policyId: '</text><script>', strategy: 'fixed', initialDelayMs: 1_000 } }
  const { code, out, cwd } = await run('plan --policy p.json --svg p.svg --tasks 7', { files })
  expect(code).toBe(0)
  expect(out).toContain('The plots are in p.svg.')
  const svg = readFileSync(join(cwd, 'p.svg'), 'utf8')
  expect(svg).toContain('@media (prefers-color-scheme: dark)')
  expect(svg.match(/<circle /g)).toHaveLength(7 * 10)
  expect(svg.match(/class="band"/g)).toHaveLength(25)
  expect(svg).not.toContain('<script')
  expect(svg).not.toContain('NaN')
})

test('a picture that cannot be written is said', async () => {
  const { code, err } = await run('plan --preset aws --svg no/such/folder.svg')
  expect(code).toBe(1)
  expect(err).toMatch(/^redrive: --svg: no\/such\/folder\.svg cannot be written \(ENOENT/)
})
