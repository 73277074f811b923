// The storage of a Durable Object as far as its store uses it, over Node's SQLite: the same statements, without the platform.
import { DatabaseSync } from 'node:sqlite'

/** Bytes come as the platform gives them. */
function withBuffers(row) {
  for (const [name, value] of Object.entries(row)) if (value instanceof Uint8Array) row[name] = value.slice().buffer
  return row
}

export function objectStorage() {
  const database = new DatabaseSync(':memory:')
  const statements = new Map()
  const prepare = (query) => {
    const known = statements.get(query)
    if (known) return known
    const made = database.prepare(query)
    statements.set(query, made)
    return made
  }
  return {
    sql: {
      exec(query, ...bindings) {
        // several statements at once, as a layout is
        if (/;\s*\S/.test(query)) {
          database.exec(query)
          return { toArray: () => [], rowsWritten: 1 }
        }
        const statement = prepare(query)
        if (statement.columns().length > 0)
          return { toArray: () => statement.all(...bindings).map(withBuffers), rowsWritten: 0 }
        const { changes } = statement.run(...bindings)
        return { toArray: () => [], rowsWritten: Number(changes) }
      },
    },
    transactionSync(work) {
      database.exec('SAVEPOINT bench')
      try {
        const result = work()
        database.exec('RELEASE bench')
        return result
      } catch (error) {
        database.exec('ROLLBACK TO bench; RELEASE bench')
        throw error
      }
    },
    sync: async () => {},
  }
}
