// A process that hands a request over, and is told to end during the first attempt. Its words: the store's file, and the target.
import { RetryQueue } from '../../../js/index.ts'
import { closeOnSignals } from '../../../js/node.ts'
import { sqliteStore } from '../../../js/stores/sqlite.ts'

const [path = '', url = ''] = process.argv.slice(2)
const queue = new RetryQueue({ store: sqliteStore({ path }), principal: null })
closeOnSignals(queue)
await queue.ready
const { status } = await queue.fetch(url, { method: 'POST', body: 'tea', redrive: { mode: 'defer' } })
process.stdout.write(`${status}\n`)
