/** The things that processes of a service share beside tasks: a small map with versions, and the scopes that stand still. */

import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { laneName } from '../../api/records.ts'
import type { Pause, Pauses, Registry, RegistryEntry } from '../../api/registry.ts'
import { byId, byName, checkedPause, entryText } from '../shared-settings.ts'
import { Packer } from './packed.ts'
import type { Arg, Reply } from './port.ts'
import type { Session } from './session.ts'

/** A command of `control.lua` that resolves as durably as an `enqueue`. */
export type Durably = (name: string, ...args: readonly Arg[]) => Promise<Reply>

/** An entry begins with its version and the name of the call that wrote it, and so does the state of all. */
const HEAD = 24
const NONCE = 16

export const registryOf = (session: Session, durably: Durably): Registry => ({
  async read({ prefix, since }) {
    const { said } = await session.ask('registry', prefix, since === undefined ? '' : String(since))
    const [state, kept] = said as readonly [Buffer, (readonly Buffer[])?]
    return { version: state.readDoubleBE(0), entries: kept && entriesIn(kept) }
  },
  async write(name, value, expected) {
    const text = entryText(name, value, expected) ?? ''
    // where the answer is lost the call is made again, and has to know its own work from that of others
    const nonce = randomBytes(NONCE)
    const said = await durably('write', name, nonce, expected === undefined ? '' : String(expected), text)
    return String(said) as 'written' | 'changed'
  },
})

function entriesIn(kept: readonly Buffer[]): readonly RegistryEntry[] {
  const entries: RegistryEntry[] = []
  for (let i = 0; i < kept.length; i += 2) {
    const [name, bytes] = [String(kept[i]), kept[i + 1] as Buffer]
    entries.push({ name, value: JSON.parse(bytes.toString('utf8', HEAD)), version: bytes.readDoubleBE(0) })
  }
  return entries.sort(byName)
}

export const pausesOf = (session: Session, durably: Durably): Pauses => ({
  async put(given) {
    const pause = checkedPause(given)
    const scope = Buffer.from(scopeOf(pause))
    const packed = new Packer().u32(scope.length).bytes(scope).text(JSON.stringify(pause)).done()
    await durably('pause', pause.id, packed)
  },
  lift: async (id) => (await durably('lift', id)) === 1,
  async list() {
    const { said } = await session.ask('pauses')
    const pauses = (said as readonly Buffer[]).map(
      (kept): Pause => JSON.parse(kept.toString('utf8', 4 + kept.readUInt32BE(0))),
    )
    return pauses.sort(byId)
  },
})

/** Lanes that a pause holds, as `isPaused` in lua/lanes.lua looks for them: all, of an origin, of a principal, or one. */
function scopeOf({ origin, principal }: Pause): string {
  if (principal === undefined) return origin === undefined ? 'a' : `o${origin}`
  // a lane's name with the origin left out
  return origin === undefined ? `p${laneName(principal, '')}` : `l${laneName(principal, origin)}`
}
