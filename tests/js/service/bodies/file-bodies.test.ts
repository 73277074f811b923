import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { BodyStoreError } from '../../../../js/service/bodies/body-store.ts'
import { fileBodies } from '../../../../js/service/bodies/file-bodies.ts'
import { sweeperOf } from '../../../../js/service/bodies/sweeper.ts'
import { fakeClock } from '../../../../js/testing.ts'
import { eventually } from '../../eventually.ts'
import { folder } from '../program.ts'

const OWNER = '0123456789abcdef'
const keyOf = (n: number) => `${OWNER}/0199a3b4-6c58-7000-8a4f-${String(n).padStart(12, '0')}`
const DAY_MS = 86_400_000

function setup() {
  const cwd = folder()
  const clock = fakeClock()
  const bodies = fileBodies(join(cwd, 'bodies'), clock)
  const put = (n: number, content: string) =>
    bodies.put(keyOf(n), parts(content), { bytes: Buffer.byteLength(content) })
  const read = async (n: number) => {
    const found = await bodies.open(keyOf(n))
    return found && { bytes: found.bytes, text: await text(found.body) }
  }
  const files = () => readdirSync(join(cwd, 'bodies', OWNER))
  const age = (name: string, ms: number) => {
    const seconds = (clock.now() - ms) / 1_000
    utimesSync(join(cwd, 'bodies', OWNER, name), seconds, seconds)
  }
  return { cwd, clock, bodies, put, read, files, age }
}

async function* parts(content: string): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 1_000) yield Buffer.from(content.slice(at, at + 1_000))
}

const nameOf = (n: number): string => keyOf(n).slice(OWNER.length + 1)

describe('a body', () => {
  test('is a file of its owner, and comes back whole', async () => {
    const { bodies, put, read, cwd } = setup()
    const content = 'x'.repeat(123_456)
    const { ref, sha256 } = await put(1, content)
    expect(ref).toBe(keyOf(1))
    expect(sha256).toMatch(/^[0-9a-f]{64}$/)
    expect(await read(1)).toEqual({ bytes: 123_456, text: content })
    expect(await bodies.has?.(keyOf(1))).toBe(true)
    expect(statSync(join(cwd, 'bodies', ref)).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(cwd, 'bodies', ref), 'utf8')).toBe(content)
  })

  test('that is not there is gone, and deleting it is done', async () => {
    const { bodies, put } = setup()
    expect(await bodies.open(keyOf(1))).toBeUndefined()
    expect(await bodies.has?.(keyOf(1))).toBe(false)
    await put(1, 'x')
    await bodies.delete(keyOf(1))
    await bodies.delete(keyOf(1))
    expect(await bodies.open(keyOf(1))).toBeUndefined()
  })

  test.each(['../../etc/passwd', `${OWNER}/../x`, keyOf(1).toUpperCase(), `${keyOf(1)}.part`])(
    'is never at %s',
    async (key) => {
      const { bodies } = setup()
      await expect(bodies.open(key)).rejects.toThrow(BodyStoreError)
      await expect(bodies.put(key, parts('x'), { bytes: 1 })).rejects.toThrow(BodyStoreError)
      await expect(bodies.delete(key)).rejects.toThrow(BodyStoreError)
    },
  )

  test('that breaks off, or has another length, leaves nothing', async () => {
    const { bodies, files } = setup()
    const broken = async function* () {
      yield Buffer.from('x')
      throw new Error('its sender left')
    }
    await expect(bodies.put(keyOf(1), broken(), { bytes: 2 })).rejects.toThrow('its sender left')
    const short = bodies.put(keyOf(2), parts('x'), { bytes: 2 })
    await expect(short).rejects.toThrow('a body of 1 bytes, of which 2 were announced')
    expect(files()).toEqual([])
  })

  test('that was cut short on the disk is as long as it is', async () => {
    const { cwd, put, read } = setup()
    await put(1, 'long')
    truncateSync(join(cwd, 'bodies', keyOf(1)), 2)
    expect(await read(1)).toEqual({ bytes: 2, text: 'lo' })
  })

  test('in a folder that cannot be used fails as one of a store that may be back, and names no path', async () => {
    const { cwd, clock } = setup()
    writeFileSync(join(cwd, 'file'), '')
    const bodies = fileBodies(join(cwd, 'file'), clock)
    await expect(bodies.put(keyOf(1), parts('x'), { bytes: 1 })).rejects.toThrow(
      /^the store of bodies: (EEXIST|ENOTDIR)$/,
    )
    await expect(bodies.open(keyOf(1))).rejects.toThrow('the store of bodies: ENOTDIR')
  })
})

describe('a sweep', () => {
  test('deletes what is old enough, and parts of a put that died after a day', async () => {
    const { cwd, bodies, put, files, age } = setup()
    for (const n of [1, 2]) await put(n, 'x')
    writeFileSync(join(cwd, 'bodies', OWNER, `${nameOf(3)}.part`), 'x')
    writeFileSync(join(cwd, 'bodies', OWNER, `${nameOf(4)}.part`), 'x')
    age(nameOf(1), 35 * DAY_MS)
    age(nameOf(2), 35 * DAY_MS - 1_000)
    age(`${nameOf(3)}.part`, DAY_MS)
    age(`${nameOf(4)}.part`, DAY_MS - 1_000)
    expect(await bodies.sweep?.(35 * DAY_MS)).toBe(2)
    expect(files().sort()).toEqual([nameOf(2), `${nameOf(4)}.part`].sort())
  })

  test('touches nothing that is none of its own', async () => {
    const { cwd, bodies, put, age } = setup()
    await put(1, 'x')
    age(nameOf(1), 0)
    const others = ['notes.txt', `${nameOf(1)}.bak`]
    for (const name of others) {
      writeFileSync(join(cwd, 'bodies', OWNER, name), 'x')
      age(name, 100 * DAY_MS)
    }
    mkdirSync(join(cwd, 'bodies', 'other'))
    writeFileSync(join(cwd, 'bodies', 'other', nameOf(2)), 'x')
    utimesSync(join(cwd, 'bodies', 'other', nameOf(2)), 0, 0)
    expect(await bodies.sweep?.(DAY_MS)).toBe(0)
    for (const name of others) expect(existsSync(join(cwd, 'bodies', OWNER, name))).toBe(true)
    expect(await fileBodies(join(cwd, 'nowhere'), fakeClock()).sweep?.(0)).toBe(0)
  })

  test('is made at the start and each hour, and one that fails is told', async () => {
    const { cwd, clock, bodies, put, files, age } = setup()
    const log: object[] = []
    const sweeper = sweeperOf(bodies, { uploadTtlMs: DAY_MS }, clock, (entry) => log.push(entry))
    await put(1, 'x')
    age(nameOf(1), DAY_MS)
    sweeper.start()
    await eventually(() => log).toEqual([{ level: 'info', event: 'bodies_swept', count: 1 }])
    await put(2, 'x')
    age(nameOf(2), DAY_MS - 3_600_000)
    await clock.advance(3_600_000)
    await eventually(() => files()).toEqual([])
    await sweeper.stop()
    writeFileSync(join(cwd, 'file'), '')
    const none = fileBodies(join(cwd, 'file'), clock)
    const broken = sweeperOf(none, { uploadTtlMs: 0 }, clock, (entry) => log.push(entry))
    broken.start()
    await broken.stop()
    expect(log.at(-1)).toEqual({ level: 'warn', event: 'bodies_not_swept', message: 'the store of bodies: ENOTDIR' })
  })
})
