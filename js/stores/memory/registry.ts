/** Settings and pauses of a `MemoryStore`, for all that share the object. */

import type { Pauses, Registry } from '../../api/registry.ts'
import { byId, byName, checkedPause, entryText } from '../shared-settings.ts'
import type { Rows } from './rows.ts'

export function registryOf(): Registry {
  const entries = new Map<string, { readonly version: number; readonly text: string }>()
  let version = 0
  return {
    async read({ prefix, since }) {
      if (since === version) return { version, entries: undefined }
      const found = [...entries].filter(([name]) => name.startsWith(prefix))
      const shown = found.map(([name, { text, version }]) => ({ name, value: JSON.parse(text) as unknown, version }))
      return { version, entries: shown.sort(byName) }
    },
    async write(name, value, expected) {
      const text = entryText(name, value, expected)
      const found = entries.get(name)
      if (expected !== undefined && expected !== (found?.version ?? 0)) return 'changed'
      if (text === (found?.text ?? null)) return 'written'
      version++
      if (text === null) entries.delete(name)
      else entries.set(name, { version, text })
      return 'written'
    },
  }
}

/** `tell`: passes on what listeners are to hear. */
export function pausesOf(rows: Rows, tell: () => void): Pauses {
  const { pauses } = rows
  return {
    async put(pause) {
      const checked = checkedPause(pause)
      pauses.set(checked.id, checked)
    },
    async lift(id) {
      if (!pauses.delete(id)) return false
      rows.hints.push({ kind: 'due' })
      tell()
      return true
    },
    list: async () => [...pauses.values()].map((pause) => ({ ...pause })).sort(byId),
  }
}
