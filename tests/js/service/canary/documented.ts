/** The part of docs/service-security.md that is made of the fields of the canary: which value is where, and which is nowhere. */

import { fieldsOf } from './fields.ts'
import { SINKS, type Sink } from './sinks.ts'

const PLACES: Readonly<Record<Sink, string>> = {
  'the store': 'the file of SQLite with its log; the append-only file of Redis',
  'the store of bodies': 'the folder or the bucket of `--bodies`',
  log: 'what the service prints, in both formats, at the level `debug`',
  metrics: '`GET /metrics`',
  events: '`GET /events`, of both processes',
  callbacks: 'requests to `callback.url`, as they arrive',
  problems: 'every answer from 400 on, and what a batch says of a task that it refuses',
  receipts: 'answers to `POST /retry-tasks`, `POST /retry-tasks/batch` and `POST /bodies`',
  tasks: '`GET /retry-tasks`, `GET /retry-tasks/{taskId}`, `GET /dead-letters`, and what changes one task',
  bodies: '`GET /retry-tasks/{taskId}/body`',
  attempts: '`GET /retry-tasks/{taskId}/attempts`',
  explain: '`GET /retry-tasks/{taskId}/explain`',
  export: '`GET /dead-letters/export`',
  stats: '`GET /stats`',
  policies: 'answers of `/retry-policies` and `/plan`',
  pauses: 'answers of `/pauses` and `/flush`',
  operations: 'answers of `/operations`, `POST /dead-letters/redrive` and `POST /dead-letters/purge`',
  'command line':
    'what `redrive task list`, `get` and `explain`, `redrive dead list` and `export`, and `redrive doctor` print',
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
    .replaceAll(' --- ', '---')

export function documented(): string {
  const fields = fieldsOf({ store: 'redis', bodies: 'bucket' })
  const kept = fields.flatMap(({ name, kept, why = '' }) =>
    kept ? [[name, SINKS.filter((sink) => kept.includes(sink)).join(', '), why]] : [],
  )
  const nowhere = new Map<string, string[]>()
  for (const { name } of fields.filter(({ kept }) => !kept)) {
    const [field = '', value] = name.split(/: (.*)/s)
    nowhere.set(field, [...(nowhere.get(field) ?? []), ...(value ? [value] : [])])
  }
  return [
    table(
      ['place', 'is'],
      SINKS.map((sink) => [sink, PLACES[sink]]),
    ),
    '',
    'These values are kept or shown, and are in these places and no others:',
    '',
    table(['value', 'is in', 'note'], kept),
    '',
    'These are in none of them:',
    '',
    ...[...nowhere].map(([field, values]) => `- ${[field, values.join('; ')].filter(Boolean).join(': ')}`),
  ].join('\n')
}
