// The port of the simulation, over a real server: what is asked is answered at once, and what is to go wrong does.
import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import type { Reply } from '../../../js/stores/redis/port.ts'
import { Decoder, Encoder, type Sent } from '../../redis/resp.ts'
import { type CallFault, type Line, SyncPort, syncConnection } from '../../redis/sync-port.ts'

const port = async (line?: Line) => new SyncPort(await syncConnection(), line)
/** Whether it was there before anything else could happen. */
async function atOnce<T>(work: Promise<T>): Promise<boolean> {
  let isHere = false
  work.then(
    () => (isHere = true),
    () => (isHere = true),
  )
  for (let i = 0; i < 10; i++) await Promise.resolve()
  return isHere
}
const textOf = (reply: Reply): unknown => {
  if (reply instanceof Buffer) return reply.toString()
  return Array.isArray(reply) ? reply.map(textOf) : reply
}
const shown = (sent: Sent): unknown => {
  if (sent.kind === 'answer') return textOf(sent.value)
  return sent.kind === 'error' ? sent.error.message : sent.parts
}
const once = (fault: CallFault): { called(): CallFault | undefined } => {
  const faults = [fault]
  return { called: () => faults.shift() }
}

test('an answer may be larger than what is read at once, and so may a question', async () => {
  const redis = await port()
  const large = Buffer.alloc(3_000_000, 'redrive')
  await redis.call('SET', ['large', large])
  const read = await redis.call('GET', ['large'])
  expect(large.equals(read as Buffer)).toBe(true)
})

test('who listens hears what a script publishes, right after it', async () => {
  const [speaker, listener, deaf] = [await port(), await port(), await port()]
  const heard: string[] = []
  const end = await listener.subscribe('c', (message) => heard.push(`listener ${message}`))
  await deaf.subscribe('c', (message) => heard.push(`deaf ${message}`))
  deaf.die()
  const said = speaker.call('EVAL', ["redis.call('SPUBLISH', KEYS[1], ARGV[1]) return 1", '1', 'c', 'hint'])
  expect(heard).toEqual([])
  expect(await said).toBe(1)
  expect(heard).toEqual(['listener hint'])
  await end()
  await speaker.call('SPUBLISH', ['c', 'more'])
  expect(heard).toEqual(['listener hint'])
})

test.for([
  ['fail-before', null],
  ['fail-after', 'v'],
] as const)('%s: the call fails, the next does not, and there was a new connection', async ([fault, kept]) => {
  const redis = await port(once(fault))
  let connections = 0
  redis.onReconnect(() => connections++)
  await expect(redis.call('SET', [fault, 'v'])).rejects.toThrow(/connection was lost/)
  expect(textOf(await redis.call('GET', [fault]))).toBe(kept)
  expect(connections).toBe(1)
})

test.for([
  ['crash-before', null],
  ['crash-after', 'v'],
] as const)('%s: the process dies, and asks for nothing more', async ([fault, kept]) => {
  let crashes = 0
  const redis = await port({ ...once(fault), crash: () => crashes++ })
  void redis.call('SET', [fault, 'v'])
  expect(crashes).toBe(1)
  expect(await atOnce(redis.call('SET', [fault, 'later']))).toBe(false)
  expect(textOf(await (await port()).call('GET', [fault]))).toBe(kept)
})

test('what the server sends is understood in whatever pieces it comes', () => {
  const wire = '*3\r\n:-12\r\n$2\r\na\n\r\n_\r\n>2\r\n+m\r\n:1\r\n-ERR no\r\n%1\r\n+k\r\n,0.5\r\n'
  for (let size = 1; size <= wire.length; size++) {
    const decoder = new Decoder()
    const sent: unknown[] = []
    for (let at = 0; at < wire.length; at += size) {
      decoder.feed(Buffer.from(wire.slice(at, at + size)))
      for (let each = decoder.next(); each; each = decoder.next()) sent.push(shown(each))
    }
    expect(sent).toEqual([[-12, 'a\n', null], ['m', 1], 'ERR no', ['k', '0.5']])
  }
})

test('a command is its parts, each with its length in bytes', () => {
  expect(new Encoder().encode([['SET', 'ä', Buffer.from([1])], ['PING']]).toString('latin1')).toBe(
    '*3\r\n$3\r\nSET\r\n$2\r\nÃ¤\r\n$1\r\n\x01\r\n*1\r\n$4\r\nPING\r\n',
  )
})
