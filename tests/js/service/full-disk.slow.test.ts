/** A service on a disk that gets full: it says so before, refuses what is new as 'queue-full', and takes tasks again once there is room. A real disk, in memory, which Linux alone has. */

import { expect, test } from 'vitest'
import { onSmallDisk } from '../sqlite/small-disk.ts'
import { folder } from './program.ts'

test.runIf(process.platform === 'linux')(
  'S17 a disk that fills up is reported in time, refuses new tasks as queue-full, and takes them again',
  { timeout: 90_000 },
  async () => {
    const { before, whileFull, after, warned } = await onSmallDisk(new URL('full-disk.ts', import.meta.url), folder())
    expect(before).toEqual([[201, null], 200])
    expect(whileFull).toEqual([[503, 'urn:redrive:problem:queue-full'], 503])
    expect(after).toEqual([[201, null], 200])
    expect(warned).toEqual(
      expect.arrayContaining([
        ['store_filling', 'disk_bytes'],
        ['store_full', null],
      ]),
    )
  },
)
