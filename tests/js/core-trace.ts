/** Replays a recorded trace on a queue of the built wasm: tests/vectors/core-trace.txt. */

import { GATED_COUNT, NEXT_COUNT } from '../../js/core/codes.ts'
import type { Engine } from '../../js/core/engine.ts'

type Queue = InstanceType<Engine['glue']['CoreQueue']>

/** What the queue answers to each call of `lines`, as the trace writes it. */
export function* replay({ glue, memory }: Engine, lines: Iterable<string>): Generator<string> {
  let queue: Queue | undefined
  for (const line of lines) {
    if (line.startsWith('#')) {
      yield line
      continue
    }
    const call = line.slice(0, line.indexOf(' ='))
    const [name = '', ...words] = call.split(' ')
    const numbers = words.map(Number)
    if (name === 'new') {
      const [concurrency = 0, perLane = 0, capacity = 0, bytes = 0, hold = 0, high = 0, low = 0] = numbers
      queue?.free()
      queue = new glue.CoreQueue(concurrency, perLane, capacity, bytes, hold, (BigInt(high) << 32n) | BigInt(low))
      yield `${call} =`
      continue
    }
    if (queue === undefined) throw new Error(`a trace begins with 'new', got: ${line}`)
    yield [call, '=', ...answers(queue, memory, name, numbers)].join(' ')
  }
  queue?.free()
}

/** Where the queue stands at `now`: the questions behind one line of the trace. */
function stateOf(queue: Queue, memory: WebAssembly.Memory, [now = 0, lane = 0, slot]: number[]): readonly number[] {
  const ofQueue = [queue.wakeAt(), queue.depth(), queue.inFlight(), queue.room(now, lane), queue.shutUntil(lane, now)]
  const all = [...ofQueue, queue.vacancies()]
  if (slot === undefined) return all
  queue.gateStatus(slot, 0)
  return [...all, ...new Float64Array(memory.buffer, queue.decisionPtr(), GATED_COUNT)]
}

function answers(queue: Queue, memory: WebAssembly.Memory, name: string, numbers: number[]): readonly number[] {
  if (name === 'state') return stateOf(queue, memory, numbers)
  if (name === 'policy') return [queue.policy(Float64Array.from(numbers))]
  if (name === 'gates') {
    queue.gates(Float64Array.from(numbers))
    return []
  }
  const method = (queue as unknown as Record<string, (...numbers: number[]) => number | boolean | undefined>)[name]
  if (method === undefined) throw new Error(`no function '${name}'`)
  const answer = method.apply(queue, numbers)
  if (answer === undefined) return []
  const decision = (count: number) => new Float64Array(memory.buffer, queue.decisionPtr(), count)
  const code = Number(answer)
  if (name === 'settle') return [code, ...decision(NEXT_COUNT)]
  if (name === 'poll') return [code, ...new Uint32Array(memory.buffer, queue.actionsPtr(), code * 2)]
  return [code]
}
