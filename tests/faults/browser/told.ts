/** What the pages say (`pages/tab.js`), each with the document that says it. */

export interface From {
  readonly life: string
}

export type Told = From &
  (
    | { readonly what: 'ready'; readonly client: string }
    /** Come back from another page as it was left. */
    | { readonly what: 'back' }
    | Accepted
    | { readonly what: 'refused'; readonly intent: string; readonly message: string }
    /** A call has become a task. */
    | (Omit<Accepted, 'what'> & { readonly what: 'queued'; readonly dueAt: number | null })
    /** An attempt has failed, and another will be made. */
    | { readonly what: 'waits'; readonly intent: string; readonly dueAt: number | null }
    | Settled
    | { readonly what: 'degraded'; readonly message: string }
    | { readonly what: 'uncaught'; readonly message: string }
  )

export interface Accepted {
  readonly what: 'accepted'
  readonly intent: string
  readonly taskId: string
  readonly durability: string
}

/** `with`: a status, or the name of an error; `of`: the intent that the answer was given to. */
export interface Settled {
  readonly what: 'settled'
  readonly intent: string
  readonly with: number | string
  readonly of: string | null
  /** Of a 202. */
  readonly taskId?: string | null
  readonly message?: string
  /** Why the call was given up. */
  readonly reason?: string
  /** The answer came, and its body did not, or not whole. */
  readonly hasNoBody?: boolean
}

const MARK = 'told '

/** undefined: nothing for us. */
export function toldIn(line: string): Told | undefined {
  return line.startsWith(MARK) ? (JSON.parse(line.slice(MARK.length)) as Told) : undefined
}
