/** What the pages of presence.slow.test.ts are made of: one tab's presence, its channel and its connection to a database. */

import { Connection } from '../../../js/stores/indexeddb/connection.ts'
import { Hints } from '../../../js/stores/indexeddb/hints.ts'
import { Presence } from '../../../js/stores/indexeddb/presence.ts'
import { done } from '../../../js/stores/indexeddb/transact.ts'

const hints: number[] = []
const grants: number[] = []
const presence = new Presence('default', () => hints.push(Date.now()))
const channel = new Hints('default')
const layout = { version: 1, upgrade: (database: IDBDatabase) => void database.createObjectStore('notes') }

export interface Tab {
  readonly presence: Presence
  readonly connection: Connection
  readonly channel: Hints
  readonly done: typeof done
  /** When another tab was heard to be gone, and when the pump was granted: epoch milliseconds. */
  readonly hints: readonly number[]
  readonly grants: readonly number[]
  readonly wantPump: () => void
  /** As if the tab went behind another, which a browser without windows has no way to do. */
  readonly show: (visibility: 'visible' | 'hidden') => void
  /** From now on lets go of everything when the page is put away. */
  readonly restOnPagehide: () => void
  /** Set in a page that has come back as it was. */
  cameBack?: true
}

globalThis.tab = {
  presence,
  channel,
  connection: new Connection({ name: 'test', layout, stores: ['notes'] }),
  done,
  hints,
  grants,
  wantPump: () => presence.leader?.want(null, () => grants.push(Date.now())),
  show(visibility) {
    Object.defineProperty(document, 'visibilityState', { value: visibility, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  },
  restOnPagehide() {
    addEventListener('pagehide', () => {
      presence.suspend()
      channel.suspend()
    })
  },
}
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) tab.cameBack = true
})

declare global {
  var tab: Tab
}
