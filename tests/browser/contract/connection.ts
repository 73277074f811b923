/** What a store takes for granted of a transaction, and an engine may see otherwise. */
import { expect, test } from 'vitest'
import { Connection, type Work } from '../../../js/stores/indexeddb/connection.ts'
import { everyName } from '../../../js/stores/indexeddb/keys.ts'
import { done } from '../../../js/stores/indexeddb/transact.ts'

let opened = 0

async function notes(): Promise<Connection> {
  const layout = {
    version: 1,
    upgrade(database: IDBDatabase) {
      database.createObjectStore('notes').createIndex('by text', 'text', { unique: true })
    },
  }
  const connection = new Connection({ name: `connection-${++opened}`, layout, stores: ['notes'] })
  await connection.write('strict', async (tx) => {
    await done(tx.objectStore('notes').add({ text: 'first' }, 1))
  })
  return connection
}

const keys: Work<IDBValidKey[]> = (tx) => done(tx.objectStore('notes').getAllKeys())

const failing: Record<string, (notes: IDBObjectStore) => void> = {
  'a key that is there': (notes) => notes.add({ text: 'another' }, 1),
  'a unique text that is there': (notes) => notes.add({ text: 'first' }, 2),
}

export function connectionRules(): void {
  for (const [what, fail] of Object.entries(failing)) {
    for (const place of ['first', 'last', 'in between'] as const) {
      test(`a write that nobody waits for fails, ${place}, for ${what}: all of the transaction is undone, and it says so`, async () => {
        const connection = await notes()
        const written = connection.write('strict', async (tx) => {
          const store = tx.objectStore('notes')
          if (place !== 'first') store.put({ text: 'before' }, 10)
          fail(store)
          if (place !== 'last') store.put({ text: 'after' }, 11)
        })
        const error = await written.then(
          () => undefined,
          (thrown: { cause?: { name: string } }) => thrown,
        )
        expect(error?.cause?.name).toBe('ConstraintError')
        expect(await connection.read(keys)).toEqual([1])
        connection.close()
      })
    }
  }

  test('what is thrown by the work undoes what it has written', async () => {
    const connection = await notes()
    const work: Work<void> = async (tx) => {
      tx.objectStore('notes').put({ text: 'undone' }, 10)
      throw new RangeError('of the work')
    }
    expect(await connection.write('strict', work).catch((error: Error) => error.name)).toBe('RangeError')
    expect(await connection.read(keys)).toEqual([1])
    connection.close()
  })

  // asked for all without a lower end, WebKit gives the others too
  test('a whole index has what has a key, and nothing else', async () => {
    const connection = await notes()
    await connection.write('strict', async (tx) => {
      await done(tx.objectStore('notes').put({ text: null }, 2))
    })
    const found = await connection.read(async (tx) => {
      const index = tx.objectStore('notes').index('by text')
      const first = done(index.openKeyCursor())
      return { all: await done(index.getAll(everyName())), first: (await first)?.key }
    })
    expect(found).toEqual({ all: [{ text: 'first' }], first: 'first' })
    connection.close()
  })
}
