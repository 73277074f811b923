/** What may be wrong with tabs and their runners, on purpose, each in one way: what the checks are there to notice. */

import { Leadership } from '../../js/durable/leadership.ts'
import { LeaseTerms } from '../../js/durable/lease-terms.ts'
import { PrincipalGuard } from '../../js/durable/principal-guard.ts'
import { StoreLoop } from '../../js/durable/store-loop.ts'
import { StoredTasks } from '../../js/durable/stored-tasks.ts'
import { instantOf } from '../../js/platform/clock.ts'
import { Lanes } from '../../js/runner/lanes.ts'
import { LeaderLock } from '../../js/stores/indexeddb/leader-lock.ts'
import { LeaseWatch } from '../../js/stores/indexeddb/lease-watch.ts'
import { Presence } from '../../js/stores/indexeddb/presence.ts'
import { Browser } from './browser.ts'
import { TabLocks } from './tab-locks.ts'
import { store, type Wrong } from './wrong.ts'
import { all, does } from './wrong-code.ts'

const { begin } = StoredTasks.prototype
const nothing = (): void => {}

export const WRONG_TABS: readonly Wrong[] = [
  { what: 'the lead is never given up', breaks: 'L3', breaking: does(TabLocks.prototype, 'resign', nothing) },
  {
    what: 'every other grant is lost',
    breaks: 'L3',
    breaking: store(({ leader }) => {
      let grants = 0
      if (!leader) return {}
      const want: typeof leader.want = (principal, granted) =>
        leader.want(principal, () => ++grants % 2 === 0 && granted())
      return { leader: { want, resign: () => leader.resign() } }
    }),
  },
  {
    what: 'a tab that is back asks for nothing',
    breaks: 'L3',
    breaking: does(Leadership.prototype, 'resumeFromSuspend', async () => {}),
  },
  {
    what: 'a tab that is put away keeps its homes',
    breaks: 'L3',
    breaking: does(TabLocks.prototype, 'dropHomes', nothing),
  },
  { what: 'suspend() lets go of nothing', breaks: 'L3', breaking: store(() => ({ suspend: nothing })) },
  {
    what: 'the leases of a tab that dies stay in force',
    breaks: 'L3',
    breaking: does(TabLocks.prototype, 'dropGuard', nothing),
  },
  { what: 'nobody hears of the end of a tab', breaks: 'L3', breaking: does(TabLocks.prototype, 'watch', nothing) },
  {
    what: 'a hidden tab keeps the lead',
    breaks: 'L3',
    breaking: all(does(TabLocks.prototype, 'giveWay', nothing), does(TabLocks.prototype, 'look', nothing)),
  },
  { what: 'a tab that is put away goes on', breaks: 'L3', breaking: does(StoreLoop.prototype, 'suspend', nothing) },
  {
    what: 'a runner past its lease settles a failure',
    breaks: 'S4',
    breaking: does(LeaseTerms.prototype, 'isOver', () => false),
  },
  {
    what: 'the store lets anybody claim',
    breaks: 'S16',
    hints: false,
    breaking: does(Browser.prototype, 'mayClaim', () => true),
  },
  {
    what: 'what a tab has in memory is sent whoever is there',
    breaks: 'S16',
    breaking: all(
      does(Lanes.prototype, 'switchPrincipal', nothing),
      does(Lanes.prototype, 'maySend', () => true),
      does(PrincipalGuard.prototype, 'confirm', async () => true),
    ),
  },
  {
    what: 'a principal counts from when its store hears of it',
    breaks: 'S16',
    breaking: store(({ principals }) => {
      if (!principals) return {}
      const switchTo: typeof principals.switchTo = (principal, namedAt) => {
        const { now } = namedAt()
        return principals.switchTo(principal, () => ({ since: now, now }))
      }
      return { principals: { ...principals, switchTo } }
    }),
  },
  {
    what: 'a page names its principal when its store opens',
    breaks: 'S16',
    breaking: does(StoredTasks.prototype, 'begin', function (this: StoredTasks) {
      const { host } = this.state.runner
      host.declaredAt = instantOf(host.settings.clock)
      return begin.call(this)
    }),
  },
  {
    what: 'other tabs go on while one logs in',
    breaks: 'S16',
    breaking: store(({ principals }) => (principals ? { principals: { ...principals, logIn: async () => {} } } : {})),
  },
  { what: 'no store is ever full', breaks: 'S17', breaking: store(() => ({ configure: nothing })) },
]

/** The same of the store itself and its locks. */
export const WRONG_PAGES: readonly Wrong[] = [
  { what: 'no lease is guarded', breaks: 'L3', breaking: does(LeaseWatch.prototype, 'guard', async () => {}) },
  { what: 'the locks are kept', breaks: 'L3', breaking: does(Presence.prototype, 'suspend', nothing) },
  { what: 'no tab ever leads', breaks: 'L3', breaking: does(LeaderLock.prototype, 'want', nothing) },
  {
    what: 'no tab hears that a login is over',
    breaks: 'L1',
    breaking: does(Presence.prototype, 'whenLoginEnds', nothing),
  },
  {
    what: 'nobody asks who has died',
    breaks: 'L3',
    breaking: does(Presence.prototype, 'orphanedLeases', async () => undefined),
  },
]
