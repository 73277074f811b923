/**
 * `npm run demo -- --kill`: the queue lives in a process of its own, with its tasks in a SQLite file, and is killed when half
 * of the orders have taken effect. The next process goes on with the tasks in the file.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { betweenCallsMs } from './calls.js'
import { Keeper, Told } from './keeper.mjs'

const program = fileURLToPath(new URL('./killed.mjs', import.meta.url))
const lookMs = 50

/** Places an order per call of the board, kills half-way, starts again; resolves to how many orders are done. */
export async function placeAndKill({ server, board, note, showPause }) {
  const folder = mkdtempSync(join(tmpdir(), 'redrive-demo-'))
  const told = new Told()
  const stopFollowing = board.follow(told)
  let keeper = new Keeper(program, { folder, url: server.url }, told)
  showPause(() => Math.max(0, keeper.pauseEndsAt - Date.now()))
  try {
    await keeper.ready
    const placed = placeAll(board, () => keeper)
    await untilHalf(server, board)
    const killedAt = Date.now()
    await keeper.kill()
    board.interrupt()
    note(`✗ killed: SIGKILL, with ${board.counts().done} of ${board.calls.length} orders done`, 'red')
    keeper = new Keeper(program, { folder, url: server.url }, told)
    const { waiting, leased, ended, leaseMs } = await keeper.ready
    for (const intent of ended) board.ended(intent, true)
    const after = ((Date.now() - killedAt) / 1000).toFixed(1)
    const theirs = `, ${leased} of them not before their leases run out (${leaseMs / 1000} s here, 30 s as a rule)`
    note(`✓ started again ${after} s later: ${waiting + leased} tasks found${leased > 0 ? theirs : ''}`, 'green')
    await placed
    await untilDone(board, keeper)
    const done = await keeper.done()
    await keeper.close()
    return done
  } finally {
    stopFollowing()
    await keeper.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** An order is placed once it is accepted; one that a kill left without an answer is placed again, under the same key. */
async function placeAll(board, keeper) {
  const orders = board.calls.map(async ({ intent }, at) => {
    await pause(at * betweenCallsMs)
    board.sent(intent)
    while (!(await keeper().place(intent))) await pause(lookMs)
  })
  await Promise.all(orders)
}

async function untilHalf(server, board) {
  for (let effects = 0; effects < board.calls.length / 2; await pause(lookMs)) {
    const { perIntent } = await server.report()
    effects = perIntent.filter((intent) => intent.effects > 0).length
  }
}

async function untilDone(board, keeper) {
  for (;;) {
    const { planned, waiting, flying } = board.counts()
    if (planned + waiting + flying === 0) return
    if (keeper.gone) throw new Error('the queue process ended by itself')
    await pause(lookMs)
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
