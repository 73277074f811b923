/** A name server on loopback: it answers over UDP what it is given, or not at all. */

import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { onTestFinished } from 'vitest'

export const [NXDOMAIN, SERVFAIL] = [3, 2]

/** What a name leads to: addresses with one TTL, which may be said late; a code; or silence. */
export type Said =
  | { readonly addresses: readonly string[]; readonly ttl?: number; readonly afterMs?: number }
  | number
  | 'nothing'

export interface NameServer {
  /** As `dnsServers` takes it. */
  readonly address: string
  /** Questions for a name, or for all; each lookup is two. */
  asked(name?: string): number
  say(name: string, said: Said): void
}

const TYPES = { A: 1, AAAA: 28 }

/** `say`: by name. Of others there are none. */
export async function nameServer(names: Readonly<Record<string, Said>> = {}): Promise<NameServer> {
  const socket = createSocket('udp4')
  const said = new Map(Object.entries(names))
  const seen: string[] = []
  const timers = new Set<NodeJS.Timeout>()
  socket.on('message', (question, { port, address }) => {
    const { name, type, end } = questionIn(question)
    seen.push(name)
    const what = said.get(name) ?? (name.startsWith('dead') ? 'nothing' : NXDOMAIN)
    if (what === 'nothing') return
    const answer = answerTo(question.subarray(0, end), type, what)
    const late = typeof what === 'object' && what.afterMs
    if (late) timers.add(setTimeout(() => socket.send(answer, port, address), late))
    else socket.send(answer, port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const timer of timers) clearTimeout(timer)
    socket.close()
  })
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked: (name) => (name === undefined ? seen.length : seen.filter((each) => each === name).length),
    say: (name, what) => said.set(name, what),
  }
}

/** RFC 1035, section 4.1. */
function questionIn(message: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), type: message.readUInt16BE(at + 1), end: at + 5 }
}

function answerTo(question: Buffer, type: number, said: Exclude<Said, 'nothing'>): Buffer {
  const { addresses, ttl = 60 } = typeof said === 'number' ? { addresses: [] } : said
  const records = addresses
    .filter((address) => isIPv6(address) === (type === TYPES.AAAA))
    .map((address) => {
      const bytes = bytesOf(address)
      const head = Buffer.alloc(12)
      head.writeUInt16BE(0xc00c, 0)
      head.writeUInt16BE(type, 2)
      head.writeUInt16BE(1, 4)
      head.writeUInt32BE(ttl, 6)
      head.writeUInt16BE(bytes.length, 10)
      return Buffer.concat([head, bytes])
    })
  const answer = Buffer.concat([question, ...records])
  answer.writeUInt16BE(0x8180 | (typeof said === 'number' ? said : 0), 2)
  answer.writeUInt16BE(records.length, 6)
  // without the additional section of the question (EDNS)
  answer.writeUInt16BE(0, 10)
  return answer
}

/** Of IPv6 what `fc::1` needs: two groups and no more. */
function bytesOf(address: string): Uint8Array {
  if (!isIPv6(address)) return Uint8Array.from(address.split('.'), Number)
  const bytes = new Uint8Array(16)
  const [first = '0', last = '0'] = address.split('::')
  new DataView(bytes.buffer).setUint16(0, Number.parseInt(first || '0', 16))
  new DataView(bytes.buffer).setUint16(14, Number.parseInt(last || '0', 16))
  return bytes
}
