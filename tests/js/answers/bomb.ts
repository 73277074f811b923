// A process of its own, since memory is the point: sends to a server whose small answer is huge once it is unpacked, and
// writes how much memory that took. `node bomb.ts <plain|fetch|enqueue|axios-http|axios-fetch> <status> <br|gzip> <mebibytes>`
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { constants, createBrotliCompress, createGzip } from 'node:zlib'
import axios from 'axios'
import { attachToAxios } from '../../../js/adapters/axios.ts'
import { RetryQueue } from '../../../js/index.ts'

const [how = 'plain', status = '503', encoding = 'br', mebibytes = '64'] = process.argv.slice(2)

const small = { params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 } }
const packer = encoding === 'br' ? createBrotliCompress(small) : createGzip()
// piece by piece: this process must not have needed the memory before
const zeros = Readable.from(
  (function* () {
    const piece = Buffer.alloc(2 ** 20)
    for (let i = 0; i < Number(mebibytes); i++) yield piece
  })(),
)
const bomb = await buffer(zeros.pipe(packer))

let hits = 0
const server = createServer((_, response) => {
  hits++
  // the first attempts of a call by axios are axios' own, which reads whatever comes
  const isPlain = how.startsWith('axios') && hits === 1
  if (isPlain) response.writeHead(503).end()
  else {
    response.writeHead(Number(status), {
      'content-encoding': encoding,
      'content-type': 'text/plain',
      'content-length': bomb.length,
    })
    response.end(bomb)
  }
})
await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`

const queue = new RetryQueue({
  breaker: false,
  retryBudget: false,
  policy: { policyId: 'default', maxAttempts: 3, initialDelayMs: 20, jitterType: 'NONE' },
})
await queue.ready
// warm: the first of all requests costs what none after it does
await fetch(url, { method: 'HEAD' })
hits = 0
const before = process.memoryUsage().rss

let most = before
const watching = setInterval(() => {
  most = Math.max(most, process.memoryUsage().rss)
}, 2)

if (how === 'plain') {
  for (let i = 0; i < 3; i++) await (await fetch(url)).body?.cancel()
} else if (how === 'fetch') {
  await (await queue.fetch(url)).body?.cancel()
} else if (how === 'enqueue') {
  await queue.enqueue(url)
  await queue.idle()
} else {
  const client = axios.create({ adapter: how === 'axios-fetch' ? 'fetch' : 'http' })
  attachToAxios(client, queue)
  await client.get(url, { redrive: { mode: 'defer' } })
  await queue.idle()
}
// what goes on in the background has to be seen too
await new Promise((done) => setTimeout(done, 1_500))
clearInterval(watching)
console.log(
  JSON.stringify({ hits, bomb: bomb.length, beforeMiB: before / 2 ** 20, grownMiB: (most - before) / 2 ** 20 }),
)
process.exit(0)
