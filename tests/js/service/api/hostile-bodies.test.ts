import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadCore } from '../../../../js/core.ts'
import { MOST_VALUES, readJson } from '../../../../js/service/api/json.ts'
import { memberOf } from '../../../../js/service/api/parts.ts'
import { assertBounded, counted, HOSTILE_BODIES, MOST_BYTES, send } from './hostile-bodies.ts'
import { ORDERS, refusalOf, setup, typeOf } from './setup.ts'

test.for(Object.entries(HOSTILE_BODIES))('%s: the answer is short, and the body is read once at most', ([, make]) =>
  assertBounded(make),
)

test('any body, of whatever is large in it, has a short answer and is read once at most', async () => {
  const world = await counted()
  const sizes = fc.integer({ min: 1, max: 3_000 })
  const names = fc.oneof(
    fc.constantFrom(...'json headers tags policy delaysMs expect filter taskIds tasks __proto__ targetUrl'.split(' ')),
    fc.tuple(fc.constantFrom('x', 'é', '\u0001', '/', '~', '"'), sizes).map(([one, count]) => one.repeat(count)),
  )
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'medium' },
      fc.constantFrom('9007199254740993', '1e-400', '1e20', '""', '{}', 'null', '-1', `"${ORDERS}"`),
      fc
        .tuple(tie('value'), sizes)
        .map(([one, count]) => `[${Array.from({ length: Math.min(count, 200_000 / one.length) }, () => one)}]`),
      fc.tuple(tie('value'), sizes).map(([one, count]) => {
        const members = Array.from({ length: Math.min(count, 200_000 / one.length) }, (_, n) => `"k${n}":${one}`)
        return `{${members}}`
      }),
      fc.dictionary(names, tie('value'), { maxKeys: 4 }).map((all) => {
        return `{${Object.entries(all).map(([name, one]) => `${JSON.stringify(name)}:${one}`)}}`
      }),
    ),
  }))
  const paths = fc.constantFrom(
    ...'/plan /retry-tasks /retry-tasks/batch /retry-policies /dead-letters/redrive /pauses'.split(' '),
  )
  await fc.assert(
    fc.asyncProperty(paths, value, async (path, raw) => {
      const before = world.read()
      const answer = await send(world, { path, raw })
      expect(answer.status).toBeLessThan(500)
      if (answer.status >= 400 || path === '/retry-tasks/batch') {
        expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(MOST_BYTES)
      }
      expect(world.read() - before).toBeLessThanOrEqual(raw.length)
    }),
    { numRuns: 64 },
  )
})

test('values are counted, not characters that look like them', async () => {
  const { ask } = await setup({ sends: false })
  const of = (json: string) => ask('POST', '/retry-tasks', { raw: `{"targetUrl":"${ORDERS}","json":${json}}` })
  const list = (count: number) => `[${Array.from({ length: count }, () => 1).join()}]`
  expect((await of(list(MOST_VALUES - 3))).status).toBe(201)
  expect(refusalOf(await of(list(MOST_VALUES)))).toEqual([413, 'body-too-large'])
  expect((await of(`"${'[1,2]'.repeat(MOST_VALUES)}"`)).status).toBe(201)
})

test('numbers that would be rounded are refused before any is printed, which takes the longest for them', async () => {
  const canonicalJson = (): never => {
    throw new Error('printed')
  }
  const bytes = Buffer.from(`[${Array.from({ length: 1_000 }, () => '9007199254740993').join()}]`)
  await expect(readJson(bytes, 8, { canonicalJson } as never)).rejects.toMatchObject({ type: 'invalid' })
  await expect(readJson(bytes.subarray(1), 8, { canonicalJson } as never)).rejects.toMatchObject({
    type: 'bad-request',
    message: expect.stringContaining('printed'),
  })
})

test('a fault says where it is, however it is written, and a place that is too long is cut', async () => {
  const { ask } = await setup({ sends: false })
  const pointersOf = async (json: string) => {
    const { json: answer } = await ask('POST', '/retry-tasks', { raw: `{"targetUrl":"${ORDERS}","json":${json}}` })
    return ((answer.errors ?? []) as readonly { pointer: string }[]).map(({ pointer }) => pointer)
  }
  expect(
    await pointersOf('{ "a" : [1, "2\\\\", {"\\u0062\\"/~":\n9007199254740993}, 1e-400] , "c":{"d":-0.1e1}}'),
  ).toEqual(['#/json/a/2/b"~1~0', '#/json/a/3'])
  expect(await pointersOf(`{"x\\\\":[[],{}],"__proto__":[{"\\u005f_proto__":"__proto__"}]}`)).toEqual([
    '#/json/__proto__',
    '#/json/__proto__/0/__proto__',
  ])
  const [pointer = ''] = await pointersOf(`{"${'é'.repeat(5_000)}":9007199254740993}`)
  expect(pointer).toMatch(/^#\/json\/é+…$/)
  expect(pointer.length).toBe(200)
})

test('a batch is JSON or it is not, whatever its spelling', async () => {
  const core = await loadCore()
  const world = await setup({ sends: false })
  const good = `{"targetUrl":"${ORDERS}"}`
  const spellings = [
    `{"tasks":[${good}]}`,
    ` { "t\\u0061sks" :\n[ ${good} , ${good}\t] } `,
    `{"tasks":[7,"]",[{}],null]}`,
  ]
  for (const raw of spellings) {
    const answer = await send(world, { path: '/retry-tasks/batch', raw })
    expect([raw, answer.status]).toEqual([raw, 200])
    expect(answer.json.outcomes).toHaveLength(JSON.parse(raw).tasks.length)
  }
  const broken = ['', '{', '{"tasks"', '{"tasks":[', '{"tasks":[1,]}', '{"tasks":[,1]}', '{"tasks":[1}', '{"tasks":[1]']
  const wrong = ['{"tasks":[1 2]}', '{"tasks":[{]}]}', '{"tasks":[1:2]}', '{"tasks":[1]}{}', '{"tasks":[1],"tasks":[]}']
  for (const raw of [...broken, ...wrong, '{"tasks":["]}', `{"tasks":[${good}],}`, '{tasks:[]}']) {
    expect(() => core.canonicalJson(raw)).toThrow()
    const answer = await send(world, { path: '/retry-tasks/batch', raw })
    expect([raw, answer.status, typeOf(answer)]).toEqual([raw, 400, 'bad-request'])
  }
  for (const raw of ['7', '[]', '{}', '{"tasks":7}', '{"tasks":[],"more":1}', `{"tasks":[${good}],"more":1}`]) {
    const answer = await send(world, { path: '/retry-tasks/batch', raw })
    expect([raw, answer.status, typeOf(answer)]).toEqual([raw, 422, 'invalid'])
  }
})

test('a member of a canonical text and the others are what the value has', async () => {
  const core = await loadCore()
  const texts = fc.constantFrom('', '"', '\\', ',', ':', '{"a":1}', 'é', '\u{1f600}', 'json', '"json":')
  const values = fc.jsonValue({ depthSize: 'small', noUnicodeString: false })
  fc.assert(
    fc.property(
      fc.dictionary(fc.oneof(texts, fc.string()), fc.oneof(values, texts), { noNullPrototype: true }),
      texts,
      (object, name) => {
        const { [name]: value, ...others } = object
        const canonical = new TextEncoder().encode(core.canonicalJson(JSON.stringify(object)))
        const found = memberOf(canonical, name)
        if (!Object.hasOwn(object, name)) expect(found).toBeUndefined()
        else {
          expect(Buffer.from(found?.value ?? []).toString()).toBe(core.canonicalJson(JSON.stringify(value)))
          expect(Buffer.concat(found?.others ?? []).toString()).toBe(core.canonicalJson(JSON.stringify(others)))
        }
      },
    ),
  )
})
