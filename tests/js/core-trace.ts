/** Replays a recorded trace on a queue of the built wasm: tests/vectors/core-trace.txt. */

import { Calls } from '../../js/core/calls.ts'
import {
  GATED_COUNT,
  NEXT_COUNT,
  OP_ADMIT,
  OP_DEPTH,
  OP_GATE_OF_TASK,
  OP_IN_FLIGHT,
  OP_POLL,
  OP_ROOM,
  OP_SETTLE,
  OP_SHUT_UNTIL,
  OP_VACANCIES,
  OP_WAKE_AT,
} from '../../js/core/codes.ts'
import type { Engine } from '../../js/core/engine.ts'
import { opNamed } from './trapping.ts'

/** What the queue answers to each call of `lines`, as the trace writes it. */
export function* replay(engine: Engine, lines: Iterable<string>): Generator<string> {
  let queue: Calls | undefined
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
      queue = new Calls(engine, concurrency, perLane, capacity, bytes, hold, (BigInt(high) << 32n) | BigInt(low))
      yield `${call} =`
      continue
    }
    if (queue === undefined) throw new Error(`a trace begins with 'new', got: ${line}`)
    yield [call, '=', ...answers(queue, name, numbers)].join(' ')
  }
  queue?.free()
}

/** Where the queue stands at `now`: the questions behind one line of the trace. */
function stateOf(queue: Calls, [now = 0, lane = 0, slot]: number[]): readonly number[] {
  const all = [
    queue.call(OP_WAKE_AT),
    queue.call(OP_DEPTH),
    queue.call(OP_IN_FLIGHT),
    queue.call(OP_ROOM, now, lane),
    queue.call(OP_SHUT_UNTIL, lane, now),
    queue.call(OP_VACANCIES),
  ]
  if (slot === undefined || Number.isNaN(queue.call(OP_GATE_OF_TASK, slot, 0))) return all
  return [...all, ...answer(queue, GATED_COUNT)]
}

const answer = (queue: Calls, count: number): number[] => Array.from({ length: count }, (_, place) => queue.at(place))

function answers(queue: Calls, name: string, numbers: number[]): readonly number[] {
  if (name === 'state') return stateOf(queue, numbers)
  if (name === 'policy') return [queue.policy(Float64Array.from(numbers))]
  const op = opNamed(name)
  if (op === undefined) throw new Error(`no call '${name}'`)
  const first = queue.send(op, ...numbers)
  if (op === OP_SETTLE) return answer(queue, 1 + NEXT_COUNT)
  if (op === OP_POLL) return answer(queue, 1 + 2 * first)
  if (op === OP_ADMIT) return answer(queue, 2)
  return Number.isNaN(first) ? [] : [first]
}
