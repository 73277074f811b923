/**
 * S12: no secret in any byte of the store, nor in anything that is told. Bodies are stored as they are, so none is put there.
 */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { Canaries, SHAPES } from './canaries.ts'
import { FileScenario, type Written } from './canary-file.ts'
import { flows } from './canary-flows.ts'
import { MARKERS } from './canary-scenario.ts'

const ENOUGH = 200
/** Without any of these the flows would not have shown much. */
const TOLD =
  'event degraded,event retry,event exhausted,receipt,list,get,attempts,explain,export,stats,thrown error'.split(',')

const scenario = new FileScenario()

beforeAll(() => scenario.server.start())
afterAll(() => scenario.end())

const written = (told: typeof scenario.told): readonly Written[] =>
  told.map(({ where, text }) => ({ where, bytes: Buffer.from(text) }))

const leaksIn = (texts: readonly Written[]): string[] => {
  const leaks = texts.flatMap(({ where, bytes }) => scenario.canaries.foundIn(bytes).map((slot) => `${where}: ${slot}`))
  return [...new Set(leaks)].sort()
}

test.each(Object.entries(flows))(
  'S12 neither the store nor anything that is told holds a secret: %s',
  async (_, flow) => {
    const { files, told } = scenario
    const [filesBefore, toldBefore] = [files.length, told.length]
    await flow(scenario)
    expect(leaksIn(files.slice(filesBefore))).toEqual([])
    expect(leaksIn(written(told.slice(toldBefore)))).toEqual([])
  },
)

test('S12 what was written and told is searched for all of it once more, since a secret may turn up late', () => {
  const { files, told } = scenario
  expect(files.some(({ where }) => where.startsWith('tasks.db-wal'))).toBe(true)
  const kinds = new Set(told.map(({ where }) => where))
  for (const kind of TOLD) expect(kinds).toContain(kind)
  expect(leaksIn([...files, ...written(told)])).toEqual([])
})

test('every secret that was to be sent has reached the server, and there were enough of them', () => {
  const { canaries, server } = scenario
  expect(canaries.all.length).toBeGreaterThanOrEqual(ENOUGH)
  const arrived = canaries.foundIn(Buffer.from(server.received.join('\n')))
  const missing = [...canaries.sent].filter(({ slot }) => !arrived.some((found) => found.startsWith(`${slot} as`)))
  expect(missing.map(({ slot }) => slot)).toEqual([])
})

test.each(Object.entries(MARKERS))('what is harmless is found in the bytes of the file: in a %s', (_, marker) => {
  const found = scenario.files.filter(({ bytes }) => Buffer.from(bytes).includes(marker)).map(({ where }) => where)
  expect(found).toContainEqual(expect.stringMatching(/^tasks\.db /))
  expect(found).toContainEqual(expect.stringMatching(/^tasks\.db-wal /))
})

test('the search finds a secret of any shape in any form it may be written in', () => {
  for (const shape of SHAPES) {
    const canaries = new Canaries()
    canaries.make('planted', shape)
    for (const part of canaries.all.flatMap(({ parts }) => parts)) {
      const among = (bytes: Uint8Array) => Buffer.concat([Buffer.from('before'), bytes, Buffer.from('after')])
      for (const encoding of ['utf8', 'utf16le'] as const)
        expect(canaries.foundIn(among(Buffer.from(part, encoding)))).not.toEqual([])
      for (const before of ['', 'a', 'ab']) {
        const whole = Buffer.from(`${before}${part}and more`)
        for (const encoding of ['base64', 'base64url', 'hex'] as const) {
          expect(canaries.foundIn(among(Buffer.from(whole.toString(encoding))))).not.toEqual([])
        }
      }
    }
    expect(canaries.foundIn(Buffer.from('something else'))).toEqual([])
  }
})
