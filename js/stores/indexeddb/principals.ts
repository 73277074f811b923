/**
 * The principal whose requests are made, the one that was named last, and the logins that are under way.
 *
 * The page that logs in holds a lock for as long. A page that meets its mark waits for that lock: once it is free the login is over, or
 * its page gone, and the mark is removed. Where there are no locks the mark counts for a limited time.
 */

import type { NamedAt, Present, Principals } from '../../api/store.ts'
import { FOREVER } from '../../platform/clock.ts'
import { hint } from '../engine/change.ts'
import type { Database } from './database.ts'
import type { Presence } from './presence.ts'
import { type Logins, loginsAt, readState } from './state.ts'
import type { Transaction } from './transaction.ts'

export function principalsOf(database: Database, presence: Presence): Principals {
  // a full quota holds up neither a login nor its end
  const write: Database['write'] = (durability, work) => database.anyway(() => database.write(durability, work))
  // a page whose database fails hears of it all the same, and asks again
  const forget = (login: string) => write('relaxed', (tx) => keepLogin(tx, login, undefined)).catch(() => {})
  return {
    async current() {
      const { principal, logins } = await database.read(readState)
      // asked before each attempt that hooks prepare, and most often none is under way
      if (!logins) return { principal }
      const found = await write('relaxed', present)
      for (const [login, until] of found.logins) {
        if (until === FOREVER) presence.whenLoginEnds(login, () => forget(login))
      }
      return found.present
    },
    async switchTo(principal, namedAt, login) {
      await write('strict', (tx) => {
        switchTo(tx, principal, namedAt())
        if (login !== undefined) keepLogin(tx, login, undefined)
      })
      if (login !== undefined) presence.unguard(login)
    },
    async logIn(login, forMs, isUnderWay) {
      const isHeard = await presence.guard(login)
      await write('relaxed', (tx) => {
        if (isUnderWay()) keepLogin(tx, login, isHeard ? FOREVER : tx.now + forMs)
        else presence.unguard(login)
      })
    },
  }
}

/** A younger declaration stands: see `Principals`. */
function switchTo(tx: Transaction, principal: string | null, { since, now }: NamedAt): void {
  const { state } = tx
  const { principal: current, principalSince = Number.NEGATIVE_INFINITY } = state
  if (principalSince > since && principalSince <= now) return
  if (current === principal && principalSince === since) return
  state.principal = principal
  state.principalSince = since
  tx.touch()
  if (current !== principal) hint(tx, 'principal')
}

/** `until`: undefined where it is over. */
function keepLogin(tx: Transaction, login: string, until: number | undefined): void {
  const { [login]: before, ...others } = tx.state.logins ?? {}
  if (before === until) return
  setLogins(tx, until === undefined ? others : { ...others, [login]: until })
  if (before === undefined || until === undefined) hint(tx, 'principal')
}

function setLogins(tx: Transaction, logins: Logins): void {
  if (Object.keys(logins).length > 0) tx.state.logins = logins
  else delete tx.state.logins
  tx.touch()
}

function present(tx: Transaction): { readonly present: Present; readonly logins: readonly [string, number][] } {
  const { now, state } = tx
  const logins = loginsAt(state, now)
  if (logins.length < Object.keys(state.logins ?? {}).length) setLogins(tx, Object.fromEntries(logins))
  const { principal } = state
  if (logins.length === 0) return { present: { principal }, logins }
  return { present: { principal, loginForMs: Math.max(...logins.map(([, until]) => until)) - now }, logins }
}
