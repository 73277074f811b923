import { expect, test } from 'vitest'
import { presets } from '../../../../js/options/presets.ts'
import { run } from './setup.ts'

const PARTS = [
  { flag: '--default-backoff-base', env: 'REDRIVE_DEFAULT_BACKOFF_BASE', key: 'defaultBackoffBase', value: '15s' },
  {
    flag: '--default-backoff-exponent',
    env: 'REDRIVE_DEFAULT_BACKOFF_EXPONENT',
    key: 'defaultBackoffExponent',
    value: '4',
  },
  {
    flag: '--default-backoff-jitter',
    env: 'REDRIVE_DEFAULT_BACKOFF_JITTER',
    key: 'defaultBackoffJitter',
    value: '30s',
  },
] as const
type Place = 'flag' | 'env' | 'file'

/** The parts, each given in its own place. */
function given(which: readonly number[], places: readonly Place[]) {
  const argv: string[] = []
  const env: Record<string, string> = {}
  const file: Record<string, unknown> = {}
  for (const i of which) {
    const part = PARTS[i as 0 | 1 | 2]
    const place = places[i % places.length]
    if (place === 'flag') argv.push(part.flag, part.value)
    if (place === 'env') env[part.env] = part.value
    if (place === 'file') file[part.key] = part.key === 'defaultBackoffExponent' ? 4 : part.value
  }
  return run(argv, { env, files: { 'redrive.config.json': file } })
}

const INCOMPLETE: readonly (readonly [given: readonly number[], words: string])[] = [
  [[0, 1], '--default-backoff-jitter is missing'],
  [[0, 2], '--default-backoff-exponent is missing'],
  [[1, 2], '--default-backoff-base is missing'],
  [[0], '--default-backoff-exponent and --default-backoff-jitter are missing'],
  [[1], '--default-backoff-base and --default-backoff-jitter are missing'],
  [[2], '--default-backoff-base and --default-backoff-exponent are missing'],
]
const PLACES: readonly (readonly Place[])[] = [
  ['flag'],
  ['env'],
  ['file'],
  ['flag', 'env', 'file'],
  ['env', 'file', 'flag'],
  ['file', 'flag', 'env'],
]
const COMBINATIONS = INCOMPLETE.flatMap(([which, words]) => PLACES.map((places) => ({ which, words, places })))

test.each(COMBINATIONS)(
  'of base, exponent and jitter only $which by $places: $words',
  async ({ which, words, places }) => {
    expect(await given(which, places)).toMatchObject({
      code: 2,
      out: '',
      err: `redrive: ${words}: base, exponent and jitter form one formula\n`,
      settings: undefined,
    })
  },
)

test.each(PLACES)('all three are one polynomial, by %s %s %s', async (...places) => {
  const { code, settings } = await given([0, 1, 2], places.filter(Boolean))
  expect(code).toBe(0)
  expect(settings?.defaultPolicy).toEqual({
    policyId: 'default',
    strategy: 'polynomial',
    baseMs: 15_000,
    exponent: 4,
    jitterMs: 30_000,
  })
})

const ALL = PARTS.flatMap(({ flag, value }) => [flag, value])

test.each(PARTS)('--default-policy and $flag exclude each other', async ({ flag, value }) => {
  const { code, err } = await run(['--default-policy', 'svix', flag, value])
  expect({ code, err }).toEqual({
    code: 2,
    err: `redrive: --default-policy and ${flag} exclude each other: both choose the curve\n`,
  })
})

test('a retry limit of N is N + 1 attempts', async () => {
  for (const retries of [0, 1, 7]) {
    const { settings } = await run(['--default-retry-limit', String(retries)])
    expect(settings?.defaultPolicy).toEqual({ policyId: 'default', maxAttempts: retries + 1 })
  }
})

test('the four flags of Zizq come to its curve, and have the time for all of its retries', async () => {
  const { settings } = await run([...ALL, '--default-retry-limit', '25'])
  const { baseMs, exponent, jitterMs, maxAttempts } = presets.zizq
  expect(settings?.defaultPolicy).toMatchObject({ baseMs, exponent, jitterMs, maxAttempts })
  // the longest waits are 25.04 days, and 26 attempts of 30 s come to it
  expect(settings?.defaultPolicy).toMatchObject({ totalBudgetMs: 26 * 86_400_000, keyTtlMs: 26 * 86_400_000 })
})

test('a retry limit that fits into the budget of its policy leaves it as it is', async () => {
  const { settings } = await run('--default-policy svix --default-retry-limit 5')
  expect(settings?.defaultPolicy).toEqual({ ...presets.svix, policyId: 'default', maxAttempts: 6 })
})

test('without any of them the default policy is a name', async () => {
  expect((await run('')).settings?.defaultPolicy).toEqual({ policyId: 'default' })
  expect((await run('--default-policy zizq')).settings?.defaultPolicy).toEqual(presets.zizq)
})

test('a policy of the configuration is a default too, and goes before a preset of its name', async () => {
  const policies = [
    { policyId: 'invoices', maxAttempts: 3 },
    { policyId: 'aws', maxAttempts: 9 },
    { policyId: 'default', maxAttempts: 2 },
  ]
  const files = { 'redrive.config.json': { policies } }
  for (const [i, name] of ['invoices', 'aws', 'default'].entries()) {
    const { settings } = await run(['--default-policy', name], { files })
    expect(settings?.defaultPolicy).toEqual(policies[i])
  }
  expect((await run('', { files })).settings?.defaultPolicy).toEqual(policies[2])
})
