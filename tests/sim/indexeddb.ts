/**
 * IndexedDB in memory, for processes that are tabs here. None of them has Web Locks: those of Node are of the whole process,
 * so a simulated tab would never die.
 */

import 'fake-indexeddb/auto'

Object.defineProperty(globalThis, 'navigator', { value: {}, configurable: true })

let databases = 0

/** The name of one that is not there yet. */
export const freshDatabase = (): string => `sim-${++databases}`
