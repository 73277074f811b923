// One build in one row: a process that measures once for each message it gets.
import { rows } from './rows.mjs'

const [name, tree] = process.argv.slice(2)
const sample = await rows[name].open({ tree })
process.on('disconnect', () => process.exit(0))
process.on('message', async () => {
  globalThis.gc()
  // whoever asked may be gone by now
  process.send(await sample(), () => {})
})
process.send('ready')
