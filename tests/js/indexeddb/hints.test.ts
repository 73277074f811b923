/** Hints between the tabs of a store, and what else may come over their channel. */
import { afterEach, expect, onTestFinished, vi } from 'vitest'
import type { Hint } from '../../../js/api/store.ts'
import { Hints } from '../../../js/stores/indexeddb/hints.ts'
import { testIn } from '../test-in.ts'

let names = 0
afterEach(() => {
  vi.unstubAllGlobals()
})

function setup(): { name: string; open: () => Hints; raw: BroadcastChannel } {
  const name = `test ${names++}`
  const channels: Hints[] = []
  const raw = new BroadcastChannel(`redrive/${name}`)
  onTestFinished(() => {
    raw.close()
    for (const channel of channels) channel.suspend()
  })
  const open = (): Hints => {
    const channel = new Hints(name)
    channels.push(channel)
    return channel
  }
  return { name, open, raw }
}

const test = testIn(setup)

/** Hears until `last` has come, which tells that nothing else will. */
function heard(channel: Hints, last = 'last'): { hints: Hint[]; until: () => Promise<void> } {
  const hints: Hint[] = []
  channel.listen((hint) => hints.push(hint))
  return { hints, until: () => vi.waitFor(() => expect(hints.at(-1)?.taskId).toBe(last)) }
}

test('carries hints to all others of the store, in order, and not to itself', async ({ open }) => {
  const [a, b, c] = [open(), open(), open()]
  const [atA, atB, atC] = [heard(a), heard(b), heard(c)]
  a.post([{ kind: 'due' }, { kind: 'settled', taskId: 'one' }])
  a.post([])
  a.post([{ kind: 'cancelled', taskId: 'two' }, { kind: 'principal' }, { kind: 'due', taskId: 'last' }])
  await Promise.all([atB.until(), atC.until()])
  expect(atB.hints).toEqual([
    { kind: 'due' },
    { kind: 'settled', taskId: 'one' },
    { kind: 'cancelled', taskId: 'two' },
    { kind: 'principal' },
    { kind: 'due', taskId: 'last' },
  ])
  expect(atC.hints).toEqual(atB.hints)
  expect(atA.hints).toEqual([])
})

test('stores of other names hear nothing', async ({ open }) => {
  const other = setup().open()
  const [a, b] = [open(), open()]
  const [atB, atOther] = [heard(b), heard(other)]
  a.post([{ kind: 'due', taskId: 'last' }])
  await atB.until()
  expect(atOther.hints).toEqual([])
})

test('says nothing but kinds and ids, whatever it is given', async ({ open, raw }) => {
  const messages: unknown[] = []
  raw.onmessage = ({ data }: MessageEvent) => messages.push(data)
  const channel = open()
  channel.post([])
  channel.post([{ kind: 'due', taskId: 'one', body: 'secret' } as Hint, { kind: 'due' }])
  await vi.waitFor(() => expect(messages.length).toBe(1))
  expect(messages).toEqual([[{ kind: 'due', taskId: 'one' }, { kind: 'due' }]])
})

test('S20 takes no notice of what it does not know', async ({ open, raw }) => {
  const { hints, until } = heard(open())
  for (const message of [null, 'due', 7, { kind: 'due' }, [null, 'due', 7, [], { kind: 'later' }, { taskId: 'one' }]]) {
    raw.postMessage(message)
  }
  raw.postMessage([
    { kind: 'due', taskId: 7 },
    { kind: 'due', taskId: null },
  ])
  raw.postMessage([{ kind: 'settled', taskId: 'last', status: 'later versions say more' }])
  await until()
  expect(hints).toEqual([{ kind: 'settled', taskId: 'last' }])
})

test('two listeners, though the same function, each hear until they end', async ({ open }) => {
  const [a, b] = [open(), open()]
  const listener = vi.fn<(hint: Hint) => void>()
  const endings = [b.listen(listener), b.listen(listener)]
  const { until } = heard(b)
  a.post([{ kind: 'due', taskId: 'last' }])
  await until()
  expect(listener).toHaveBeenCalledTimes(2)
  endings[0]?.()
  a.post([{ kind: 'due' }, { kind: 'due', taskId: 'last' }])
  await vi.waitFor(() => expect(listener).toHaveBeenCalledTimes(4))
})

test('rests with nothing open, and its listeners hear again after the next call', async ({ open }) => {
  const [a, b] = [open(), open()]
  const { hints, until } = heard(b)
  b.suspend()
  a.post([{ kind: 'due', taskId: 'missed' }])
  const { until: atA } = heard(a)
  b.post([{ kind: 'settled', taskId: 'last' }])
  await atA()
  a.post([{ kind: 'due', taskId: 'last' }])
  await until()
  expect(hints).toEqual([{ kind: 'due', taskId: 'last' }])
})

test('wake() opens it again where somebody listens, and only there', async () => {
  const made = vi.fn()
  const closed = vi.fn()
  vi.stubGlobal(
    'BroadcastChannel',
    class extends BroadcastChannel {
      constructor(name: string) {
        super(name)
        made(name)
      }
      override close(): void {
        super.close()
        closed()
      }
    },
  )
  const { name, open } = setup()
  made.mockClear()
  const channel = open()
  channel.resume()
  channel.suspend()
  expect(made).not.toHaveBeenCalled()
  const end = channel.listen(() => {})
  channel.resume()
  expect(made.mock.calls).toEqual([[`redrive/${name}`]])
  channel.suspend()
  channel.resume()
  expect(made).toHaveBeenCalledTimes(2)
  expect(closed).toHaveBeenCalledTimes(1)
  end() // the last one closes it
  channel.resume()
  expect([made.mock.calls.length, closed.mock.calls.length]).toEqual([2, 2])
})

test('S18 without BroadcastChannel, or where it is forbidden, nothing is heard and nothing fails', () => {
  class Forbidden {
    constructor() {
      throw new DOMException('storage is blocked', 'SecurityError')
    }
  }
  for (const channelClass of [undefined, Forbidden]) {
    vi.stubGlobal('BroadcastChannel', channelClass)
    const channel = new Hints('none')
    channel.listen(() => {})()
    channel.post([{ kind: 'due' }])
    channel.resume()
    channel.suspend()
  }
})

test('keeps no process of Node alive', () => {
  const unref = vi.spyOn(BroadcastChannel.prototype as unknown as { unref(): void }, 'unref')
  const { open } = setup()
  open().listen(() => {})
  expect(unref).toHaveBeenCalledTimes(1)
  unref.mockRestore()
})
