// Other code that writes to the tables of an SQLite, of a file or of an object.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import type { NewTask } from '../../../js/api/store.ts'
import { sumOfBytes, sumOfRequest } from '../../../js/stores/engine/sums.ts'
import { type Chance, NUMBERS, PLAIN, TEXTS } from './chance.ts'

/** Tables that hold anything in any column, as in a file that was not made by this package. */
export function unlock(database: DatabaseSync): void {
  const made = database.prepare(
    "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'",
  )
  const [tables, indexes] = ['table', 'index'].map((kind) => made.all().filter(({ type }) => type === kind))
  for (const { name, sql } of tables ?? []) {
    const loose = String(sql)
      .replace(/STRICT,? ?/, '')
      .replaceAll(' NOT NULL', '')
      .replace(/\(CHECK.*?\)\)/g, '')
    database.exec(loose.replace(`TABLE ${name}`, 'TABLE loose').replace(/,?\s*$/, ''))
    database.exec(`INSERT INTO loose SELECT * FROM ${name}; DROP TABLE ${name}; ALTER TABLE loose RENAME TO ${name}`)
  }
  for (const { sql } of indexes ?? []) database.exec(String(sql))
}

const BIG = [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n]
const BLOBS = [new Uint8Array(), new Uint8Array([0, 255, 0xd8, 0]), new TextEncoder().encode('https://api.test')]
const VALUES: readonly SQLInputValue[] = [
  null,
  ...BIG,
  ...BLOBS,
  ...NUMBERS,
  ...TEXTS,
  Number.POSITIVE_INFINITY,
  -Infinity,
]

const said = (value: unknown): string =>
  (typeof value === 'bigint'
    ? `${value}n`
    : value instanceof Uint8Array
      ? `blob(${value})`
      : JSON.stringify(value)
  )?.slice(0, 60) ?? 'undefined'

const columnsOf = (database: DatabaseSync, table: string): string[] =>
  database
    .prepare(`SELECT name FROM pragma_table_info('${table}')`)
    .all()
    .map(({ name }) => String(name))

/** Fields of `record` and `headers`, known and unknown, with those of a task that no record has a say in. */
export const FIELDS = (
  'withheldHeaders requestInit policy idempotent meta tags taskId targetUrl lane principal origin method ' +
  'headers schema status attemptNumber bodyBytes idempotencyKey __proto__ home deadlineAt toJSON'
).split(' ')
export const INIT = 'credentials mode cache redirect referrerPolicy integrity signal dispatcher __proto__'.split(' ')
export const POLICY = (
  'policyId strategy maxAttempts initialDelayMs multiplier totalBudgetMs jitterType retryableStatusCodes ' +
  'retryNetworkErrors attemptTimeoutMs maxRetryAfterMs keyTtlMs delaysMs unknown __proto__'
).split(' ')

export function put(into: object, name: string, value: unknown): void {
  Object.defineProperty(into, name, { value, enumerable: true, configurable: true, writable: true })
}

/** `record` with one field changed. */
export function spoiltRecord(record: Record<string, unknown>, chance: Chance): string {
  const where = chance.below(3)
  const value = chance.one(PLAIN)
  const name = chance.one(where === 0 ? FIELDS : where === 1 ? INIT : POLICY)
  const holder = where === 0 ? record : record[where === 1 ? 'requestInit' : 'policy']
  put(holder as object, name, value)
  return `${where === 0 ? 'record' : where === 1 ? 'requestInit' : 'policy'}.${name} = ${said(value)}`
}

function update(database: DatabaseSync, sql: string, ...values: SQLInputValue[]): string {
  try {
    database.prepare(sql).run(...values)
    return ''
  } catch (error) {
    return ` (${String(error).slice(0, 60)})` // a key that is taken, or a table's own rule
  }
}

/** Sums tell of every change at once. An attacker who changes a row makes its sums anew, and so does this. */
export function sumAnew(database: DatabaseSync, taskId: string): void {
  // a spoilt value may be any integer of SQLite
  const found = (sql: string) => {
    const statement = database.prepare(sql)
    statement.setReadBigInts(true)
    return statement
  }
  const row = found('SELECT * FROM tasks WHERE id = ?').get(taskId)
  if (!row) return
  const parts = found('SELECT bytes FROM bodies WHERE task = ?').all(row.row as SQLInputValue)
  const bytes = parts.map((part) => part.bytes).filter((part) => part instanceof Uint8Array)
  const bodySum = bytes.length > 0 ? sumOfBytes(Buffer.concat(bytes)) : null
  const texts = [String(row.headers), String(row.record)] as const
  const requestSum = sumOfRequest({ ...(row as unknown as NewTask), taskId, bodySum }, texts)
  update(database, 'UPDATE tasks SET bodySum = ?, requestSum = ? WHERE id = ?', bodySum, requestSum, taskId)
}

export function spoilTask(database: DatabaseSync, taskId: string, chance: Chance): string {
  const what = spoil(database, taskId, chance)
  if (!/: (bodySum|requestSum) = /.test(what)) sumAnew(database, taskId)
  return what
}

function spoil(database: DatabaseSync, taskId: string, chance: Chance): string {
  const kind = chance.below(10)
  if (kind < 5) {
    const column = chance.one(columnsOf(database, 'tasks'))
    const value = chance.one(VALUES)
    const failed = update(database, `UPDATE tasks SET ${column} = ? WHERE id = ?`, value, taskId)
    return `${taskId}: ${column} = ${said(value)}${failed}`
  }
  if (kind < 8) {
    const found = database.prepare('SELECT record FROM tasks WHERE id = ?').get(taskId) as { record: string }
    const record = JSON.parse(found.record)
    const what = spoiltRecord(record, chance)
    return `${taskId}: ${what}${update(database, 'UPDATE tasks SET record = ? WHERE id = ?', JSON.stringify(record), taskId)}`
  }
  const value = chance.one([...VALUES, ...PLAIN.map((plain) => JSON.stringify(plain))])
  const [what, sql] = chance.one([
    ['headers', 'UPDATE tasks SET headers = ? WHERE id = ?'],
    ['log', 'UPDATE attempts SET log = ? WHERE task = (SELECT row FROM tasks WHERE id = ?)'],
    ['n', 'UPDATE attempts SET n = ? WHERE task = (SELECT row FROM tasks WHERE id = ?)'],
    ['bytes', 'UPDATE bodies SET bytes = ? WHERE task = (SELECT row FROM tasks WHERE id = ?)'],
  ] as const)
  return `${taskId}: ${what} = ${said(value)}${update(database, sql, value, taskId)}`
}

/** Counters, lanes and homes. */
export function spoilRest(database: DatabaseSync, chance: Chance): string {
  const value = chance.one(VALUES)
  const table = chance.one(['lanes', 'state', 'homes'])
  if (table === 'homes') {
    update(database, 'INSERT INTO homes (owner, until) VALUES (?, ?)', chance.one(TEXTS), value)
    return `a home until ${said(value)}`
  }
  const column = chance.one(columnsOf(database, table).filter((name) => name !== 'id'))
  return `${table}.${column} = ${said(value)}${update(database, `UPDATE ${table} SET ${column} = ?`, value)}`
}
