/** Bodies of other realms and libraries: sent as plain fetch sends them, or refused where it would send `[object Blob]`. */
import { runInNewContext } from 'node:vm'
import { FormData as UndiciForm } from 'undici'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { window } from './jsdom.ts'
import { ORDERS, setup } from './setup.ts'

/** As a library has it that brings a file of its own. */
class LibraryBlob {
  readonly size = 3
  readonly type = 'image/png'
  readonly [Symbol.toStringTag]: string = 'Blob'
  arrayBuffer() {
    return new Response('abc').arrayBuffer()
  }
}

function filled<F extends { append(name: string, value: string): void }>(form: F): F {
  form.append('a', '1')
  return form
}

const bodies: readonly [what: string, make: () => unknown][] = [
  ['an ArrayBuffer of another context', () => runInNewContext('new Uint8Array([97, 98]).buffer')],
  ['a typed array of another context', () => runInNewContext('new Uint16Array([97, 98])')],
  ['a DataView of another context', () => runInNewContext('new DataView(new ArrayBuffer(3), 1)')],
  ['a String of another context', () => runInNewContext('new String("a=1")')],
  ['a SharedArrayBuffer of another context', () => runInNewContext('new SharedArrayBuffer(3)')],
  ['an ArrayBuffer of jsdom', () => new window.ArrayBuffer(3)],
  ['URLSearchParams of jsdom', () => new window.URLSearchParams('a=1&b=%26')],
  ['FormData of jsdom', () => filled(new window.FormData())],
  ['a Blob of jsdom', () => new window.Blob(['abc'], { type: 'image/png' })],
  ['a File of jsdom', () => new window.File(['abc'], 'a.png')],
  ['FormData of undici', () => filled(new UndiciForm())],
  ['a Blob of a library', () => new LibraryBlob()],
  ['a Blob of a library, empty', () => Object.assign(new LibraryBlob(), { size: 0 })],
]

async function expectAsFetch(make: () => unknown): Promise<void> {
  const sent: (readonly [type: string | null, text: string])[] = []
  const read = async (holder: Request | Response) => [holder.headers.get('content-type'), await holder.text()] as const
  const { queue } = await setup({
    fetch: async (input, init) => {
      sent.push(await read(new Request(input, init)))
      return new Response()
    },
  })
  const plain = await read(new Response(make() as BodyInit))
  const init = () => ({ method: 'POST', body: make() as BodyInit })
  const calls = [queue.fetch(ORDERS, init()), queue.enqueue(ORDERS, init()).then(({ taskId }) => queue.result(taskId))]
  if (/^\[object (Blob|File|FormData|Shared)/.test(plain[1])) {
    for (const end of await Promise.allSettled(calls)) {
      expect(end).toMatchObject({ status: 'rejected', reason: { name: 'TypeError' } })
      expect(`${(end as PromiseRejectedResult).reason}`).toMatch(/body: expected .* of the platform; .*arrayBuffer/)
    }
    expect(sent).toEqual([])
    return
  }
  await Promise.all(calls)
  expect(sent).toEqual([plain, plain])
}

test.each(bodies)('%s', (_, make) => expectAsFetch(make))

describe('where a page is only played, and half of the platform is jsdom’s', () => {
  afterEach(() => vi.unstubAllGlobals())

  test.each(bodies.filter(([what]) => what.includes('jsdom')))('%s', async (_, make) => {
    for (const name of ['FormData', 'Blob', 'File', 'URLSearchParams'] as const) vi.stubGlobal(name, window[name])
    await expectAsFetch(make)
  })
})

test('the own of each kind is taken', async () => {
  for (const make of [() => filled(new FormData()), () => new Blob(['a']), () => new File(['a'], 'a.txt')]) {
    const { queue, server } = await setup()
    await queue.fetch(ORDERS, { method: 'POST', body: make() })
    expect(server.hits).toBe(1)
  }
})
