import { expect, onTestFinished, test } from 'vitest'
import { envOf, nameOf } from '../../../../js/service/cli/flag.ts'
import { FLAGS, flagRows } from '../../../../js/service/cli/flags.ts'
import { moment } from '../../../../js/service/cli/kinds.ts'
import type { Settings } from '../../../../js/service/cli/settings.ts'
import { folderOf, run, write } from './setup.ts'

/** A setting as text, as a configuration file has it, and as it is read. */
interface Way {
  readonly key: string
  readonly text: string
  readonly json: unknown
  readonly setting: Partial<Settings>
}

const SHA = 'ab'.repeat(32)
const tokens = [{ sha256: SHA, tenant: 'acme', scopes: ['tasks:read'], name: 'backend' }] as const
const policies = [{ policyId: 'invoices', maxAttempts: 3 }] as const
const credentials = {
  'acme-api': {
    origins: ['https://api.test'],
    tenants: ['acme'],
    headers: { authorization: { from: 'env:TOKEN', prefix: 'Bearer ' } },
  },
} as const
const bodySources = { 's3://acme-invoices/outbox?region=eu-central-1': { tenants: ['acme'] } } as const
const limits = { 'https://api.example.com': { concurrency: 5, perSecond: 10, burst: 20 } } as const
const tenants = { acme: { capacity: 100, targets: ['https://api.example.com'] } } as const
const signing = { hooks: { keys: [{ from: 'file:whsec' }] } } as const
/** Settings of which one is not right without others. */
const COMPANIONS: Readonly<Record<string, object>> = {
  tlsCert: { tlsKey: 'k.pem' },
  tlsKey: { tlsCert: 'c.pem' },
  tlsClientCa: { tlsCert: 'c.pem', tlsKey: 'k.pem' },
  partitions: { store: 'redis://h' },
  defaultBackoffBase: { defaultBackoffExponent: 2, defaultBackoffJitter: 7 },
  defaultBackoffExponent: { defaultBackoffBase: 5, defaultBackoffJitter: 7 },
  defaultBackoffJitter: { defaultBackoffBase: 5, defaultBackoffExponent: 2 },
}
const polynomial = (baseMs: number, exponent: number, jitterMs: number): Partial<Settings> => ({
  defaultPolicy: { policyId: 'default', strategy: 'polynomial', baseMs, exponent, jitterMs },
})

const WAYS: readonly Way[] = [
  { key: 'store', text: 'redis://h:1/2', json: 'redis://h:1/2', setting: { store: 'redis://h:1/2' } },
  { key: 'name', text: 'orders', json: 'orders', setting: { name: 'orders' } },
  { key: 'bodies', text: 'file:bodies', json: 'file:bodies', setting: { bodies: 'file:bodies' } },
  { key: 'bodySources', text: 'buckets.json', json: bodySources, setting: { bodySources } },
  { key: 'inlineBody', text: '1KiB', json: 1_024, setting: { inlineBody: 1_024 } },
  { key: 'maxUpload', text: '2GiB', json: '2GiB', setting: { maxUpload: 2 ** 31 } },
  { key: 'uploadTtl', text: '7d', json: 604_800_000, setting: { uploadTtl: 604_800_000 } },
  { key: 'host', text: '0.0.0.0', json: '0.0.0.0', setting: { host: '0.0.0.0' } },
  { key: 'port', text: '8080', json: 8080, setting: { port: 8080 } },
  { key: 'adminPort', text: '9000', json: 9000, setting: { adminPort: 9000 } },
  { key: 'ui', text: 'true', json: true, setting: { ui: true } },
  { key: 'tlsCert', text: 'c.pem', json: 'c.pem', setting: { tlsCert: 'c.pem' } },
  { key: 'tlsKey', text: 'k.pem', json: 'k.pem', setting: { tlsKey: 'k.pem' } },
  { key: 'tlsClientCa', text: 'ca.pem', json: 'ca.pem', setting: { tlsClientCa: 'ca.pem' } },
  { key: 'tokens', text: 'tokens.json', json: tokens, setting: { tokens } },
  { key: 'hostNames', text: 'a.test,b.test', json: ['a.test', 'b.test'], setting: { hostNames: ['a.test', 'b.test'] } },
  { key: 'corsOrigin', text: 'https://a.test', json: ['https://a.test'], setting: { corsOrigin: ['https://a.test'] } },
  { key: 'rate', text: '120/m', json: '120/m', setting: { rate: 2 } },
  { key: 'metricsOpen', text: 'true', json: true, setting: { metricsOpen: true } },
  {
    key: 'targets',
    text: 'https://a.test,https://*.b.test,:8443',
    json: ['https://a.test', 'https://*.b.test', ':8443'],
    setting: { targets: ['https://a.test', 'https://*.b.test', ':8443'] },
  },
  { key: 'allowHttp', text: 'true', json: true, setting: { allowHttp: true } },
  { key: 'allowPrivate', text: '10.1.0.0/16', json: ['10.1.0.0/16'], setting: { allowPrivate: ['10.1.0.0/16'] } },
  { key: 'allowAnyPublicTarget', text: 'true', json: true, setting: { allowAnyPublicTarget: true } },
  { key: 'egressProxy', text: 'http://p:1', json: 'http://p:1', setting: { egressProxy: 'http://p:1' } },
  {
    key: 'dnsServers',
    text: '10.0.0.53,[fd00::53]:5353',
    json: ['10.0.0.53', '[fd00::53]:5353'],
    setting: { dnsServers: ['10.0.0.53', '[fd00::53]:5353'] },
  },
  { key: 'connectTimeout', text: '12.5s', json: 12_500, setting: { connectTimeout: 12_500 } },
  { key: 'urlSecrets', text: 'keep', json: 'keep', setting: { urlSecrets: 'keep' } },
  { key: 'credentials', text: 'credentials.json', json: credentials, setting: { credentials } },
  { key: 'signing', text: 'signing.json', json: signing, setting: { signing } },
  { key: 'concurrency', text: '7', json: 7, setting: { concurrency: 7 } },
  { key: 'concurrencyPerOrigin', text: '3', json: 3, setting: { concurrencyPerOrigin: 3 } },
  { key: 'concurrencyPerTenant', text: '4', json: 4, setting: { concurrencyPerTenant: 4 } },
  { key: 'limits', text: 'limits.json', json: limits, setting: { limits } },
  { key: 'attemptTimeout', text: '3m', json: '3m', setting: { attemptTimeout: 180_000 } },
  { key: 'lease', text: '1m', json: 60_000, setting: { lease: 60_000 } },
  { key: 'partitions', text: '4', json: 4, setting: { partitions: 4 } },
  { key: 'partitionBy', text: 'lane', json: 'lane', setting: { partitionBy: 'lane' } },
  {
    key: 'defaultPolicy',
    text: 'aws',
    json: 'aws',
    setting: { defaultPolicy: expect.objectContaining({ policyId: 'aws' }) },
  },
  { key: 'defaultRetryLimit', text: '4', json: 4, setting: { defaultPolicy: { policyId: 'default', maxAttempts: 5 } } },
  { key: 'defaultBackoffBase', text: '15s', json: '15s', setting: polynomial(15_000, 2, 7) },
  { key: 'defaultBackoffExponent', text: '4.5', json: 4.5, setting: polynomial(5, 4.5, 7) },
  { key: 'defaultBackoffJitter', text: '30s', json: 30_000, setting: polynomial(5, 2, 30_000) },
  { key: 'policies', text: 'policies.json', json: policies, setting: { policies } },
  { key: 'policiesLocked', text: 'true', json: true, setting: { policiesLocked: true } },
  { key: 'capacity', text: '500', json: 500, setting: { capacity: 500 } },
  { key: 'capacityBytes', text: '1MB', json: 1_000_000, setting: { capacityBytes: 1_000_000 } },
  { key: 'tenantCapacity', text: '5', json: 5, setting: { tenantCapacity: 5 } },
  { key: 'tenantCapacityBytes', text: '1MiB', json: 1_048_576, setting: { tenantCapacityBytes: 1_048_576 } },
  { key: 'tenants', text: 'tenants.json', json: tenants, setting: { tenants } },
  { key: 'maxBody', text: '64KiB', json: '64KiB', setting: { maxBody: 65_536 } },
  { key: 'retainEnded', text: '2d', json: '2d', setting: { retainEnded: 172_800_000 } },
  { key: 'retainDead', text: '1h', json: 3_600_000, setting: { retainDead: 3_600_000 } },
  { key: 'maxDead', text: '0', json: 0, setting: { maxDead: 0 } },
  { key: 'role', text: 'api', json: 'api', setting: { role: 'api' } },
  { key: 'drain', text: '8s', json: 8_000, setting: { drain: 8_000 } },
  { key: 'drainDelay', text: '250ms', json: 250, setting: { drainDelay: 250 } },
  { key: 'logLevel', text: 'warn', json: 'warn', setting: { logLevel: 'warn' } },
  { key: 'logFormat', text: 'text', json: 'text', setting: { logFormat: 'text' } },
]

const FILES = {
  'tokens.json': tokens,
  'policies.json': { policies },
  'credentials.json': credentials,
  'signing.json': { signing },
  'limits.json': { limits },
  'tenants.json': tenants,
  'buckets.json': { bodySources },
}

test('the table below has every setting but --config', () => {
  expect([...WAYS.map(({ key }) => key), 'config'].sort()).toEqual(Object.keys(FLAGS).sort())
})

test.each(WAYS)('$key is the same setting as a flag, a variable and a key of the file', async (way) => {
  const { key, text, json, setting } = way
  const files = { ...FILES, 'redrive.config.json': COMPANIONS[key] ?? {} }
  const isSwitch = flagRows().find((row) => row.key === key)?.placeholder === ''
  const flag = isSwitch ? [`--${nameOf(key)}`] : [`--${nameOf(key)}`, text]
  const ways = [
    await run(flag, { files }),
    await run([], { files, env: { [envOf(key)]: text } }),
    await run([], { files: { ...FILES, 'redrive.config.json': { ...COMPANIONS[key], [key]: json } } }),
  ]
  for (const { code, err, settings } of ways) {
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(settings).toMatchObject(setting)
    expect(settings).not.toEqual((await run([], { files })).settings)
  }
})

test('a flag goes before the environment, that before the file, and that before the default', async () => {
  const files = { 'redrive.config.json': { port: 3, host: 'c.test', name: 'c' } }
  const env = { REDRIVE_PORT: '2', REDRIVE_HOST: 'b.test' }
  const { settings } = await run('--port 1', { files, env })
  expect(settings).toMatchObject({ port: 1, host: 'b.test', name: 'c', concurrency: 200 })
})

test('a switch is turned off by --no-, and by false in the environment', async () => {
  const files = { 'redrive.config.json': { allowHttp: true, metricsOpen: true } }
  const { settings } = await run('--no-allow-http', { files, env: { REDRIVE_METRICS_OPEN: 'false' } })
  expect(settings).toMatchObject({ allowHttp: false, metricsOpen: false })
})

test('a list is one flag with commas, or several flags', async () => {
  const { settings } = await run('--targets https://a.test,https://b.test --targets=https://c.test')
  expect(settings?.targets).toEqual(['https://a.test', 'https://b.test', 'https://c.test'])
})

test('--config names a file, as does REDRIVE_CONFIG, and a module is as good as JSON', async () => {
  const files = { 'a.json': { port: 1 }, 'b.mjs': 'export default { port: 1 + 1 }', 'redrive.config.json': { port: 3 } }
  expect((await run('--config a.json', { files })).settings?.port).toBe(1)
  expect((await run('', { files, env: { REDRIVE_CONFIG: 'b.mjs' } })).settings?.port).toBe(2)
  expect((await run('', { files })).settings?.port).toBe(3)
})

test('what has changed is read again, from JSON and from a module', async () => {
  const { host, settings, cwd } = await run('--config c.mjs', {
    files: { 'c.mjs': "export default { tokens: 't.json' }", 't.json': [] },
  })
  expect(settings?.tokens).toEqual([])
  write(cwd, { 't.json': tokens })
  expect((await host?.reread())?.tokens).toEqual(tokens)
  write(cwd, { 'c.mjs': 'export default { tokens: 5 }' })
  await expect(host?.reread()).rejects.toThrow('c.mjs, tokens: expected the path of a file with tokens, got 5')
})

test('no tokens are not the same as an empty list of them', async () => {
  expect((await run('')).settings?.tokens).toBeUndefined()
  expect((await run('', { files: { 'redrive.config.json': { tokens: [] } } })).settings?.tokens).toEqual([])
})

test('a token without a name is called by its hash, and a date ends it', async () => {
  const files = {
    't.json': { tokens: [{ sha256: SHA.toUpperCase(), scopes: ['admin'], expiresAt: '2027-01-31T00:00Z' }] },
  }
  const { settings } = await run('--tokens t.json', { files })
  expect(settings?.tokens).toEqual([
    { sha256: SHA, tenant: null, scopes: ['admin'], name: 'abababab', expiresAt: Date.UTC(2027, 0, 31) },
  ])
})

test.each([
  ['2027-01-31', Date.UTC(2027, 0, 31)],
  ['2027-01-31T12:30', Date.UTC(2027, 0, 31, 12, 30)],
  ['2027-01-31 12:30:15', Date.UTC(2027, 0, 31, 12, 30, 15)],
  ['2027-01-31T12:30:15.250', Date.UTC(2027, 0, 31, 12, 30, 15, 250)],
  ['2027-01-31T12:30Z', Date.UTC(2027, 0, 31, 12, 30)],
  ['2027-01-31T12:30-05:00', Date.UTC(2027, 0, 31, 17, 30)],
])('%s is a moment of UTC unless it says otherwise, wherever the machine stands', async (date, instant) => {
  const { TZ } = process.env
  process.env.TZ = 'America/Bogota'
  onTestFinished(() => {
    if (TZ === undefined) delete process.env.TZ
    else process.env.TZ = TZ
  })
  expect(new Date(2027, 0, 31).getTimezoneOffset()).toBe(300)
  const files = { 't.json': { tokens: [{ sha256: SHA, scopes: ['admin'], expiresAt: date }] } }
  const { settings } = await run('--tokens t.json', { files })
  expect(settings?.tokens?.[0]?.expiresAt).toBe(instant)
  expect(moment(() => 0).fromText(date, { parseDuration: Number })).toBe(instant)
})

test('settings are plain data', async () => {
  const { settings } = await run('')
  expect(JSON.parse(JSON.stringify(settings))).toEqual(
    Object.fromEntries(Object.entries(settings ?? {}).filter(([, value]) => value !== undefined)),
  )
})

test('without a word the log is text on a terminal, and JSON elsewhere', async () => {
  expect((await run('', { isTTY: true })).settings?.logFormat).toBe('text')
  expect((await run('', { isTTY: false })).settings?.logFormat).toBe('json')
})

test('a variable that is no setting is warned of, by the name that was meant', async () => {
  const env = { REDRIVE_CONCURENCY: '3', REDRIVE_URL: 'http://a.test', REDRIVE_TOKEN: 'rd_x', REDRIVE_QQ: '1' }
  const { code, err } = await run('', { env })
  expect(code).toBe(0)
  expect(err.split('\n')).toEqual([
    'redrive: REDRIVE_CONCURENCY is no setting; did you mean REDRIVE_CONCURRENCY?',
    'redrive: REDRIVE_QQ is no setting and has no effect',
    '',
  ])
})

test('the variables that Kubernetes makes of a service called redrive are passed by', async () => {
  const env = {
    REDRIVE_PORT: 'tcp://10.0.0.1:7733',
    REDRIVE_SERVICE_HOST: '10.0.0.1',
    REDRIVE_SERVICE_PORT: '7733',
    REDRIVE_PORT_7733_TCP: 'tcp://10.0.0.1:7733',
    REDRIVE_PORT_7733_TCP_ADDR: '10.0.0.1',
  }
  const { code, err, settings } = await run('', { env })
  expect({ code, err, port: settings?.port }).toEqual({ code: 0, err: '', port: 7733 })
})

test('an empty variable is as good as none', async () => {
  expect((await run('', { env: { REDRIVE_PORT: '', REDRIVE_TARGETS: '' } })).settings).toEqual((await run('')).settings)
})

test('rows of the table name every flag with its variable and key', () => {
  expect(flagRows()).toHaveLength(Object.keys(FLAGS).length)
  expect(flagRows().find(({ flag }) => flag === '--max-body')).toEqual({
    group: 'Limits',
    flag: '--max-body',
    placeholder: 'BYTES',
    env: 'REDRIVE_MAX_BODY',
    key: 'maxBody',
    default: '1MiB',
    help: 'Largest body of a task',
  })
  expect(flagRows().find(({ flag }) => flag === '--config')?.key).toBeUndefined()
})

test('a folder is where the configuration is looked for', async () => {
  const cwd = folderOf({ 'redrive.config.mjs': 'export default { port: 5 }' })
  expect((await run('', { cwd })).settings?.port).toBe(5)
})
