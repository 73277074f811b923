/** Which of the tasks that are loaded are meant: by words that the user types, and by method. */

import type { InspectorTask } from './source.ts'

export interface Search {
  readonly text: string
  /** '': all. */
  readonly method: string
}

const ID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/

/** The id that is searched for, which a source finds without a list. */
export function idIn(text: string): string | undefined {
  const id = text.trim().toLowerCase()
  return ID.test(id) ? id : undefined
}

/** A test of one task; undefined: nothing is searched for. Every word must be in its id, key, principal, URL or tags. */
export function matcher({ text, method }: Search): ((task: InspectorTask) => boolean) | undefined {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0 && method === '') return undefined
  return (task) => {
    if (method !== '' && task.method !== method) return false
    if (words.length === 0) return true
    const { taskId, idempotencyKey, principal, targetUrl, tags = [] } = task
    const all = [taskId, idempotencyKey ?? '', principal ?? '', targetUrl, ...tags].join('\n').toLowerCase()
    return words.every((word) => all.includes(word))
  }
}
