import { expect, test } from 'vitest'
import { freePort } from '../../../servers/free-port.ts'
import { type Answers, type FakeAnswer, fakeService, problem } from './fake-service.ts'
import { type RunOptions, run, widest } from './setup.ts'

const ID = '0199c1d2-7f00-7000-8000-000000000001'
const OTHER = '0199c1d2-7f00-7000-8000-000000000002'
const TASK = {
  taskId: ID,
  tenant: 'acme',
  idempotencyKey: 'invoice-2041',
  targetUrl: 'https://api.example.com/orders?page=2',
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  withheldHeaders: [],
  policyId: 'svix',
  attemptNumber: 2,
  nextAttemptAt: Date.now() + 3.5 * 86_400_000,
  createdAt: Date.UTC(2026, 10, 23, 8, 0, 0),
  status: 'PENDING',
  lastStatus: 503,
  parked: false,
}
const DEAD = {
  ...{ ...TASK, status: 'EXHAUSTED', reason: 'max_attempts', nextAttemptAt: null },
  ...{ lastStatus: null, lastError: 'connect ECONNREFUSED', endedAt: Date.now() - 7_200_000 },
}
const OPERATION = { operationId: 'redrive-1', status: 'RUNNING', done: 0, skipped: 0, total: 1_204, remaining: 1_204 }

async function asking(line: string, answers: Answers, options: RunOptions = {}) {
  const service = await fakeService(answers)
  const env = { REDRIVE_URL: service.url, REDRIVE_TOKEN: 'rd_secret', ...options.env }
  const ran = await run(line, { ...options, env })
  return { ...ran, asked: service.asked, url: service.url }
}

/** A command, what it asks (method and path, with the query), parts of what it prints, the answer, and the body that it sends. */
type Case = readonly [line: string, asks: string, says: readonly string[], answer: FakeAnswer, sends?: unknown]

const ATTEMPT = { attemptNumber: 1, startedAt: TASK.createdAt, durationMs: 41, responseStatus: 503, errorMessage: null }
const DECISIONS = [{ at: TASK.createdAt, kind: 'waits', text: 'behind 2 others' }]
const CHECKS = { store: true, runner: true, draining: false }
const FILTERED = '--origin https://a.test --policy svix'
const TAGGED = '--tag invoice=2041,customer=7 --tag late=yes'
const SPAN = { endedAfter: 1_795_392_000_000, endedBefore: 1_795_478_400_000 }

/** The path of the task, and of the dead letter. */
const [T, D] = [`/retry-tasks/${ID}`, `/dead-letters/${ID}`]
const CASES: readonly Case[] = [
  [`task get ${ID}`, `GET ${T}`, [ID, 'invoice-2041', '2026-11-23 08:00:00Z', 'in 3d 12h'], { json: TASK }],
  [
    'task list',
    'GET /retry-tasks',
    [ID, 'waiting', 'in 3d 12h', 'POST api.example.com/orders?…', 'dead letter', 'PAUSED'],
    { json: { tasks: [TASK, DEAD, { ...TASK, status: 'PAUSED' }] } }, // the last is of a later version
  ],
  [
    `task list --status waiting ${FILTERED} --created-after 2026-11-23 --created-before 1795478400000 --order rising --limit 5 --cursor abc ${TAGGED}`,
    'GET /retry-tasks?status=PENDING&origin=https%3A%2F%2Fa.test&policyId=svix&tags=invoice%3D2041&tags=customer%3D7&tags=late%3Dyes&createdAfter=1795392000000&createdBefore=1795478400000&order=rising&limit=5&cursor=abc',
    ['None so far.\n\nThere may be more: --cursor def'],
    { json: { tasks: [], cursor: 'def' } },
  ],
  ['task list', 'GET /retry-tasks', ['There are none.\n'], { json: { tasks: [] } }],
  [`task cancel ${ID}`, `DELETE ${T}`, ['Cancelled.'], { json: { outcome: 'cancelled' } }],
  [`task cancel ${ID}`, `DELETE ${T}`, ['It is in flight'], { status: 202, json: { outcome: 'requested' } }],
  [`task due ${ID}`, `POST ${T}/due`, [ID], { json: TASK }, { delayMs: 0 }],
  [`task due ${ID} --delay 10m`, `POST ${T}/due`, [ID], { json: TASK }, { delayMs: 600_000 }],
  [
    `task attempts ${ID}`,
    `GET ${T}/attempts`,
    ['1', '2026-11-23 08:00:00Z', '41ms', '503     next in 4 s'],
    { json: { attempts: [{ ...ATTEMPT, decision: '503; next in 4 s' }] } },
  ],
  [`task attempts ${ID}`, `GET ${T}/attempts`, ['There was none yet.'], { json: { attempts: [] } }],
  [
    `task explain ${ID}`,
    `GET ${T}/explain`,
    ['2026-11-23 08:00:00Z', 'waits', 'behind 2 others'],
    { json: { decisions: DECISIONS } },
  ],
  [
    'dead list --reason max_attempts',
    'GET /dead-letters?reason=max_attempts',
    [
      `${ID}  max_attempts        2h           2  POST api.example.com/orders?…; connect ECONNREFUSED`,
      `${ID}  max_attempts   503  2h           2  POST api.example.com/orders?…\n`,
    ],
    { json: { tasks: [DEAD, { ...DEAD, lastStatus: 503, lastError: null }] } },
  ],
  [`dead redrive ${ID}`, `POST ${D}/redrive`, [ID, 'It is redriven.'], { json: { ...TASK, outcome: 'redriven' } }, {}],
  [
    `dead redrive ${ID}`,
    `POST ${D}/redrive`,
    [ID, 'It was redriven before; nothing was changed.'],
    { json: { ...TASK, outcome: 'redriven_before' } },
    {},
  ],
  [
    `dead redrive ${ID} --accept-duplicate-risk`,
    `POST ${D}/redrive`,
    [ID],
    { json: TASK },
    { acceptDuplicateRisk: true },
  ],
  [`dead purge ${ID}`, `DELETE ${D}`, ['Deleted.'], { status: 204 }],
  [
    'dead export --reason expired',
    'GET /dead-letters/export?reason=expired',
    ['{"a":"ü"}\n{"b":2}\n'],
    { text: '{"a":"ü"}\n{"b":2}\n' },
  ],
  ['health', 'GET /healthz', ['ok 0.4.0\n'], { json: { status: 'ok', version: '0.4.0' } }],
  ['health --ready', 'GET /readyz', ['ok\n'], { json: { checks: CHECKS } }],
]

test.for(CASES)('%s', async ([line, asks, says, answer, sends]) => {
  const answers = { [asks.replace(/\?.*/, '')]: answer }
  const { code, out, err, asked } = await asking(line, answers)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([asks])
  expect(asked[0]?.body).toEqual(sends)
  expect(asked[0]?.headers.authorization).toBe('Bearer rd_secret')
  for (const part of says) expect(out).toContain(part)
  if (!answer.json) return
  // as a program reads it: as it came
  expect(JSON.parse((await asking(`${line} --json`, answers)).out)).toEqual(answer.json)
})

test.for([
  [
    `dead redrive ${FILTERED} --reason expired --ended-after 2026-11-23 --ended-before 1795478400000 --per-second 10`,
    { filter: { origin: 'https://a.test', policyId: 'svix', reason: 'expired', ...SPAN }, perSecond: 10 },
    '1,200 dead letters put back.\n4 dead letters left: ',
  ],
  ['dead redrive --all', { filter: {} }, '1,200 dead letters put back.\n4 dead letters left: '],
  [
    'dead purge --reason expired --confirm 12',
    { filter: { reason: 'expired' }, confirm: 12 },
    '1,204 dead letters deleted.',
  ],
] as const)('%s goes on until its operation has ended, and shows how far it is', async ([line, sends, says]) => {
  const kind = line.split(' ')[1] as string
  const at = (done: number, status = 'RUNNING') => {
    const skipped = kind === 'purge' ? 0 : Math.min(4, done)
    return { json: { ...OPERATION, kind, status, done, skipped, remaining: 1_204 - done } }
  }
  const answers = (last: FakeAnswer): Answers => ({
    [`POST /dead-letters/${kind}`]: { status: 202, json: { ...OPERATION, kind } },
    'GET /operations/redrive-1': [at(10), at(700), last],
  })
  const { code, out, err, asked } = await asking(line, answers(at(1_204, 'DONE')))
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(says) })
  expect(err.split('\n').slice(1)).toEqual(['700 of 1,204 dead letters', '1,204 of 1,204 dead letters', ''])
  expect(asked[0]?.body).toEqual(sends)
  const stopped = await asking(`${line} --json`, answers(at(800, 'STOPPED')), { errorColumns: 80 })
  expect(stopped.code).toBe(1)
  expect(JSON.parse(stopped.out)).toEqual(at(800, 'STOPPED').json)
  expect(stopped.err).toContain('\r10 of 1,204 dead letters\r700 of 1,204 dead letters\r800 of 1,204 dead letters\n')
  expect(stopped.err).toContain('404 dead letters before its end')
})

test('a service that leaves while an operation is followed is said on a line of its own', async () => {
  const left = problem(503, 'draining', 'the service is stopping')
  const { code, err } = await asking(
    'dead redrive --all',
    {
      'POST /dead-letters/redrive': { status: 202, json: OPERATION },
      'GET /operations/redrive-1': [{ json: { ...OPERATION, done: 10 } }, left],
    },
    { errorColumns: 200 },
  )
  expect(code).toBe(1)
  expect(err).toMatch(/\r10 of 1,204 dead letters\nredrive: the service is stopping/)
})

const LONG = `https://api.example.com/${'orders/'.repeat(20)}`
const SENTENCE = `POST ${LONG}, policy 'svix', with a key; ${'its origin takes no retry sooner, '.repeat(4)}and this is why`
/** Commands whose answers are wider than a terminal, and a text of theirs that is not to be lost. */
const WIDE: readonly (readonly [line: string, asks: string, json: object, text: string])[] = [
  ['task list', 'GET /retry-tasks', { tasks: [{ ...TASK, targetUrl: LONG }, TASK] }, LONG.slice(8)],
  ['dead list', 'GET /dead-letters', { tasks: [{ ...DEAD, targetUrl: LONG, lastError: SENTENCE }] }, SENTENCE],
  [
    `task explain ${ID}`,
    `GET ${T}/explain`,
    { decisions: [{ ...DECISIONS[0], text: SENTENCE }, ...DECISIONS] },
    SENTENCE,
  ],
  [
    `task attempts ${ID}`,
    `GET ${T}/attempts`,
    { attempts: [{ ...ATTEMPT, responseStatus: null, errorMessage: LONG, decision: SENTENCE }] },
    SENTENCE,
  ],
  [`task get ${ID}`, `GET ${T}`, { ...TASK, lastError: SENTENCE.replace(LONG, 'x') }, 'and this is why'],
]

test.for(WIDE.flatMap((each) => [40, 60, 80, 120].map((columns) => [columns, ...each] as const)))(
  'nothing of an answer is cut on %i columns, and no line is longer: %s',
  async ([columns, line, asks, json, text]) => {
    const answers = { [asks]: { json } }
    const { out } = await asking(line, answers, { isTTY: true, columns, env: { NO_COLOR: '1' } })
    expect(widest(out)).toBeLessThanOrEqual(columns)
    const dense = (some: string) => some.replace(/\s/g, '')
    expect(dense(out)).toContain(dense(text))
    expect((await asking(line, answers, { columns })).out).toContain(text)
  },
)

test('a terminal has error lines in parts, between words, and a pipe has them whole', async () => {
  const answers = { [`GET ${T}`]: problem(409, 'already-ended', 'the task has ended '.repeat(9)) }
  const { err: whole } = await asking(`task get ${ID}`, answers)
  expect(whole).toMatch(/^redrive: [^\n]+\n$/)
  for (const errorColumns of [40, 80]) {
    const { err } = await asking(`task get ${ID}`, answers, { errorColumns })
    expect(widest(err)).toBeLessThanOrEqual(errorColumns)
    expect(err.replace(/\n {2}/g, ' ')).toBe(whole)
  }
})

test.for([
  ['a key', 'order/7?x', {}, 'order/7?x'],
  ['a key that looks like an id', ID, { [`GET ${T}`]: problem(404, 'not-found', 'no id') }, ID],
] as const)('a task is named by %s', async ([, word, answers, key]) => {
  const found = { 'GET /retry-tasks': { json: { tasks: [{ ...TASK, taskId: OTHER }] } } }
  const { code, out, asked } = await asking(`task get ${word}`, {
    ...{ ...answers, ...found },
    [`GET /retry-tasks/${OTHER}`]: { json: { ...TASK, taskId: OTHER } },
  })
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(OTHER) })
  expect(asked.at(-2)?.path).toBe(`/retry-tasks?idempotencyKey=${encodeURIComponent(key)}`)
})

test.for([
  ['task cancel', `DELETE /retry-tasks/${OTHER}`],
  ['task due', `POST /retry-tasks/${OTHER}/due`],
  ['task attempts', `GET /retry-tasks/${OTHER}/attempts`],
  ['task explain', `GET /retry-tasks/${OTHER}/explain`],
  ['dead redrive', `POST /dead-letters/${OTHER}/redrive`],
  ['dead purge', `DELETE /dead-letters/${OTHER}`],
] as const)('%s takes a key, too', async ([command, asks]) => {
  const found = { 'GET /retry-tasks': { json: { tasks: [{ ...TASK, taskId: OTHER }] } } }
  const { code, asked } = await asking(`${command} invoice-2041`, { ...found, [asks]: { json: {} } })
  expect({ code, asks: `${asked.at(-1)?.method} ${asked.at(-1)?.path}` }).toEqual({ code: 0, asks })
})

test('a key that no task keeps, or tasks of several tenants, is refused', async () => {
  const listed = (...tasks: object[]) => ({ 'GET /retry-tasks': { json: { tasks } } })
  const nobody = await asking('task get nope', listed())
  expect(nobody).toMatchObject({ code: 1, err: expect.stringContaining("no task has the id or the key 'nope'") })
  const both = await asking('task get both', listed(TASK, { ...TASK, taskId: OTHER, tenant: null }))
  expect(both).toMatchObject({ code: 1, err: expect.stringContaining(`${ID} (acme), ${OTHER} (no tenant)`) })
  expect([...nobody.asked, ...both.asked]).toHaveLength(2)
})

test('a key of several tasks that live, one in each partition, is refused', async () => {
  const tasks = [{ ...TASK, status: 'CANCELLED' }, TASK, { ...TASK, taskId: OTHER, policyId: 'slow' }]
  const { code, err, asked } = await asking('task cancel invoice-2041', { 'GET /retry-tasks': { json: { tasks } } })
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(`${ID} (acme), ${OTHER} (acme); name one`) })
  expect(asked).toHaveLength(1)
})

test('a token ends with its line, and one that no request can carry is refused and not shown', async () => {
  const answers = { [`GET ${T}`]: { json: TASK } }
  const { code, asked } = await asking(`task get ${ID}`, answers, { env: { REDRIVE_TOKEN: 'rd_secret\r\n' } })
  expect([code, asked[0]?.headers.authorization]).toEqual([0, 'Bearer rd_secret'])
  for (const token of ['rd_secret\nx', 'rd_secret\u0007', 'rd_secret€']) {
    const refused = await asking(`task get ${ID}`, answers, { env: { REDRIVE_TOKEN: token } })
    const err = expect.stringMatching(/^redrive: REDRIVE_TOKEN: expected a token/)
    expect(refused).toMatchObject({ code: 2, asked: [], err })
    expect(refused.err).not.toContain('rd_secret')
  }
})

test('task get --wait asks the service to wait', async () => {
  const { asked } = await asking(`task get ${ID} --wait 1500ms`, { [`GET ${T}`]: { json: TASK } })
  expect(asked[0]?.headers.prefer).toBe('wait=2')
})

test('text of others does not steer the terminal', async () => {
  const evil = { ...TASK, targetUrl: 'https://a.test/\u001b]0;owned\u0007', status: 'PEND\u202eING' }
  const { out } = await asking('task list', { 'GET /retry-tasks': { json: { tasks: [evil] } } })
  expect(out).toContain('\\u001b]0;owned\\u0007')
  expect(out).toContain('PEND\\u202eING')
})

test('as JSON it does not either, and has the same values', async () => {
  const text = '\u0000\u001b]0;owned\u0007\u007f\u009b31m\u061c\u200f\u202e\u2066\u2029\ufffe ü\n'
  const evil = { ...DEAD, [text]: text }
  const isHarmless = (out: string) => expect(out).toMatch(/^[\n\x20-\x7e\xa0-\u{10ffff}]*$/u)
  for (const [line, answer] of [
    [`task get ${ID}`, `GET ${T}`],
    ['task list', 'GET /retry-tasks'],
    ['dead list', 'GET /dead-letters'],
  ] as const) {
    const json = line.includes('list') ? { tasks: [evil] } : evil
    const { out } = await asking(`${line} --json`, { [answer]: { json } })
    isHarmless(out)
    expect(out).not.toMatch(/[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/)
    expect(JSON.parse(out)).toEqual(json)
  }
  const lines = `${JSON.stringify(evil)}\n${JSON.stringify(DEAD)}\n`
  const exported = { text: lines, headers: { 'content-type': 'application/x-ndjson' } }
  const { out } = await asking('dead export --all', { 'GET /dead-letters/export': exported })
  isHarmless(out)
  expect(JSON.parse(`[${out.trimEnd().replaceAll('\n', ',')}]`)).toEqual([evil, DEAD])
  const shown = await asking(`task get ${ID}`, { [`GET ${T}`]: { json: evil } })
  isHarmless(shown.out)
  expect(shown.out).toContain('\\u009b31m')
  const answer404 = { status: 404, json: { detail: text }, headers: { 'content-type': 'application/json' } }
  const refused = await asking(`task get ${ID}`, { [`GET ${T}`]: answer404 })
  isHarmless(refused.err)
})

test('policies are checked, and then put one by one', async () => {
  const files = { 'p.json': [{ policyId: 'a', maxAttempts: 3 }, { policyId: 'b~c' }] }
  const answers = { 'PUT /retry-policies/a': { status: 201, json: {} }, 'PUT /retry-policies/b~c': { json: {} } }
  const { code, out, asked } = await asking('policy apply p.json', answers, { files })
  expect({ code, out }).toEqual({ code: 0, out: 'a: created\nb~c: replaced\n' })
  expect(asked.map(({ body }) => body)).toEqual(files['p.json'])
  for (const other of [{ policyId: 'b', maxAttempts: 0 }, { policyId: 'b/c' }, { policyId: '..' }]) {
    const wrong = await asking('policy apply p.json', answers, { files: { 'p.json': [{ policyId: 'a' }, other] } })
    expect(wrong).toMatchObject({ code: 2, asked: [], err: expect.stringContaining('p.json: policies[1]') })
  }
})

test('a service that is not ready is said with the checks that failed, and exit code 1', async () => {
  const checks = { store: false, runner: true, draining: true }
  const { code, out } = await asking('health --ready', { 'GET /readyz': { status: 503, json: { checks } } })
  expect({ code, out }).toEqual({ code: 1, out: 'not ready: store, draining\n' })
  const json = { checks: { store: false }, reason: 'maxmemory-policy is allkeys-lru' }
  const unsafe = await asking('health --ready', { 'GET /readyz': { status: 503, json } })
  expect(unsafe.out).toBe('not ready: store (maxmemory-policy is allkeys-lru)\n')
})

test('in a container health asks the port that the service was told', async () => {
  const { url } = await fakeService({ 'GET /healthz': { json: { status: 'ok', version: '1' } } })
  const { port } = new URL(url)
  expect(await run('health', { env: { REDRIVE_PORT: port } })).toMatchObject({ code: 0, out: 'ok 1\n' })
  expect(await run('health', { env: { REDRIVE_PORT: '1', REDRIVE_ADMIN_PORT: port } })).toMatchObject({ code: 0 })
})

test.each<[status: number, type: string, detail: string, said: string, more?: object]>([
  [
    ...([401, 'unauthorized', 'the token is unknown, or it has expired'] as const),
    'the token is unknown, or it has expired; give a token with REDRIVE_TOKEN or --token',
  ],
  [
    ...([404, 'not-found', 'there is no task of this id.'] as const),
    'there is no task of this id; redrive task list shows what there is',
  ],
  [
    ...([503, 'store-unavailable', 'the store does not answer'] as const),
    'the store does not answer; try again in 1 s',
    { headers: { 'retry-after': '1' } },
  ],
  [409, 'already-ended', 'the task has ended with SUCCEEDED', 'the task has ended with SUCCEEDED'],
  [
    ...([422, 'invalid', 'the request is not valid'] as const),
    'the request is not valid; #/delayMs: expected a number',
    { members: { errors: [{ pointer: '#/delayMs', detail: 'expected a number' }] } },
  ],
  [
    ...([422, 'invalid', '#/a: expected a number, and 1 more'] as const),
    '#/a: expected a number; #/b: expected text',
    {
      members: {
        errors: [
          { pointer: '#/a', detail: 'expected a number' },
          { pointer: '#/b', detail: 'expected text' },
        ],
      },
    },
  ],
  [403, 'forbidden', '\u001b[31mno', '\\u001b[31mno; use a token with the scope that this needs'],
])('a problem is one sentence that says what to do: %i %s', async (status, type, detail, said, more) => {
  const answers = { [`GET ${T}`]: problem(status, type, detail, more) }
  const { code, out, err } = await asking(`task get ${ID}`, answers)
  const message = `${said} (${status} ${type}, request req-8f2)`
  expect({ code, out, err }).toEqual({ code: 1, out: '', err: `redrive: ${message}\n` })
})

test.each<[FakeAnswer, RegExp]>([
  [{ text: '<html>' }, / answered with something else than JSON; is it redrive that listens there\?\n$/],
  [{ status: 502, text: '<html>' }, / answered 502 Bad Gateway; is it redrive that listens there\?\n$/],
  [
    { status: 307, headers: { location: 'https://evil.test/' } },
    / answered 307 Temporary Redirect and leads to https:\/\/evil\.test\/; name that with --url\n$/,
  ],
  [
    { text: '{"tasks":[', headers: { 'content-length': '99' }, breaksOff: true },
    / broke off its answer \(.+\); ask again\n$/,
  ],
])('an answer of something else is said: %j', async (answer, message) => {
  const { code, err, asked } = await asking('task list', { 'GET /retry-tasks': answer })
  expect(code).toBe(1)
  expect(err).toMatch(new RegExp(`^redrive: http:\\S+${message.source}`))
  expect(asked).toHaveLength(1)
})

test('an export that broke off is said, after what there was', async () => {
  const answer = { text: '{"a":1}\n', headers: { 'content-length': '99' }, breaksOff: true } as const
  const { code, out, err } = await asking('dead export --all', { 'GET /dead-letters/export': answer })
  expect({ code, out }).toEqual({ code: 1, out: '{"a":1}\n' })
  expect(err).toMatch(/broke off \(.+\); what came before is not all\n$/)
})

test('a service that is not there is said, with what to do', async () => {
  const url = `http://127.0.0.1:${await freePort()}`
  const said = 'does not answer (ECONNREFUSED); start redrive there, or name another with --url or REDRIVE_URL'
  expect(await run(`task list --url ${url}`)).toMatchObject({ code: 1, err: `redrive: ${url} ${said}\n` })
})

test('a URL may have a path, as behind a proxy', async () => {
  const { url, asked } = await fakeService({ 'GET /redrive/retry-tasks': { json: { tasks: [] } } })
  expect((await run(['task', 'list', '--url', `${url}/redrive`])).code).toBe(0)
  expect(asked[0]?.path).toBe('/redrive/retry-tasks')
})

test('an id is one part of the path, whatever a server says that it is', async () => {
  const tasks = [{ ...TASK, taskId: '../dead-letters?x' }]
  const { asked } = await asking('task get k', { 'GET /retry-tasks': { json: { tasks } } })
  expect(asked[1]?.path).toBe('/retry-tasks/..%2Fdead-letters%3Fx')
})

test.each([
  ['task get', 'task get: a task id or idempotency key is missing'],
  ['task get a b', "task get: expected one task id or idempotency key, got 'a' and 'b'"],
  ['task list x', "task list: unexpected 'x'"],
  [
    'task list --status pending',
    "--status: expected one of PENDING, IN_FLIGHT, SUCCEEDED, EXHAUSTED, CANCELLED, got 'pending'",
  ],
  [
    'task list --created-after soon',
    "--created-after: expected a date such as 2027-01-31T12:00Z, epoch milliseconds, or how long ago, such as 2h, got 'soon'",
  ],
  ['task list --url https://ann:pw@a.test', '--url: expected a URL without a user; who calls is said by --token'],
  ['dead redrive', 'dead redrive: which? expected a task id, a filter such as --origin or --reason, or --all'],
  ['dead redrive a --reason expired', 'dead redrive: a task and a filter exclude each other'],
  ['dead purge a --all', 'dead purge: a task and a filter exclude each other'],
  ['dead purge --all', '--confirm is missing: give the number of dead letters that are to be deleted'],
  ['dead purge --all --reason expired', 'dead purge: --all and a filter exclude each other'],
  ['dead export', 'dead export: which? expected a task id, a filter such as --origin or --reason, or --all'],
  ['policy apply', 'policy apply: a file is missing'],
  ['task list --url ftp://x', "--url: expected an http(s) URL, got 'ftp://x'"],
])('%s is refused, and nothing is asked', async (line, message) => {
  const { code, err, asked } = await asking(line, {})
  expect({ code, err, asked: asked.length }).toEqual({ code: 2, err: `redrive: ${message}\n`, asked: 0 })
})
