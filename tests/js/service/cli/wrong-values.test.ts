import { expect, test } from 'vitest'
import { type AnyTable, envOf, nameOf } from '../../../../js/service/cli/flag.ts'
import { FLAGS } from '../../../../js/service/cli/flags.ts'
import { run } from './setup.ts'

/** A text and a JSON value that no setting of this key may have. */
const WRONG: Readonly<Record<string, readonly [text: string, json: unknown]>> = {
  store: ['postgres://h', 'orders.db'],
  name: ['a b', ''],
  bodies: ['s3://B', 'ftp://a'],
  bodySources: ['a\nb', []],
  inlineBody: ['65MiB', -1],
  maxUpload: ['1 GiB', null],
  uploadTtl: ['59s', 0.5],
  host: ['-x-', 5],
  port: ['65536', '80'],
  adminPort: ['-1', 1.5],
  ui: ['maybe', 'true'],
  tlsCert: ['a\nb', 1],
  tlsKey: ['a\nb', 1],
  tlsClientCa: ['a\nb', 1],
  tokens: ['a\nb', 5],
  hostNames: ['a..b', [5]],
  corsOrigin: ['https://a.test/', ['a.test']],
  rate: ['500', 500],
  metricsOpen: ['maybe', 'true'],
  targets: ['a.test', ['https://*']],
  allowHttp: ['2', 1],
  allowPrivate: ['10.0.0.1/8', ['10.0.0.0/33']],
  allowAnyPublicTarget: ['x', null],
  egressProxy: ['socks5://p', 'p:1'],
  dnsServers: ['ns.example.com', ['10.0.0.53:99999']],
  connectTimeout: ['61s', '3 s'],
  urlSecrets: ['strip', true],
  credentials: ['a\nb', []],
  signing: ['a\nb', 5],
  concurrency: ['0', 10_001],
  concurrencyPerOrigin: ['1.5', '3'],
  concurrencyPerTenant: ['0', '3'],
  limits: ['a\nb', []],
  attemptTimeout: ['0', 0.5],
  lease: ['999ms', 999],
  partitions: ['65', 1.5],
  partitionBy: ['origin', 3],
  defaultPolicy: ['a\nb', 5],
  defaultRetryLimit: ['10001', -1],
  defaultBackoffBase: ['15 s', -1],
  defaultBackoffExponent: ['8.1', '4'],
  defaultBackoffJitter: ['1w', true],
  policies: ['a\nb', {}],
  policiesLocked: ['x', 'on'],
  capacity: ['1e3', 1_000_001],
  capacityBytes: ['4 GiB', -1],
  tenantCapacity: ['0', 1_000_001],
  tenantCapacityBytes: ['4 GiB', -1],
  tenants: ['a\nb', 5],
  maxBody: ['1PB', '65MiB'],
  retainEnded: ['forever', '-1d'],
  retainDead: ['1.5', []],
  maxDead: ['all', null],
  role: ['both', ['api']],
  config: ['a\nb', undefined],
  drain: ['2h', '61m'],
  drainDelay: ['x', {}],
  logLevel: ['INFO', 3],
  logFormat: ['pretty', false],
}

test('the table has every setting', () => {
  expect(Object.keys(WRONG)).toEqual(Object.keys(FLAGS))
})

test.each(Object.entries(WRONG))(
  '%s: a wrong value ends with exit code 2 and a line that names it',
  async (key, [text, json]) => {
    const flag = (FLAGS as unknown as AnyTable)[key]
    // a switch takes its value after an equals sign, and a reader of its own may say more than what was expected
    const wrong = /^--[\w-]+: (expected .+, got .+|'.+': .+|'.+' (has|is) .+)\n$/
    const ofFlag = await run([`--${nameOf(key)}=${text}`])
    expect(ofFlag.code).toBe(2)
    expect(ofFlag.err).toMatch(/^redrive: --/)
    const line = ofFlag.err.replace('redrive: ', '')
    expect(line).toMatch(wrong)
    if (line.includes('expected') && !/^--(targets|allow-private)/.test(line)) {
      expect(line).toContain(`expected ${flag?.kind.expected}, got`)
    }
    const ofEnv = await run([], { env: { [envOf(key)]: text } })
    expect(ofEnv).toMatchObject({ code: 2, out: '', settings: undefined })
    expect(ofEnv.err).toBe(`redrive: ${line.replace(`--${nameOf(key)}`, envOf(key))}`)
    if (json === undefined) return
    const ofFile = await run([], { files: { 'redrive.config.json': { [key]: json } } })
    expect(ofFile.code).toBe(2)
    expect(ofFile.err).toMatch(new RegExp(`^redrive: redrive\\.config\\.json, ${key}: .+\n$`))
  },
)

test.each([
  ['--prot 1', '--prot: no such flag; did you mean --port?'],
  ['--concurrency-per-orgin 5', '--concurrency-per-orgin: no such flag; did you mean --concurrency-per-origin?'],
  ['--zzz', '--zzz: no such flag; redrive --help lists them'],
  ['--no-port', '--no-port: no such flag; redrive --help lists them'],
  ['task list --since x', '--since: no such flag; redrive task list --help lists them'],
  ['-p 1', '-p: no such flag; redrive --help lists them'],
  ['--port', '--port: expected a port from 0 to 65535, got nothing'],
  ['--port --host a.test', '--port: expected a port from 0 to 65535, got the flag --host'],
  ['--port=', '--port: expected a port from 0 to 65535, got nothing'],
  ['--host [::1]', "--host: expected a host name or an IP address, got '[::1]'"],
  ['--store redis://h/abc', "--store: expected redis[s]://HOST:PORT/NUMBER-OF-THE-DATABASE, got 'redis://h/abc'"],
  [
    '--store rediss://u:geheim@h:1/1/2?password=geheim',
    "--store: expected redis[s]://HOST:PORT/NUMBER-OF-THE-DATABASE, got 'rediss://h:1/1/2…'",
  ],
  ['--store redis://h/-1', "--store: expected redis[s]://HOST:PORT/NUMBER-OF-THE-DATABASE, got 'redis://h/-1'"],
  ['--store redis://u:ge/heim@h:x', "--store: expected redis[s]://HOST:PORT/NUMBER-OF-THE-DATABASE, got 'redis://h:x'"],
  ['--allow-http yes', "serve: unexpected 'yes'; settings are flags, see redrive --help"],
  ['serve now', "serve: unexpected 'now'; settings are flags, see redrive --help"],
])('%s', async (line, message) => {
  expect(await run(line)).toMatchObject({ code: 2, err: `redrive: ${message}\n`, settings: undefined })
})

test.each([
  ['--tls-cert c.pem', '--tls-key is missing: --tls-cert needs it'],
  ['--tls-key k.pem', '--tls-cert is missing: --tls-key needs it'],
  ['--tls-client-ca c.pem', '--tls-cert and --tls-key are missing: --tls-client-ca needs them'],
  ['--port 5 --admin-port 5', '--admin-port: expected another port than --port, got 5 for both'],
  ['--store memory: --role api', "--role: expected all with --store memory:, which no other process sees, got 'api'"],
  ['--ui --role worker', "--ui: expected --role api or all, got 'worker', which shows no tasks"],
  ['--default-policy zizk', "--default-policy: there is no policy 'zizk'; did you mean zizq?"],
])('settings that do not fit each other: %s', async (line, message) => {
  expect(await run(line)).toMatchObject({ code: 2, err: `redrive: ${message}\n`, settings: undefined })
})

test.each(['redis://h', 'redis://h/', 'rediss://u:p@h:1/15', 'redis://u:p%2F@[::1]:1/0?x=1'])(
  'the store %s is taken',
  async (store) => {
    expect(await run(['--store', store])).toMatchObject({ code: 0, settings: { store } })
  },
)

test('a password in a wrong value is not shown, from wherever it came', async () => {
  const url = 'redi://user:geheim@h/0?password=geheim'
  const ways = [
    await run(['--store', url]),
    await run([], { env: { REDRIVE_STORE: url } }),
    await run([], { files: { 'redrive.config.json': { store: url } } }),
    await run(['--egress-proxy', 'ftp://user:geheim@p']),
    await run(['--targets', 'https://user:geheim@a.test']),
  ]
  for (const { code, err } of ways) {
    expect(code).toBe(2)
    expect(err).not.toContain('geheim')
  }
})

test.each([
  ['credentials', { a: { origins: ['https://user:geheim@a.test'], headers: { 'x-a': { from: 'env:A' } } } }, 'origins'],
  ['limits', { 'https://user:geheim@a.test': { perSecond: 1 } }, 'expected an exact origin'],
  ['limits', { [`https://user:geheim${'m'.repeat(60)}@a.test`]: { perSecond: 1 } }, 'expected an exact origin'],
  ['tenants', { a: { targets: ['https://user:geheim@a.test'] } }, 'tenants.a.targets: '],
  ['tenants', { a: { targets: ['a.test'] } }, 'tenants.a.targets: '],
])('nor is that of a URL in a file of %s, which ends with exit code 2 and a line: %j', async (key, json, word) => {
  for (const files of [{ 'redrive.config.json': { [key]: json } }, { 'f.json': json }]) {
    const { code, err } = await run('f.json' in files ? [`--${key}`, 'f.json'] : [], { files })
    expect([code, err.split('\n').length]).toEqual([2, 2])
    expect(err).toContain(word)
    expect(err).not.toContain('geheim')
  }
})

test('control characters in a value do not reach the terminal', async () => {
  const { err } = await run(['--store', '\u001b[31mred\u0007'])
  expect(err).toMatch(/got '\ufffd\[31mred\ufffd'\n$/)
})

test.each<[text: string, message: RegExp, name?: string]>([
  ['{ "port": }', /^NAME: not JSON \(unexpected character at line 1, column 11\)$/],
  // what stands around the fault may be a secret, and is not quoted
  ['geheim', /: not JSON \(unexpected character at line 1, column 1\)$/],
  ['{\n  "store": "geheim",\n  "port":geheim }', /: not JSON \(unexpected character at line 3, column 10\)$/],
  ['{ "store": "geheim"', /: not JSON \(Expected ',' or '}' after property value in JSON at position 19 .*\)$/],
  ['{ "store": "geheim" }}', /: not JSON \(Unexpected non-whitespace character after JSON at position 21 .*\)$/],
  ['{ "store": tru', /: not JSON \(Unexpected end of JSON input\)$/],
  ['[]', /^NAME: expected an object with settings/],
  ['{ "conccurency": 5 }', /^NAME, conccurency: no such setting; did you mean concurrency\?$/],
  ['{ "max-body": 5 }', /^NAME, max-body: no such setting; did you mean maxBody\?$/],
  ['{ "config": "x" }', /^NAME, config: no such setting/],
  ['export default 5', /^NAME: expected an object with settings/, 'redrive.config.mjs'],
  ['throw new Error("no vault")', /^NAME: cannot be loaded \(no vault\)$/, 'redrive.config.mjs'],
])('a configuration that is wrong is refused whole: %s', async (text, message, name = 'redrive.config.json') => {
  const { code, err } = await run('', { files: { [name]: text } })
  expect(code).toBe(2)
  expect(err.replace('redrive: ', '').replace(name, 'NAME').trimEnd()).toMatch(message)
})

test('a schema may be named in the file', async () => {
  expect((await run('', { files: { 'redrive.config.json': { $schema: 'x', port: 5 } } })).settings?.port).toBe(5)
})

test('two configurations are one too many, and a named one that is not there is said', async () => {
  const both = await run('', { files: { 'redrive.config.json': {}, 'redrive.config.mjs': 'export default {}' } })
  expect(both.err).toBe(
    'redrive: redrive.config.json and redrive.config.mjs are both here; keep one, or name one with --config\n',
  )
  expect((await run('--config gone.json')).err).toMatch(/^redrive: gone\.json: cannot be read \(ENOENT/)
})

const TOKEN = { sha256: 'ab'.repeat(32), scopes: ['admin'] }
const POLICY = { policyId: 'a' }
const SCOPES = 'expected a list of tasks:read, tasks:write, policies:write, admin, metrics'
test.each<readonly [string, readonly unknown[], string]>([
  ['tokens', [5], 'tokens[0]: expected an entry as `redrive token` prints it'],
  ['tokens', [{ ...TOKEN, sha256: 'rd_secret' }], 'tokens[0].sha256: expected 64 hex digits, the SHA-256 of the token'],
  ['tokens', [{ ...TOKEN, scopes: [] }], `tokens[0].scopes: ${SCOPES}`],
  ['tokens', [{ ...TOKEN, scopes: ['all'] }], `tokens[0].scopes: ${SCOPES}`],
  ...['', 'ünï', 'a\nb', 'a'.repeat(256)].map((tenant): readonly [string, readonly unknown[], string] => [
    'tokens',
    [{ ...TOKEN, tenant }],
    'tokens[0].tenant: expected 1 to 255 visible ASCII characters, or null',
  ]),
  ['tokens', [TOKEN, { ...TOKEN, scopes: ['metrics'] }], 'tokens[1].sha256: this token is there twice'],
  ['tokens', [{ ...TOKEN, expires: 5 }], 'tokens[0].expires: no such key; did you mean expiresAt?'],
  ...['soon', '2027-02-31', '31 Jan 2027', '2027-01-31T25:00', '1/2/2027', 1_900_000_000, -1].map(
    (expiresAt): readonly [string, readonly unknown[], string] => [
      'tokens',
      [{ ...TOKEN, expiresAt }],
      'tokens[0].expiresAt: expected epoch milliseconds or a date such as 2027-01-31',
    ],
  ),
  ['policies', [{ maxAttempts: 3 }], 'policies[0].policyId: expected a name'],
  [
    'policies',
    [{ policyId: '..' }],
    "policies[0]: expected a policyId of 1 to 64 letters, digits or any of _ . ~ -, the first none of . ~ -, got '..'",
  ],
  ['policies', [POLICY, POLICY], "policies[1].policyId: 'a' is there twice"],
  [
    'policies',
    [{ ...POLICY, maxAttempts: 0 }],
    'policies[0].maxAttempts: expected a whole number from 1 to 1000000, got 0',
  ],
  ['policies', [{ ...POLICY, retries: 5 }], "policies[0].retries: no such option; did you mean 'maxAttempts'?"],
])('a wrong entry of %s is named: %j', async (key, records, message) => {
  const inside = await run('', { files: { 'redrive.config.json': { [key]: records } } })
  expect(inside).toMatchObject({ code: 2, err: `redrive: ${message}\n` })
  const apart = await run(`--${key} f.json`, { files: { 'f.json': records } })
  expect(apart).toMatchObject({ code: 2, err: `redrive: f.json: ${message}\n` })
})

test('a file without a list of them is refused', async () => {
  const { err } = await run('--tokens t.json', { files: { 't.json': { token: [] } } })
  expect(err).toBe('redrive: t.json: expected a list of tokens, or an object with the key tokens\n')
})
