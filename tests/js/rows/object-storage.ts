// The storage of a Durable Object, as a SQLite in memory gives it. workerd's own is in tests/workers.
import { DatabaseSync } from 'node:sqlite'
import type { ObjectStorage } from '../../../js/stores/durable-object.ts'

export function objectStorage(): { readonly storage: ObjectStorage; readonly database: DatabaseSync } {
  const database = new DatabaseSync(':memory:')
  let depth = 0
  const storage: ObjectStorage = {
    sql: {
      exec(text, ...values) {
        if (values.length === 0 && text.trim().replace(/;$/, '').includes(';')) {
          database.exec(text)
          return { toArray: () => [], rowsWritten: 1 }
        }
        const statement = database.prepare(text)
        // workerd gives every whole number as a double
        statement.setReadBigInts(true)
        const bound = values.map((value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : value))
        const rows = statement
          .all(...(bound as never[]))
          .map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, asGiven(value)])))
        const { n } = database.prepare('SELECT changes() AS n').get() as { n: number }
        return { toArray: () => rows, rowsWritten: /^\s*SELECT/i.test(text) ? 0 : n }
      },
    },
    transactionSync(work) {
      const name = `s${depth++}`
      database.exec(`SAVEPOINT ${name}`)
      try {
        const result = work()
        database.exec(`RELEASE ${name}`)
        return result
      } catch (error) {
        database.exec(`ROLLBACK TO ${name}; RELEASE ${name}`)
        throw error
      } finally {
        depth--
      }
    },
    sync: async () => {},
  }
  return { storage, database }
}

function asGiven(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  return value instanceof Uint8Array ? value.slice().buffer : value
}
