/** A page that freezes keeps no other tab out of the database, and loses nothing that it was asked to store. */

import { IDBFactory } from 'fake-indexeddb'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { Connection } from '../../../js/stores/indexeddb/connection.ts'
import { done } from '../../../js/stores/indexeddb/transact.ts'
import { get, notes, put } from './faulty.ts'

const page = new EventTarget()
const globals = new EventTarget()

beforeEach(() => {
  vi.stubGlobal('document', page)
  vi.stubGlobal('addEventListener', globals.addEventListener.bind(globals))
})

afterEach(() => {
  vi.unstubAllGlobals()
})

const happens = (event: string) => page.dispatchEvent(new Event(event))
const shows = (event: string) => globals.dispatchEvent(new Event(event))

/** Two tabs of one database, both open, and work that needs another answer once `goOn` is called. */
async function tabs() {
  const factory = new IDBFactory()
  const options = { name: 'test', layout: notes, stores: ['notes'], factory }
  const [here, there] = [new Connection(options), new Connection(options)]
  onTestFinished(() => {
    for (const each of [here, there]) each.close()
  })
  await here.read(get)
  vi.stubGlobal('document', undefined)
  await there.read(get)
  let runs = 0
  let goesOn = false
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  /** Asks one question after another, as a transaction does that is on its way. */
  const work = async (tx: IDBTransaction): Promise<string> => {
    runs++
    begin()
    do await done(tx.objectStore('notes').get('a'))
    while (!goesOn)
    return put('here')(tx)
  }
  const goOn = () => {
    goesOn = true
  }
  return { here, there, work, begun, runs: () => runs, goOn }
}

test('L3 a transaction on its way is ended when the page freezes, and made once it is back', async () => {
  const { here, there, work, begun, runs, goOn } = await tabs()
  const written = here.write('strict', work)
  await begun
  happens('freeze')
  // answers do not depend on the frozen page
  expect(await there.write('strict', put('there'))).toBe('there')
  expect(runs()).toBe(1)
  goOn()
  happens('resume')
  expect(await written).toBe('here')
  expect(runs()).toBe(2)
})

test('L3 none is begun while the page is frozen, nor by a handler of that', async () => {
  const { here, there, work, goOn, runs } = await tabs()
  goOn()
  let written: Promise<string> | undefined
  const onFreeze = () => {
    written = here.write('strict', work)
  }
  page.addEventListener('freeze', onFreeze, { once: true })
  happens('freeze')
  expect(await there.write('strict', put('there'))).toBe('there')
  expect(runs()).toBe(0)
  happens('resume')
  expect(await written).toBe('here')
})

test('a page that is left, and frozen for the way back, goes on with what it was asked to store', async () => {
  const { here, there, work, begun, runs, goOn } = await tabs()
  shows('pagehide')
  const written = here.write('strict', work)
  await begun
  happens('freeze')
  goOn()
  expect(await written).toBe('here')
  expect(runs()).toBe(1)
  shows('pageshow')
  happens('freeze')
  const read = vi.fn(get)
  const later = here.read(read)
  await there.read(get)
  expect(read).not.toHaveBeenCalled()
  happens('resume')
  await later
})

test('L5 a connection that is closed hears no page any more', async () => {
  const { here } = await tabs()
  here.close()
  happens('freeze')
  vi.stubGlobal('document', page)
  await here.read(get)
})
