import fc from 'fast-check'
import { test } from 'vitest'
import { bySize } from '../../size.ts'
import { commands, commandsOfAll } from './commands.ts'
import type { Open } from './kit.ts'
import { World } from './world.ts'

/** Random commands on a store and on the reference must have the same answers, and keep what each must keep by itself. */
export const likeTheReference = (
  open: Open,
  everyone = false,
): fc.IAsyncProperty<[Iterable<fc.AsyncCommand<object, World>>]> =>
  fc.asyncProperty(everyone ? commandsOfAll : commands, async (steps) => {
    const world = await World.open(open, everyone)
    try {
      await fc.asyncModelRun(() => ({ model: {}, real: world }), steps)
    } finally {
      await world.store.close()
    }
  })

/** Where there is no `process`, as in a browser, the usual number of runs has to do. */
const env: Record<string, string | undefined> = globalThis.process?.env ?? {}
const usual = bySize(64, 200)

/** `everyone`: `open` opens stores for everyone. */
export function modelRules(open: Open, wanted = usual, everyone = false): void {
  const runs = Number(env.REDRIVE_RUNS ?? wanted)
  test('S2 S3 S4 S7 S9 random commands have the answers that the reference gives', {
    timeout: 30_000 + runs * 1_000,
  }, async () => {
    await fc.assert(likeTheReference(open, everyone), { numRuns: runs })
  })
}
