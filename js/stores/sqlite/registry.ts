/** Settings that the processes on a file share, and the scopes that stand still for all of them. */

import type { Pause, Pauses, Registry, RegistryEntry } from '../../api/registry.ts'
import { hint } from '../engine/change.ts'
import { parsed } from '../engine/shown.ts'
import { byId, byName, checkedPause, entryText } from '../shared-settings.ts'
import type { Database } from '../sql/database.ts'
import type { Transaction } from '../sql/transaction.ts'
import type { StoreFile } from './file.ts'
import { pausesIn, sharedState } from './lineup.ts'

const LASTS = { durable: true } as const
/** A full store is to be paused, too. */
const ARRANGES = { durable: true, arranges: true } as const

export const registryOf = (file: StoreFile): Registry => ({
  read: (query) => file.read((database) => read(database, query)),
  async write(name, value, expected) {
    const text = entryText(name, value, expected)
    return file.write((tx) => write(tx, name, text, expected), LASTS)
  },
})

function read(
  database: Database,
  { prefix, since }: Parameters<Registry['read']>[0],
): Awaited<ReturnType<Registry['read']>> {
  const version = sharedState(database)?.registry ?? 0
  if (since === version) return { version, entries: undefined }
  const rows = database.all<{ readonly name: string; readonly version: number; readonly value: string }>(
    'SELECT name, version, value FROM registry WHERE substr(name, 1, length(?)) = ?',
    prefix,
    prefix,
  )
  const entries = rows.map((row): RegistryEntry => ({ ...row, value: parsed(row.value) }))
  return { version, entries: entries.sort(byName) }
}

function write(tx: Transaction, name: string, value: string | null, expected?: number): 'written' | 'changed' {
  const { database } = tx
  const found = database.one<{ readonly version: number; readonly value: string }>(
    'SELECT version, value FROM registry WHERE name = ?',
    name,
  )
  if (expected !== undefined && expected !== (found?.version ?? 0)) return 'changed'
  if (value === (found?.value ?? null)) return 'written'
  tx.run('UPDATE state SET registry = registry + 1 WHERE id = 1')
  if (value === null) tx.run('DELETE FROM registry WHERE name = ?', name)
  else {
    tx.run(
      'INSERT OR REPLACE INTO registry (name, version, value) VALUES (?, (SELECT registry FROM state WHERE id = 1), ?)',
      name,
      value,
    )
  }
  return 'written'
}

export const pausesOf = (file: StoreFile): Pauses => ({
  async put(pause) {
    const checked = checkedPause(pause)
    await file.write((tx) => put(tx, checked), ARRANGES)
  },
  lift: (id) => file.write((tx) => lift(tx, id), ARRANGES),
  list: () => file.read((database) => [...pausesIn(database)].sort(byId)),
})

function put(tx: Transaction, pause: Pause): void {
  tx.run('INSERT OR REPLACE INTO pauses (id, pause) VALUES (?, ?)', pause.id, JSON.stringify(pause))
  count(tx)
}

function lift(tx: Transaction, id: string): boolean {
  if (tx.run('DELETE FROM pauses WHERE id = ?', id) === 0) return false
  count(tx)
  hint(tx, 'due')
  return true
}

const count = (tx: Transaction): void => {
  tx.run('UPDATE state SET pauses = (SELECT count(*) FROM pauses) WHERE id = 1')
}
