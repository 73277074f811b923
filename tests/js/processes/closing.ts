// A process whose queues close on signals. Its words: exit or stay, and how long a close takes (Infinity: for ever).
import { closeOnSignals } from '../../../js/node.ts'

const [exit, takesMs] = process.argv.slice(2)
const queue = (name: string): { close(options?: { drainMs?: number }): Promise<void> } => ({
  async close({ drainMs } = {}) {
    process.stdout.write(`${name} drains for ${drainMs}\n`)
    if (Number(takesMs) === Number.POSITIVE_INFINITY) await new Promise(() => {})
    if (name === 'broken') throw new Error('stuck')
    process.stdout.write(`${name} closed\n`)
  },
})
process.on('warning', ({ message }) => process.stdout.write(`${message}\n`))
const undo = closeOnSignals([queue('one'), queue('broken'), queue('two')], { drainMs: 70, exit: exit === 'exit' })
if (exit === 'undone') undo()
const alive = setInterval(() => {}, 1_000)
if (exit === 'stay') process.once('SIGTERM', () => clearInterval(alive))
process.stdout.write('ready\n')
