/** The simulation in its full size, and the faults that it must notice. */

import { test } from 'vitest'
import { WRONG } from '../sim/wrong.ts'
import { WRONG_FILE } from '../sim/wrong-file.ts'
import { WRONG_REDIS } from '../sim/wrong-redis.ts'
import { WRONG_ROOM } from '../sim/wrong-room.ts'
import { WRONG_SECRETS } from '../sim/wrong-secrets.ts'
import { WRONG_PAGES, WRONG_TABS } from '../sim/wrong-tabs.ts'
import { WRONG_UNSTORED } from '../sim/wrong-unstored.ts'
import { WRONG_WISHES } from '../sim/wrong-wishes.ts'
import { isNoticed, LONG_MS, nothingBreaks } from './sim-setup.ts'

const KINDS = [
  { store: 'memory', hints: true, seeds: 180 },
  { store: 'memory', hints: false, seeds: 100 },
  { store: 'sqlite', hints: true, seeds: 45 },
  { store: 'sqlite', hints: false, seeds: 25 },
  { store: 'redis', hints: true, seeds: 75 },
  { store: 'redis', hints: false, seeds: 25 },
  { store: 'tabs', hints: true, seeds: 120 },
  { store: 'tabs', hints: false, seeds: 60 },
  { store: 'indexeddb', hints: true, seeds: 20 },
  { store: 'indexeddb', hints: false, seeds: 10 },
] as const

test.for(KINDS)('nothing breaks: $store, hints $hints, $seeds seeds', { timeout: LONG_MS }, nothingBreaks)

const FAULTS = [
  ...[...WRONG, ...WRONG_SECRETS, ...WRONG_ROOM, ...WRONG_UNSTORED, ...WRONG_WISHES].map(
    (wrong) => ({ ...wrong, store: 'memory' }) as const,
  ),
  ...WRONG_TABS.map((wrong) => ({ ...wrong, store: 'tabs' }) as const),
  ...WRONG_PAGES.map((wrong) => ({ ...wrong, store: 'indexeddb' }) as const),
  ...WRONG_FILE.map((wrong) => ({ ...wrong, store: 'sqlite' }) as const),
  ...WRONG_REDIS.map((wrong) => ({ ...wrong, store: 'redis' }) as const),
]

test.for(FAULTS)('over $store it is noticed when $what ($breaks)', { timeout: LONG_MS }, ({ store, ...wrong }) =>
  isNoticed(store, wrong),
)
