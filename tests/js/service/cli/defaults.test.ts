import { expect, test } from 'vitest'
import { presets } from '../../../../js/options/presets.ts'
import { run } from './setup.ts'

const PARTS = [
  { flag: '--default-backoff-base', value: '15s' },
  { flag: '--default-backoff-exponent', value: '4' },
  { flag: '--default-backoff-jitter', value: '30s' },
] as const
/** That of a flag in the environment, and in a file. */
const BASE_ENV = { REDRIVE_DEFAULT_BACKOFF_BASE: '15s' }
const JITTER_FILE = { 'redrive.config.json': { defaultBackoffJitter: '30s' } }

const INCOMPLETE: readonly (readonly [given: readonly number[], words: string])[] = [
  [[0, 1], '--default-backoff-jitter is missing'],
  [[0, 2], '--default-backoff-exponent is missing'],
  [[1, 2], '--default-backoff-base is missing'],
  [[0], '--default-backoff-exponent and --default-backoff-jitter are missing'],
  [[1], '--default-backoff-base and --default-backoff-jitter are missing'],
  [[2], '--default-backoff-base and --default-backoff-exponent are missing'],
]

test.each(INCOMPLETE)('of base, exponent and jitter only %j: %s', async (given, words) => {
  const err = `redrive: ${words}: base, exponent and jitter form one formula\n`
  const refused = { code: 2, err, settings: undefined }
  const argv = (which: readonly number[]) =>
    PARTS.flatMap(({ flag, value }, i) => (which.includes(i) ? [flag, value] : []))
  expect(await run(argv(given))).toMatchObject(refused)
  // wherever each of them is given
  const env = given.includes(0) ? BASE_ENV : {}
  const files = given.includes(2) ? JITTER_FILE : {}
  expect(await run(argv(given.filter((i) => i === 1)), { env, files })).toMatchObject(refused)
})

test('all three are one polynomial, each in a place of its own', async () => {
  const { code, settings } = await run('--default-backoff-exponent 4', { env: BASE_ENV, files: JITTER_FILE })
  expect(code).toBe(0)
  const polynomial = { strategy: 'polynomial', baseMs: 15_000, exponent: 4, jitterMs: 30_000 }
  expect(settings?.defaultPolicy).toEqual({ policyId: 'default', ...polynomial })
})

const ALL = PARTS.flatMap(({ flag, value }) => [flag, value])

test.each(PARTS)('--default-policy and $flag exclude each other', async ({ flag, value }) => {
  const { code, err } = await run(['--default-policy', 'svix', flag, value])
  const said = `redrive: --default-policy and ${flag} exclude each other: both choose the curve\n`
  expect({ code, err }).toEqual({ code: 2, err: said })
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
