/** A task is an entry by a note in its `meta`. Other code may have written it, so it is read as strictly as the rest of a row. */

import type { StoredTask } from '../../api/store.ts'

/** The name of the note. */
export const MARK = 'workbox'

export interface Mark {
  readonly timestamp: number
  readonly metadata?: object
  /** The mark of the entry in Workbox's database that it was. */
  readonly from?: string
}

/** undefined: the task is no entry. */
export function markIn({ meta }: Pick<StoredTask, 'meta'>): Mark | undefined {
  const { timestamp, metadata, from } = Object(meta?.[MARK]) as Partial<Record<keyof Mark, unknown>>
  if (typeof timestamp !== 'number') return undefined
  return {
    timestamp,
    ...(typeof metadata === 'object' && metadata !== null && { metadata }),
    ...(typeof from === 'string' && { from }),
  }
}
