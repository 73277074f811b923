/** What is asked of SQLite: statements, and rows that they give. */

import { StatementSync } from 'node:sqlite'

export interface Asked {
  statements: number
  rows: number
}

export async function asked(work: () => Promise<unknown>): Promise<Asked> {
  const counts: Asked = { statements: 0, rows: 0 }
  const target = StatementSync.prototype as unknown as Record<string, (...args: unknown[]) => unknown>
  const real = { get: target.get, all: target.all, run: target.run }
  for (const [name, method] of Object.entries(real)) {
    target[name] = function (this: unknown, ...args) {
      const given = method?.apply(this, args)
      counts.statements++
      if (name === 'all') counts.rows += (given as unknown[]).length
      else if (name === 'get' && given !== undefined) counts.rows++
      return given
    }
  }
  try {
    await work()
  } finally {
    Object.assign(target, real)
  }
  return counts
}
