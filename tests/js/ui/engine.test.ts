/** The lab's module answers what the native one does, through the messages that a page and its Worker exchange. */

import { expect, onTestFinished, test } from 'vitest'
import { policyFields } from '../../../js/core/policy-row.ts'
import { resolvePolicy } from '../../../js/options/policy-rules.ts'
import { presets } from '../../../js/options/presets.ts'
import { type Connect, LabClient } from '../../../js/ui/engine/client.ts'
import { instantiateLab } from '../../../js/ui/engine/lab.ts'
import { type LabEngine, openLabEngine } from '../../../js/ui/engine/lab-engine.ts'
import type { CrowdRequest, FrontierRequest, OutageRequest } from '../../../js/ui/engine/model.ts'
import type { FromLab, ToLab } from '../../../js/ui/engine/protocol.ts'
import { type ServeOptions, serve } from '../../../js/ui/engine/serve.ts'
import { vectors } from '../vectors.ts'

interface Ask {
  readonly kind: 'crowd' | 'frontier' | 'outage'
  readonly policy?: keyof typeof presets
  readonly fields?: readonly (number | null)[]
  readonly times?: true
  readonly width?: number
  readonly height?: number
}

interface Row {
  readonly ask: Ask
  readonly answer: Readonly<Record<string, unknown>>
}

const fieldsOf = (name: keyof typeof presets) => policyFields(resolvePolicy(presets[name]))
const fields = fieldsOf('sidekiq')
const crowd: CrowdRequest = { fields, jobs: 20, retries: 5, seed: 1, width: 40, height: 20, dotsMax: 0 }
/** More than one slice has time for. */
const large: CrowdRequest = { ...crowd, jobs: 200_000 }
const outage: OutageRequest = {
  fields,
  clients: 50,
  capacityPerSecond: 500,
  load: 0.7,
  outageMs: 10_000,
  backlog: 'deep',
  outage: 'hanging',
  calls: 'enqueued',
  gates: 'shipped',
  seed: 1,
}
const frontier: FrontierRequest = { fields, crowds: 1, seed: 1 }

/** A client and a server at the two ends of a channel, and what crossed it. */
function setup(options?: ServeOptions) {
  const sent: ToLab[] = []
  const heard: FromLab[] = []
  const inProcess: Connect = (hear) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = ({ data }) => {
      heard.push(data)
      hear(data)
    }
    serve(port2, options)
    const send = (message: ToLab) => {
      sent.push(message)
      port1.postMessage(message)
    }
    return { send, close: () => port1.close() }
  }
  const lab: LabEngine = new LabClient([inProcess])
  onTestFinished(() => lab.close())
  return { lab, sent, heard, inProcess }
}

/** As JSON has it: lists are arrays, what has no number is null. */
const plain = (value: unknown) =>
  JSON.parse(JSON.stringify(value, (_, each) => (ArrayBuffer.isView(each) ? [...(each as Uint8Array)] : each)))

const rows = vectors<Row>('lab')

test.each(rows.map((row) => [JSON.stringify(row.ask), row] as const))(
  '%s: the module answers as the native code does, to the last bit',
  async (_, { ask, answer }) => {
    const { lab } = setup()
    const row = ask.policy
      ? fieldsOf(ask.policy)
      : Float64Array.from(ask.fields ?? [], (number) => number ?? Number.NaN)
    if (ask.kind === 'crowd') {
      const size = { width: ask.width ?? 1, height: ask.height ?? 1, dotsMax: ask.times ? 1_000 : 0 }
      const { times, raster, ...figures } = await lab.crowd({ ...crowd, ...ask, ...size, fields: row })
      const shown = { ...(ask.times && { times }), ...(ask.width && { raster }) }
      expect(plain({ ...figures, ...shown })).toEqual(answer)
      return
    }
    if (ask.kind === 'frontier') {
      const full = await lab.frontier({ ...frontier, ...ask, fields: row })
      const without = ({ idleRange, ...rest }: { readonly idleRange?: unknown }) => rest
      const { rows: expected, own } = answer as { readonly rows: readonly object[]; readonly own: object }
      expect(plain(full)).toEqual({ rows: expected.map(without), own: without(own) })
      return
    }
    expect(plain(await lab.outage({ ...outage, ...ask, fields: row }))).toEqual(answer)
  },
)

test('the vectors hold every kind', () => {
  expect(rows.length).toBe(10)
  expect(new Set(rows.map(({ ask }) => ask.kind))).toEqual(new Set(['crowd', 'frontier', 'outage']))
})

test('a crowd of few dots comes with its times, one of many with a picture', async () => {
  const { lab } = setup()
  const few = await lab.crowd({ ...crowd, dotsMax: 100 })
  expect([few.times?.length, few.raster]).toEqual([100, null])
  const many = await lab.crowd({ ...crowd, dotsMax: 99 })
  expect([many.times, many.raster?.length]).toEqual([null, 800])
  expect(new Set(many.raster)).toEqual(new Set([0, 1, 2, 3, 4, 5]))
})

test('progress rises, and a storm shows what is known of it', async () => {
  const { lab } = setup()
  const shares: number[] = []
  const seconds: number[] = []
  const answer = await lab.outage(outage, {
    onProgress: (share, partial) => {
      shares.push(share)
      seconds.push(partial?.calls.length ?? 0)
      expect(partial?.collapsed).toBe(false)
    },
  })
  expect(shares.length).toBeGreaterThan(0)
  expect(shares).toEqual(shares.toSorted((a, b) => a - b))
  expect(seconds.at(-1)).toBeLessThanOrEqual(answer.calls.length)
  expect(shares.every((share) => share >= 0 && share <= 1)).toBe(true)
})

test('rows of the comparison come as they are done', async () => {
  const { lab } = setup()
  const counts: number[] = []
  const { rows: all, own } = await lab.frontier(
    { ...frontier, crowds: 30 },
    { onProgress: (_, known) => known && counts.push(known.length) },
  )
  expect([all.length, own?.name]).toEqual([15, ''])
  expect(counts.length).toBeGreaterThan(0)
  expect(counts).toEqual(counts.toSorted((a, b) => a - b))
  expect((await lab.frontier({ ...frontier, fields: null })).own).toBeNull()
})

test('a request that is taken back rejects at once, and the next is answered', async () => {
  const { lab, heard } = setup()
  const control = new AbortController()
  const reason = new Error('the slider moved')
  const call = lab.crowd(large, { signal: control.signal, onProgress: () => control.abort(reason) })
  await expect(call).rejects.toBe(reason)
  expect((await lab.crowd(crowd)).retries.length).toBe(5)
  expect(heard.some((message) => message.type === 'answer' && message.id === 1)).toBe(false)
  const aborted = lab.crowd(crowd, { signal: AbortSignal.abort(reason) })
  await expect(aborted).rejects.toBe(reason)
})

test('a later request of a kind takes the place of the one before; other kinds go on', async () => {
  const { lab } = setup()
  const storm = lab.outage(outage)
  const first = lab.crowd(large)
  const second = lab.crowd(large)
  const third = lab.crowd(crowd)
  const outcomes = await Promise.allSettled([first, second, third, storm])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'fulfilled'])
  for (const outcome of outcomes.slice(0, 2)) expect((outcome as PromiseRejectedResult).reason.name).toBe('AbortError')
})

test('a slice is over soon after its time', async () => {
  let now = 0
  const { lab, heard } = setup({ clock: { now: () => now++ } })
  await lab.crowd({ ...crowd, jobs: 40_000 })
  // 200,000 arrivals in three stages of as many, 5,000 to a piece, twelve pieces to a slice
  expect(heard.filter(({ type }) => type === 'progress').length).toBeGreaterThan((200_000 * 3) / 5_000 / 13)
})

const ROW = 'crowd.fields: expected a Float64Array that policyFields() made, with maxAttempts of 2 or more, got'

test.each<[what: string, wrong: Partial<CrowdRequest & OutageRequest>, message: string]>([
  ['no number', { jobs: Number.NaN }, 'crowd.jobs: expected a whole number from 1 to 1000000, got NaN'],
  ['too many', { jobs: 1_000_001 }, 'crowd.jobs: expected a whole number from 1 to 1000000, got 1000001'],
  ['half a retry', { retries: 2.5 }, 'crowd.retries: expected a whole number from 1 to 25, got 2.5'],
  ['a seed below 0', { seed: -1 }, 'crowd.seed: expected a whole number from 0 to 9007199254740991, got -1'],
  ['no picture', { width: 0 }, 'crowd.width: expected a whole number from 1 to 8192, got 0'],
  ['one attempt', { fields: policyFields(resolvePolicy({ maxAttempts: 1 })) }, `${ROW} maxAttempts 1`],
  ['a short row', { fields: new Float64Array(3) }, `${ROW} an object`],
  ['a load of 1', { load: 1 }, 'outage.load: expected a number from 0.01 to 0.99, got 1'],
  [
    'half a second',
    { outageMs: 1_500 },
    'outage.outageMs: expected whole seconds in ms, from 1000 to 600000, got 1500',
  ],
  ['no client', { clients: 0 }, 'outage.clients: expected a whole number from 1 to 20000, got 0'],
  [
    'no end',
    { capacityPerSecond: Infinity },
    'outage.capacityPerSecond: expected a number from 10 to 10000, got Infinity',
  ],
  [
    'no gates',
    { gates: 'all' as never },
    "outage.gates: expected 'none' or 'budget' or 'breaker' or 'breaker-budget' or 'shipped', got 'all'",
  ],
])('what is asked for is refused before anything runs: %s', async (_, wrong, message) => {
  const { lab, sent } = setup()
  const asked = message.startsWith('crowd') ? lab.crowd({ ...crowd, ...wrong }) : lab.outage({ ...outage, ...wrong })
  await expect(asked).rejects.toThrow(new RangeError(message))
  expect(sent).toEqual([])
})

test('a row that the module does not take is refused by the name of its option', async () => {
  const { lab } = setup()
  const wrong = Float64Array.from(fields)
  wrong[7] = 3
  const message =
    'frontier.fields: expected a row that policyFields(resolvePolicy(policy)) makes, got one whose jitterRatio cannot be 3'
  await expect(lab.frontier({ ...frontier, fields: wrong })).rejects.toThrow(new RangeError(message))
  expect((await lab.crowd(crowd)).retries.length).toBe(5)
})

test('where a Worker cannot be made, or does not load, the next place does what was asked', async () => {
  const { inProcess } = setup()
  const closed: string[] = []
  const refused: Connect = () => {
    throw new Error('no Worker here')
  }
  const silent: Connect = (_, lost) => {
    queueMicrotask(() => lost(new Error('404')))
    return { send: () => undefined, close: () => closed.push('silent') }
  }
  const lab = new LabClient([refused, silent, inProcess])
  onTestFinished(() => lab.close())
  expect((await lab.crowd(crowd)).retries.length).toBe(5)
  expect(closed).toEqual(['silent'])
  const nowhere = new LabClient([refused, silent])
  await expect(nowhere.crowd(crowd)).rejects.toMatchObject({ code: 'WASM_UNAVAILABLE', message: '404' })
})

test('without Workers, as here in Node, the page computes', async () => {
  const lab = openLabEngine()
  onTestFinished(() => lab.close())
  expect((await lab.crowd(crowd)).endMs).toBeGreaterThan(0)
})

test('a module that cannot be compiled is said to be so', async () => {
  const { lab } = setup({ instantiate: () => Promise.reject(new WebAssembly.CompileError('forbidden by the policy')) })
  await expect(lab.crowd(crowd)).rejects.toMatchObject({ code: 'WASM_UNAVAILABLE', message: /forbidden by the policy/ })
})

test('an instance that traps is dropped with what runs on it, and the next one answers', async () => {
  const before = await instantiateLab()
  const crowdOf = (jobs: number) => before.start((glue) => new glue.LabCrowd(fields, jobs, 25, 1, 0, 0))
  const running = crowdOf(10)
  for (const traps of [() => crowdOf(2 ** 32 - 1), () => before.ask(() => running.advance(performance, 1))]) {
    expect(traps).toThrow(expect.objectContaining({ code: 'CORE_TRAPPED' }))
  }
  before.end(running)
  expect(await instantiateLab()).not.toBe(before)
  const { lab } = setup()
  expect((await lab.crowd(crowd)).retries.length).toBe(5)
})

test('an instance that a large crowd has left large is not kept', async () => {
  const { lab } = setup()
  const before = await instantiateLab()
  await lab.crowd({ ...crowd, jobs: 1_000_000, retries: 10 })
  expect(before.isWornOut).toBe(true)
  expect(await instantiateLab()).not.toBe(before)
})

test('once closed, what is under way and what comes later rejects', async () => {
  const { lab } = setup()
  const call = lab.crowd(large)
  lab.close()
  await expect(call).rejects.toMatchObject({ name: 'AbortError' })
  await expect(lab.crowd(crowd)).rejects.toMatchObject({ name: 'AbortError' })
})
