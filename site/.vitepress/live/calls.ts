// What the live page shows of ten calls by each of three senders. Only what is seen from outside, so that all are measured alike: the
// requests that the server gets, and what each caller gets in the end.

export interface Call {
  readonly path: string
  state: 'to come' | 'under way' | 'waits' | 'answered' | 'failed'
  requests: number
  /** When its next attempt may start at the earliest, in epoch ms; 0 where its sender does not say. */
  dueAt: number
  /** What its caller got. */
  words: string
}

/** The calls of one sender. */
export interface Lane {
  readonly name: string
  calls: Call[]
  requests: number
  /** Of these, those that were not answered with a 200. */
  inVain: number
}

export const isOpen = ({ state }: Call): boolean => state === 'under way' || state === 'waits'

export const countOf = ({ calls }: Lane, wanted: Call['state']): number =>
  calls.filter(({ state }) => state === wanted).length

/** `made`: how many there were before, since no two calls have one address. */
export const tenCalls = (made: number): Call[] =>
  Array.from({ length: 10 }, (_, at) => ({
    path: `/orders/${made + at + 1}`,
    state: 'to come',
    requests: 0,
    dueAt: 0,
    words: '',
  }))
