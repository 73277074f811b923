/** The part of docs/service-security.md that is made of the fields of the canary: which value is where. */

import { fieldsOf } from './fields.ts'
import { SINKS } from './sinks.ts'

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
  return [
    'These values are kept or shown, and are in these places and no others:',
    '',
    table(['value', 'is in', 'note'], kept),
    '',
    'All other fields, and all credentials, keys, tokens and answers of targets, are in none of them.',
  ].join('\n')
}
