/** Homes, the processes whose caller waits: a lock says so, or, where there are no locks, a record that has to be renewed. */

import type { TaskStore } from '../../api/store.ts'
import type { Database } from './database.ts'
import type { Presence } from './presence.ts'
import { done } from './transact.ts'
import type { Transaction } from './transaction.ts'

/** Owner -> until when, by the store's time. */
type Homes = Readonly<Record<string, number>>

const read = async (tx: Transaction): Promise<Homes> => (await done(tx.store('meta').get('homes'))) ?? {}

async function holdHome(tx: Transaction, owner: string, forMs: number): Promise<void> {
  const { [owner]: _, ...others } = await read(tx)
  tx.set('meta', 'homes', forMs > 0 ? { ...others, [owner]: tx.now + forMs } : others)
}

/** Live or not. */
async function hasHomes(tx: IDBTransaction): Promise<boolean> {
  const homes: Homes = (await done(tx.objectStore('meta').get('homes'))) ?? {}
  return Object.keys(homes).length > 0
}

export async function liveHomes(tx: Transaction): Promise<string[]> {
  const homes = await read(tx)
  const live = Object.entries(homes).filter(([, until]) => until > tx.now)
  if (live.length < Object.keys(homes).length) tx.set('meta', 'homes', Object.fromEntries(live))
  return live.map(([owner]) => owner).sort()
}

export function homesOf(database: Database, presence: Presence): NonNullable<TaskStore['homes']> {
  return {
    get areHeard() {
      return presence.isAvailable
    },
    async holdHome(owner, forMs) {
      if (!presence.isAvailable) await database.write('relaxed', (tx) => holdHome(tx, owner, forMs))
      else if (forMs > 0) await presence.holdHome(owner)
      else presence.dropHome(owner)
    },
    async live() {
      if (presence.isAvailable) return presence.liveHomes()
      // asked before every turn, and most often there are none
      return (await database.read(hasHomes)) ? database.write('relaxed', liveHomes) : []
    },
  }
}
