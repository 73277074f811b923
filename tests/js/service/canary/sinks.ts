/** The places in which a value may turn up: whatever a service writes, says or sends on its own account. */

export const SINKS = [
  'the store',
  'the store of bodies',
  'log',
  'metrics',
  'events',
  'callbacks',
  'problems',
  'receipts',
  'tasks',
  'bodies',
  'attempts',
  'explain',
  'export',
  'stats',
  'policies',
  'pauses',
  'operations',
  'command line',
] as const
export type Sink = (typeof SINKS)[number]

export class Written {
  readonly #bytes = new Map<Sink, Uint8Array[]>()

  add(sink: Sink, bytes: Uint8Array | string): void {
    const own = this.#bytes.get(sink) ?? []
    own.push(typeof bytes === 'string' ? Buffer.from(bytes) : bytes)
    this.#bytes.set(sink, own)
  }

  in(sink: Sink): Uint8Array {
    return Buffer.concat((this.#bytes.get(sink) ?? []).flatMap((bytes) => [bytes, Buffer.from('\n')]))
  }
}

/** The sink of an answer, by what was asked for; undefined: it shows nothing of a task. */
export function sinkOf(method: string, path: string, status: number): Sink | undefined {
  if (status >= 400) return 'problems'
  const [, first = '', second = '', third = ''] = path.split('?')[0]?.split('/') ?? []
  if (first === 'retry-tasks' && method === 'POST' && third === '') return 'receipts'
  if (first === 'bodies') return 'receipts'
  if (third === 'body') return 'bodies'
  if (third === 'attempts' || third === 'explain') return third
  if (second === 'export') return 'export'
  if (first === 'dead-letters' && (second === 'redrive' || second === 'purge')) return 'operations'
  return BY_PATH[first]
}

const BY_PATH: Readonly<Record<string, Sink>> = {
  ...{
    'retry-tasks': 'tasks',
    'dead-letters': 'tasks',
    stats: 'stats',
    plan: 'policies',
    'retry-policies': 'policies',
  },
  ...{ pauses: 'pauses', flush: 'pauses', operations: 'operations', metrics: 'metrics', events: 'events' },
}
