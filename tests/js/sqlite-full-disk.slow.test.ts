/** A disk that is full: what is stored goes on, what is new is refused, and nothing is lost. Real disks, in memory, which Linux alone has. */

import { linkSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { DiskReserve } from '../../js/stores/sqlite/disk-reserve.ts'
import { freshPath, openStore } from './sqlite/setup.ts'
import { onSmallDisk } from './sqlite/small-disk.ts'
import { taskOf } from './sqlite/words.ts'

const MIB = 2 ** 20
const onFullDisk = (way: string, size = '8m') =>
  onSmallDisk(new URL('sqlite/full-disk.ts', import.meta.url), dirname(freshPath()), way, size)

const ALL = Object.fromEntries(Array.from({ length: 61 }, (_, n) => [`key-${n}`, 1]))
const REFUSED = { refused: 'STORAGE_FULL', accepted: 'strict', isFailing: false, reserve: MIB, answered: ALL }

const isLinux = process.platform === 'linux'
const WAYS = ['with its log', 'without a log', 'before it is opened', 'and the process is killed']
test.runIf(isLinux).for(WAYS)(
  'S1 S17 on a disk that is full %s, tasks are delivered, and new ones refused',
  {
    timeout: 90_000,
  },
  async (way) => {
    const seen = await onFullDisk(way)
    expect(seen).toMatchObject({ ...REFUSED, wasFailing: false, whileFull: 60 })
    expect(seen.codes).toEqual(['storage_full'])
  },
)

test.runIf(isLinux).for([8, 10, 12, 14, 16, 20, 32, 48, 64])(
  'S1 S17 on a disk of %i MiB that is full while large bodies are in the log, all tasks are delivered',
  { timeout: 90_000 },
  async (mib) => {
    const { held, whileFull, refused, wasFailing } = await onFullDisk('with large bodies in its log', `${mib}m`)
    expect({ held, whileFull, refused, wasFailing }).toEqual({
      ...{ held: 20, whileFull: 20 },
      refused: 'STORAGE_FULL',
      wasFailing: false,
    })
  },
)

test.runIf(isLinux)(
  'S1 S17 without any room tasks wait, and go on by themselves once there is some',
  {
    timeout: 90_000,
  },
  async () => {
    const seen = await onFullDisk('with its reserve')
    expect(seen).toMatchObject({ ...REFUSED, wasFailing: true, whileFull: 0 })
    expect(seen.codes).toEqual(['storage_full'])
  },
)

test.runIf(isLinux).for(['by itself', 'by itself, for everyone', 'filled by others', 'filled by others, for everyone'])(
  'S17 on a disk that is too small for what has succeeded, %s, that gives way to new tasks',
  { timeout: 90_000 },
  async (way) => {
    const script = new URL('sqlite/full-of-ended.ts', import.meta.url)
    const { refused, all, ...seen } = await onSmallDisk(script, dirname(freshPath()), way)
    expect(seen).toEqual({ open: 0, gave: true, kept: true, anns: way.endsWith('for everyone') ? 320 : 0 })
    expect(refused).toEqual((refused as number[]).map(() => 0))
    expect(all).toBe((way.startsWith('filled') ? 9_600 : 16_000) + (way.endsWith('for everyone') ? 320 : 0))
  },
)

test('a reserve of which a piece is missing is made whole by the next enqueue', async () => {
  const path = freshPath()
  const store = openStore(path)
  await store.enqueue([taskOf(1)])
  expect(statSync(`${path}-reserve`)).toMatchObject({ size: MIB })
  expect(statSync(`${path}-reserve`).mode & 0o777).toBe(0o600)
  truncateSync(`${path}-reserve`, 1_001)
  await store.enqueue([taskOf(2)])
  expect(statSync(`${path}-reserve`)).toMatchObject({ size: MIB })
})

test('a reserve is given up piece by piece', () => {
  const path = freshPath()
  const reserve = new DiskReserve(path)
  expect(reserve.give()).toBe(false)
  reserve.keep()
  const sizes: number[] = []
  while (reserve.give()) sizes.push(statSync(`${path}-reserve`).size)
  expect(sizes).toEqual([7, 6, 5, 4, 3, 2, 1, 0].map((eighths) => (eighths * MIB) / 8))
})

test.for([symlinkSync, linkSync])(
  'a link in the place of the reserve leads to nothing that is written: %o',
  async (link) => {
    const path = freshPath()
    const other = `${dirname(path)}/other`
    writeFileSync(other, 'mine')
    link(other, `${path}-reserve`)
    const [stored] = await openStore(path).enqueue([taskOf(1)])
    expect(stored).toMatchObject({ outcome: 'stored' })
    expect(new DiskReserve(path).give()).toBe(false)
    expect(readFileSync(other, 'utf8')).toBe('mine')
  },
)
