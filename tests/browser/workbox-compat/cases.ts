/**
 * What Workbox's queue does, case by case, and where ours does something else. Each case is run with both libraries in a real service
 * worker: what Workbox is said to do is seen, too. The table of docs/compat-workbox.md is made of these.
 */
import { adding, taking } from './cases/entries.ts'
import { constructing, first } from './cases/queue.ts'
import { browsing, replaying } from './cases/replays.ts'
import { asking, keeping } from './cases/rest.ts'
import type { Case } from './kit.ts'

export const cases: readonly Case[] = [
  first,
  ...constructing,
  ...adding('pushRequest'),
  ...adding('unshiftRequest'),
  ...taking,
  ...replaying,
  ...browsing,
  ...asking,
  ...keeping,
]
